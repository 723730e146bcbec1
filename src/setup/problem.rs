//! What can be wrong with a value: data, which the page and the command line put into words.

use super::key::Key;

/// One bad value and where it stands.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {problem} (given: {given:?})", key.name())]
pub struct FieldError {
    /// The field.
    pub key: Key,
    /// What stood there.
    pub given: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a value. The texts are for the command line; the page has its own in each language.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum Problem {
    #[error("is empty; type a number")]
    Empty,
    #[error("is not a number")]
    NotANumber,
    #[error("must be a whole number")]
    NotWhole,
    #[error("must be at least {min}")]
    TooSmall { min: f64 },
    #[error("must be at most {max}")]
    TooLarge { max: f64 },
    #[error("m x A x D is {product}; make one of them smaller, the most is {max}")]
    ProductTooLarge { product: u64, max: u64 },
    #[error("one padded microbatch would have {positions} positions; make m or the lengths smaller, the most is {max}")]
    TooManyPositions { positions: u64, max: u64 },
    #[error("is none of: {}", allowed.join(", "))]
    NotOneOf { allowed: Vec<&'static str> },
    #[error("{name:?} is not known, only: {}", allowed.join(", "))]
    UnknownName { name: String, allowed: Vec<&'static str> },
    #[error("entry {entry} is not a whole number of at least 1")]
    BadLength { entry: usize },
    #[error("entry {entry} is {length}, longer than the model takes ({max}); shorten it or enlarge the context")]
    LengthTooLong { entry: usize, length: u64, max: u32 },
    #[error("has {count} entries, the most is {max}")]
    TooMany { count: usize, max: usize },
    #[error("names {name} twice")]
    Repeated { name: String },
    #[error("must divide the width {width}")]
    DoesNotDivide { width: u32 },
    #[error("the smaller value must come first")]
    WrongOrder,
    #[error("write letter:loss pairs such as s:2,l:4; the probabilities they stand for must add up to less than 1")]
    BadStart,
    #[error("only the token MLP has an output bias; choose that model or start = random")]
    StartNeedsMlp,
    #[error(
        "the full batch in one pass would have {positions} positions, the most is {max}; take that lane away or make the batch smaller"
    )]
    FullBatchTooLarge { positions: u64, max: u64 },
    #[error("{first} and {second} sit in the same place of a loop; take one of them away")]
    FaultsExclude { first: &'static str, second: &'static str },
    #[error("{fault} shows nothing without a largest gradient norm; set clip_norm")]
    FaultNeedsClip { fault: &'static str },
    #[error("{fault} shows nothing without a loss scale; set loss_scale = dynamic")]
    FaultNeedsLossScale { fault: &'static str },
    #[error("the full batch in one pass has no microbatches for {fault} to go wrong with")]
    FaultNeedsSplit { fault: &'static str },
    #[error(
        "{fault} shows nothing where no mean is over one microbatch, one replica or a half; take it away or choose mean_of_means"
    )]
    FaultNeedsPartMean { fault: &'static str },
    #[error("write attempt:microbatch:replica such as 3:1:1, each at least 1, separated by commas")]
    BadInjection,
    #[error("a group has {accumulation} microbatches on each of {replicas} replicas; nothing can happen outside it")]
    InjectionOutside { accumulation: u32, replicas: u32 },
    #[error("must be a number from 0 to 1, or cumulative")]
    BadMomentum,
}
