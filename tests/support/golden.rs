//! Reads golden files: any folder of format refnum-1, `GOLDEN_DIR` or `tests/golden`.

use std::{fs, path::PathBuf};

use microbatch_lab::batch::{
    ConventionId, ExampleId, GroupFacts, MicrobatchFacts, PAD_ID, PaddedBatch, oracle::MlpShape,
};
use serde_json::Value;

/// The kinds of golden that the oracle and the engine read.
pub const KINDS: &[&str] = &[
    "batchnorm",
    "clipping",
    "ddp_no_sync",
    "factorization",
    "grad_case",
    "grad_scaler",
    "lr_schedule",
    "optax_multisteps",
    "optimizer",
    "partial_group",
    "seed_example",
    "zero_grad",
    "zero_tokens",
];

/// Where goldens lie.
pub fn folder() -> PathBuf {
    std::env::var_os("GOLDEN_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")),
        PathBuf::from,
    )
}

/// One file.
pub struct Golden {
    pub name: String,
    pub kind: String,
    pub json: Value,
}

/// Every file but the model, by name. No file at all is a failure: a test that reads nothing checks nothing.
pub fn all() -> Vec<Golden> {
    let folder = folder();
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("listed").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let goldens = files
        .into_iter()
        .map(|path| read(&path))
        .filter(|golden| golden.kind != "model");
    let goldens: Vec<Golden> = goldens.collect();
    assert!(!goldens.is_empty(), "no golden in {}", folder.display());
    goldens
}

/// Every file of one kind. The project's own folder has some of each; another one need not.
pub fn of_kind(kind: &str) -> Vec<Golden> {
    let mut goldens = all();
    goldens.retain(|golden| golden.kind == kind);
    let own = std::env::var_os("GOLDEN_DIR").is_none();
    assert!(
        !own || !goldens.is_empty(),
        "no golden of kind {kind} in {}",
        folder().display()
    );
    goldens
}

fn read(path: &std::path::Path) -> Golden {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let json: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(json["format"], "refnum-1", "{}", path.display());
    let text_of = |key: &str| json[key].as_str().map(str::to_owned);
    let name = text_of("name").unwrap_or_else(|| path.display().to_string());
    Golden {
        name,
        kind: text_of("kind").expect("has a kind"),
        json,
    }
}

/// A number, or one of the texts that stand for those JSON lacks.
pub fn number(value: &Value) -> f64 {
    match value.as_str() {
        Some("NaN") => f64::NAN,
        Some("Infinity") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        Some(text) => panic!("{text} is no number"),
        None => value.as_f64().unwrap_or_else(|| panic!("{value} is no number")),
    }
}

pub fn numbers(value: &Value) -> Vec<f64> {
    list(value).iter().map(number).collect()
}

pub fn whole(value: &Value) -> u32 {
    value
        .as_u64()
        .and_then(|n| u32::try_from(n).ok())
        .unwrap_or_else(|| panic!("{value} is no count"))
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

/// The network of a folder: the token MLP with its parameters, flat in the model's order.
pub struct Network {
    pub shape: MlpShape,
    pub order: Vec<String>,
    pub parameters: Vec<f64>,
}

impl Golden {
    pub fn outputs(&self) -> &Value {
        &self.json["outputs"]["f64"]
    }

    pub fn inputs(&self) -> &Value {
        &self.json["inputs"]
    }

    /// The network this file names.
    pub fn network(&self) -> Network {
        let file = self.json["model"].as_str().expect("names its model");
        Network::of(&read(&folder().join(file)).json)
    }
}

impl Network {
    /// The network of a model file.
    pub fn of(model: &Value) -> Self {
        let order: Vec<String> = list(&model["param_order"])
            .iter()
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect();
        let parameters = flat(&model["weights"], &order);
        let size = |key: &str| whole(&model[key]) as usize;
        let shape = MlpShape {
            vocab: size("vocab"),
            embed: size("embed"),
            hidden: size("hidden"),
            batch_norm: false,
        };
        assert_eq!(parameters.len(), shape.parameters());
        Self {
            shape,
            order,
            parameters,
        }
    }

    /// A gradient or parameter set, flat.
    pub fn flat(&self, set: &Value) -> Vec<f64> {
        flat(set, &self.order)
    }
}

fn flat(set: &Value, order: &[String]) -> Vec<f64> {
    order.iter().flat_map(|name| numbers(&set[name])).collect()
}

/// One microbatch as it stands in `inputs`.
pub fn microbatch(value: &Value) -> PaddedBatch {
    let cells = |key: &str| {
        list(&value[key])
            .iter()
            .flat_map(|row| list(row).iter())
            .collect::<Vec<_>>()
    };
    let label = |value: &&Value| value.as_i64().and_then(|n| i32::try_from(n).ok()).expect("a label");
    PaddedBatch {
        ids: list(&value["example_ids"])
            .iter()
            .map(|id| ExampleId(whole(id)))
            .collect(),
        width: whole(&value["T"]) as usize,
        tokens: cells("tokens").into_iter().map(whole).collect(),
        labels: cells("labels").iter().map(label).collect(),
    }
}

pub fn microbatches(value: &Value) -> Vec<PaddedBatch> {
    list(value).iter().map(microbatch).collect()
}

/// One group as it is laid out on replicas: microbatches in the order of work, and their counts.
#[derive(Clone)]
pub struct Group {
    pub batches: Vec<PaddedBatch>,
    pub facts: GroupFacts,
}

impl Group {
    /// `replicas[d][a]`, worked on accumulation index by index, replica by replica.
    pub fn on_replicas(replicas: &[Vec<PaddedBatch>], nominal_accumulation: u32) -> Self {
        let most = replicas.iter().map(Vec::len).max().unwrap_or(0);
        let mut group = Self {
            batches: Vec::new(),
            facts: empty(replicas.len(), nominal_accumulation),
        };
        for index in 0..most {
            for (replica, batch) in replicas
                .iter()
                .enumerate()
                .filter_map(|(d, of)| Some((d, of.get(index)?)))
            {
                group.facts.microbatches.push(facts(batch, replica, index));
                group.batches.push(batch.clone());
            }
        }
        group
    }

    /// The same microbatches, replica after replica, on one process.
    pub fn on_one_process(replicas: &[Vec<PaddedBatch>]) -> Self {
        let all: Vec<PaddedBatch> = replicas.concat();
        let count = u32::try_from(all.len()).expect("few");
        Self::on_replicas(&[all], count)
    }

    /// All examples as one microbatch.
    pub fn whole(replicas: &[Vec<PaddedBatch>]) -> Self {
        let all: Vec<PaddedBatch> = replicas.concat();
        let width = all.iter().map(|batch| batch.width).max().unwrap_or(1);
        let mut whole = PaddedBatch {
            ids: Vec::new(),
            width,
            tokens: Vec::new(),
            labels: Vec::new(),
        };
        for batch in &all {
            whole.ids.extend_from_slice(&batch.ids);
            for row in batch.tokens.chunks(batch.width) {
                whole
                    .tokens
                    .extend(row.iter().copied().chain([0].repeat(width - batch.width)));
            }
            for row in batch.labels.chunks(batch.width) {
                whole
                    .labels
                    .extend(row.iter().copied().chain([-100].repeat(width - batch.width)));
            }
        }
        Self::on_replicas(&[vec![whole]], 1)
    }
}

fn empty(replicas: usize, nominal_accumulation: u32) -> GroupFacts {
    let replicas = u32::try_from(replicas).expect("few");
    GroupFacts {
        replicas,
        nominal_accumulation,
        microbatches: Vec::new(),
    }
}

fn facts(batch: &PaddedBatch, replica: usize, index: usize) -> MicrobatchFacts {
    let small = |n: usize| u32::try_from(n).expect("few");
    MicrobatchFacts {
        replica: small(replica),
        index: small(index),
        examples: small(batch.rows()),
        scored_examples: small(
            batch
                .labels
                .chunks(batch.width)
                .filter(|row| row.iter().any(|&l| l != -100))
                .count(),
        ),
        supervised: batch.supervised(),
        positions: batch.tokens.len() as u64,
        unpadded: batch.tokens.iter().filter(|&&token| token != PAD_ID).count() as u64,
    }
}

/// How a golden's variant lays its group out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Whole,
    OneProcess,
    Replicas,
}

