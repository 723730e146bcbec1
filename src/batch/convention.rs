//! Every way of counting, right or wrong, as one row of one table.
//!
//! The gradient of a microbatch's loss SUM, g_k, is computed once. A convention multiplies it by a factor of the counts before
//! it is added to its replica's `.grad` (`loss_factor`), may divide the accumulated `.grad` once more (`after_factor`), and the
//! reduction then averages over the D replicas: `grad = 1/D * sum_k after * factor_k * g_k`.

use serde::{Deserialize, Serialize};

use super::{
    facts::{GroupFacts, MicrobatchFacts},
    symptom::Symptom,
};

/// The stable name of a convention, as it stands in links, files and goldens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is described by its row in TABLE")]
pub enum ConventionId {
    TokenWeighted,
    FullBatch,
    MeanOfMeans,
    ReplicaTokenMean,
    DividedTwice,
    WeightedThenDividedByA,
    NeverDivided,
    Sum,
    ReplicasForgotten,
    ReplicasAndAccumulationForgotten,
    PaddingCounted,
    NominalAccumulation,
    ExampleMean,
    ZeroGradEachMicrobatch,
    IgnoredCounted,
    TwoDenominators,
}

/// How a group's examples go through the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Microbatch by microbatch on D replicas.
    AsSplit,
    /// All examples of the group in one forward on one replica.
    Whole,
}

/// The weight that each supervised token's loss has inside its microbatch's sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenWeights {
    /// Each counts once.
    Uniform,
    /// 1 / supervised tokens of its example: the sum is one of example means.
    ExampleMean,
}

/// One way of counting.
#[derive(Clone, Copy, Debug)]
pub struct Convention {
    /// Its stable name.
    pub id: ConventionId,
    /// Whether its gradient is that of the mean over all supervised tokens.
    pub correct: bool,
    /// Its formula, in the field's notation: S = loss sum of a microbatch, n = its supervised tokens, N_d = those of replica d,
    /// N = those of the group, M = S / n, S_i and n_i = those of example i, E = examples of the group with any supervised token,
    /// A = microbatches that the replica really has, A_set = A as set, [k = A] = 1 for its last microbatch and 0 for the others.
    pub formula: &'static str,
    /// What a person notices.
    pub symptom: Symptom,
    /// Frameworks, reports and documents that it comes from.
    pub sources: &'static [&'static str],
    /// How examples go through the model.
    pub pass: Pass,
    /// How tokens weigh inside a microbatch.
    pub token_weights: TokenWeights,
    /// What a microbatch's loss sum is multiplied by before its backward.
    loss_factor: fn(&GroupFacts, &MicrobatchFacts) -> f64,
    /// What the accumulated gradient of a replica is multiplied by afterwards.
    after_factor: fn(&GroupFacts) -> f64,
    /// Whether a microbatch's gradient is still in `.grad` at the update.
    kept: fn(&GroupFacts, &MicrobatchFacts) -> bool,
}

impl Convention {
    /// The row of `id`.
    pub fn of(id: ConventionId) -> &'static Self {
        // The table has one row a variant, held by a test; the first row stands in where it had not.
        TABLE.iter().find(|row| row.id == id).unwrap_or(&TABLE[0])
    }

    /// What multiplies the gradient of microbatch `k`'s loss sum, before the mean over replicas.
    /// An empty microbatch has a zero gradient in PyTorch, so its coefficient is 0 whatever it is divided by.
    pub fn coefficient(&self, group: &GroupFacts, k: &MicrobatchFacts) -> f64 {
        if k.supervised > 0 && (self.kept)(group, k) {
            (self.loss_factor)(group, k) * (self.after_factor)(group)
        } else {
            0.0
        }
    }

    /// What multiplies the loss sum of microbatch `k` before its backward; 0 where it has no supervised token or is cleared away.
    pub fn loss_factor(&self, group: &GroupFacts, k: &MicrobatchFacts) -> f64 {
        if k.supervised > 0 && (self.kept)(group, k) {
            (self.loss_factor)(group, k)
        } else {
            0.0
        }
    }

    /// Whether microbatch `k` has no supervised token and its loss is divided by just that number: a mean over nothing.
    pub fn is_mean_of_none(&self, group: &GroupFacts, k: &MicrobatchFacts) -> bool {
        k.supervised == 0 && !(self.loss_factor)(group, k).is_finite()
    }

    /// Whether it divides by the tokens of a part of the group (a microbatch, a replica, a half), which may have none where the group has
    /// some.
    pub fn divides_by_a_part(&self) -> bool {
        let k = |replica, index, supervised: u32| MicrobatchFacts {
            replica,
            index,
            examples: 1,
            scored_examples: supervised,
            supervised: supervised.into(),
            positions: 1,
            unpadded: 1,
        };
        // The first microbatch, the first replica and the first half are empty.
        let group = GroupFacts {
            replicas: 2,
            nominal_accumulation: 2,
            microbatches: vec![k(0, 0, 0), k(1, 0, 0), k(0, 1, 0), k(1, 1, 1)],
        };
        self.is_mean_of_none(&group, &k(0, 0, 0))
    }

    /// Whether what microbatch `k` adds to `.grad` is still there at the update.
    pub fn keeps(&self, group: &GroupFacts, k: &MicrobatchFacts) -> bool {
        (self.kept)(group, k)
    }

    /// What the accumulated gradient of a replica is multiplied by afterwards.
    pub fn after_factor(&self, group: &GroupFacts) -> f64 {
        (self.after_factor)(group)
    }

    /// The loss that is back-propagated for microbatch `k`, given its loss sum (weighted by [`TokenWeights`]).
    /// NaN where PyTorch's is: a mean over no token.
    pub fn backpropagated_loss(&self, group: &GroupFacts, k: &MicrobatchFacts, loss_sum: f64) -> f64 {
        loss_sum * (self.loss_factor)(group, k)
    }
}