/// Which convention of the lab a golden's variant is.
pub const VARIANTS: &[(&str, ConventionId, Layout)] = &[
    ("full_batch", ConventionId::FullBatch, Layout::Whole),
    ("weighted", ConventionId::TokenWeighted, Layout::OneProcess),
    ("mean_of_means", ConventionId::MeanOfMeans, Layout::OneProcess),
    ("double_division", ConventionId::DividedTwice, Layout::OneProcess),
    (
        "weighted_then_div_A",
        ConventionId::WeightedThenDividedByA,
        Layout::OneProcess,
    ),
    ("no_division", ConventionId::NeverDivided, Layout::OneProcess),
    ("sum_no_division", ConventionId::Sum, Layout::OneProcess),
    ("pad_in_denominator", ConventionId::PaddingCounted, Layout::OneProcess),
    ("example_mean", ConventionId::ExampleMean, Layout::OneProcess),
    (
        "zero_grad_each_microbatch",
        ConventionId::ZeroGradEachMicrobatch,
        Layout::OneProcess,
    ),
    ("ddp_corrected", ConventionId::TokenWeighted, Layout::Replicas),
    ("ddp_sum", ConventionId::Sum, Layout::Replicas),
    ("ddp_missing_D", ConventionId::ReplicasForgotten, Layout::Replicas),
    ("ddp_local_token_mean", ConventionId::ReplicaTokenMean, Layout::Replicas),
    ("ddp_mean_of_means", ConventionId::MeanOfMeans, Layout::Replicas),
    ("ddp_no_division", ConventionId::NeverDivided, Layout::Replicas),
    ("ddp_double_division", ConventionId::DividedTwice, Layout::Replicas),
    (
        "ddp_corrected_then_div_A",
        ConventionId::WeightedThenDividedByA,
        Layout::Replicas,
    ),
];

/// The convention and layout of a variant; an unknown one is a failure, not a skip.
pub fn variant(name: &str) -> (ConventionId, Layout) {
    let found = VARIANTS.iter().find(|(known, ..)| *known == name);
    found.map_or_else(
        || panic!("unknown variant {name}"),
        |&(_, convention, layout)| (convention, layout),
    )
}

/// A group of `inputs.microbatches[d][a]` in each layout.
pub struct Case {
    pub replicas: Vec<Vec<PaddedBatch>>,
    pub accumulation: u32,
}

impl Case {
    pub fn of(golden: &Golden) -> Self {
        let inputs = golden.inputs();
        let replicas = list(&inputs["microbatches"]).iter().map(microbatches).collect();
        Self {
            replicas,
            accumulation: whole(&inputs["A"]),
        }
    }

    pub fn laid_out(&self, layout: Layout) -> Group {
        match layout {
            Layout::Whole => Group::whole(&self.replicas),
            Layout::OneProcess => Group::on_one_process(&self.replicas),
            Layout::Replicas => Group::on_replicas(&self.replicas, self.accumulation),
        }
    }
}