fn one(_: &GroupFacts) -> f64 {
    1.0
}

fn all(_: &GroupFacts, _: &MicrobatchFacts) -> bool {
    true
}

fn per_accumulation(group: &GroupFacts) -> f64 {
    1.0 / f64::from(group.nominal_accumulation)
}

fn replicas(group: &GroupFacts) -> f64 {
    f64::from(group.replicas)
}

fn tokens(group: &GroupFacts) -> f64 {
    group.supervised() as f64
}

fn mean_factor(k: &MicrobatchFacts) -> f64 {
    1.0 / k.supervised as f64
}

/// Every convention of the lab. Pages, goldens and the engine read this table and nothing else.
pub const TABLE: &[Convention] = &[
    Convention {
        id: ConventionId::TokenWeighted,
        correct: true,
        formula: "S · D / N",
        symptom: Symptom::Nothing,
        sources: &[
            "huggingface/transformers#34191",
            "huggingface.co/blog/gradient_accumulation",
        ],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, _| replicas(g) / tokens(g),
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::FullBatch,
        correct: true,
        formula: "ΣS / N",
        symptom: Symptom::Nothing,
        sources: &["pytorch.org/docs: CrossEntropyLoss"],
        pass: Pass::Whole,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, _| replicas(g) / tokens(g),
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::MeanOfMeans,
        correct: false,
        formula: "M / A",
        symptom: Symptom::DependsOnSplit,
        sources: &["huggingface/transformers#34191", "hiyouga/LlamaFactory#7443"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, k| mean_factor(k) / g.accumulated_on(k.replica) as f64,
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::ReplicaTokenMean,
        correct: false,
        formula: "S / N_d",
        symptom: Symptom::DependsOnSplit,
        sources: &["huggingface/transformers#34242"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, k| 1.0 / g.supervised_on(k.replica) as f64,
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::DividedTwice,
        correct: false,
        formula: "(M / A_set) / A_set",
        symptom: Symptom::GradientTooSmall,
        sources: &["huggingface/transformers#37474"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, k| mean_factor(k) * per_accumulation(g),
        after_factor: per_accumulation,
        kept: all,
    },
    Convention {
        id: ConventionId::WeightedThenDividedByA,
        correct: false,
        formula: "S · D / N / A_set",
        symptom: Symptom::GradientTooSmall,
        sources: &["huggingface/transformers PR 35207", "huggingface/transformers#37474"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, _| replicas(g) / tokens(g) * per_accumulation(g),
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::NeverDivided,
        correct: false,
        formula: "M",
        symptom: Symptom::GradientTooLarge,
        sources: &["agokrani/distillKitPlus#5", "hiyouga/LlamaFactory#7443"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |_, k| mean_factor(k),
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::Sum,
        correct: false,
        formula: "S",
        symptom: Symptom::GradientTooLarge,
        sources: &["pytorch.org/docs: CrossEntropyLoss"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |_, _| 1.0,
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::ReplicasForgotten,
        correct: false,
        formula: "S / N",
        symptom: Symptom::GradientTooSmall,
        sources: &["huggingface/transformers#34242", "huggingface/transformers#37474"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, _| 1.0 / tokens(g),
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::ReplicasAndAccumulationForgotten,
        correct: false,
        formula: "S / N / A_set",
        symptom: Symptom::GradientTooSmall,
        sources: &["huggingface/transformers#37474"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, _| per_accumulation(g) / tokens(g),
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::PaddingCounted,
        correct: false,
        formula: "S / (m · T) / A_set",
        symptom: Symptom::DependsOnSplit,
        sources: &["huggingface/transformers#34191"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, k| per_accumulation(g) / k.positions as f64,
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::NominalAccumulation,
        correct: false,
        formula: "M / A_set",
        symptom: Symptom::GradientTooSmall,
        sources: &["Lightning-AI/pytorch-lightning#19987"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, k| mean_factor(k) * per_accumulation(g),
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::ExampleMean,
        correct: false,
        formula: "Σ(S_i / n_i) · D / E",
        symptom: Symptom::DependsOnSplit,
        sources: &["huggingface/transformers#34191"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::ExampleMean,
        loss_factor: |g, _| replicas(g) / g.scored_examples() as f64,
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::ZeroGradEachMicrobatch,
        correct: false,
        formula: "[k = A] · S · D / N",
        symptom: Symptom::AccumulationWithoutEffect,
        sources: &["huggingface/accelerate#616"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, _| replicas(g) / tokens(g),
        after_factor: one,
        // Clearing leaves only what the replica's last microbatch added.
        kept: GroupFacts::is_last_on_replica,
    },
    Convention {
        id: ConventionId::IgnoredCounted,
        correct: false,
        formula: "S · D / positions without padding",
        symptom: Symptom::GradientTooSmall,
        sources: &["huggingface/transformers#34191"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, _| replicas(g) / g.unpadded() as f64,
        after_factor: one,
        kept: all,
    },
    Convention {
        id: ConventionId::TwoDenominators,
        correct: false,
        formula: "k <= A/2: S · D / N_first, else S · D / N_second",
        symptom: Symptom::DependsOnSplit,
        sources: &["hiyouga/LlamaFactory#6639"],
        pass: Pass::AsSplit,
        token_weights: TokenWeights::Uniform,
        loss_factor: |g, k| replicas(g) / g.supervised_in_half_of(k) as f64,
        after_factor: one,
        kept: all,
    },
];
