//! What only the product has, measured against itself on the CPU device. Each measurement is told as one line of JSON with its samples;
//! whoever hears it makes figures of them. What is compared is measured in turns, in workers side by side of which one works at a time.

use microbatch_lab::{
    protocol::{DeviceKind, Fault, FullBatch},
    setup::{Draft, Key, Setup, parse::parse},
};
use serde_json::{Value, json};

use crate::{page, training::Training, work::Work};

/// Four conventions that all go through the group as it is split.
const FOUR_LANES: &str = "token_weighted,mean_of_means,replica_token_mean,divided_twice";

/// Microbatches of an update, over which its time should be a straight line.
const SIZES: [u32; 7] = [8, 16, 32, 64, 128, 256, 512];

/// Points that a long run's memory is told by.
const POINTS: u64 = 100;

/// Every example is as long as every other, so that microbatches of the same m are the same work.
const EQUAL: &[(Key, &str)] = &[
    (Key::Data, "two_sources"),
    (Key::Lengths, "list"),
    (Key::LengthList, "32"),
    (Key::Lanes, "token_weighted"),
    (Key::Budget, "1000000"),
];

/// As often more is measured what takes a millisecond or two: a browser is still compiling its code in the first hundredth of a second.
const SHORT: u32 = 20;

/// Measures all, and tells each as soon as it is there; the one called `done` comes last.
pub(crate) async fn measure(quick: bool, tell: impl AsyncFn(String)) {
    let times = if quick { 5 } else { 15 };
    let updates = if quick { 1_000 } else { 10_000 };
    let say = async |name: &str, measured: Result<Value, Fault>| {
        let mut line = measured.unwrap_or_else(|fault| json!({ "fault": fault.to_string() }));
        line["name"] = name.into();
        tell(line.to_string()).await;
    };
    say(
        "probe",
        probe(
            with(&[(Key::Lanes, "token_weighted"), (Key::Budget, "1000000")]),
            SHORT * times,
        )
        .await,
    )
    .await;
    say("probe_w1", probe_w1(times).await).await;
    say("lanes", lanes(times).await).await;
    say("linear", linear(times).await).await;
    say("memory", memory().await).await;
    say("growth", growth(updates).await).await;
    say("done", Ok(json!({}))).await;
}

/// A probe and a group of one lane, in milliseconds as the engine counts them.
async fn probe(setup: Option<Setup>, times: u32) -> Result<Value, Fault> {
    let training = Training::start(DeviceKind::Cpu).await?;
    training.load_setup(setup.ok_or(Fault::NoSuchRun)?).await?;
    probes(&training, times).await
}

async fn probe_w1(times: u32) -> Result<Value, Fault> {
    probes(&given("token_weighted", 2 * (times + 1)).await?, times).await
}

async fn probes(training: &Training, times: u32) -> Result<Value, Fault> {
    let (one, probe) = turns(training, FullBatch::AsSum, times).await?;
    let (beside, in_one_pass) = turns(training, FullBatch::InOnePass, times).await?;
    Ok(json!({ "one": one, "probe": probe, "beside": beside, "in_one_pass": in_one_pass }))
}

/// An update and a probe in turns.
async fn turns(training: &Training, full_batch: FullBatch, times: u32) -> Result<(Vec<f64>, Vec<f64>), Fault> {
    let mut clock = Clock::default();
    clock.update(training).await?;
    let (mut one, mut probe) = (Vec::new(), Vec::new());
    for _ in 0..times {
        one.push(short(clock.update(training).await?));
        probe.push(short(training.probe(full_batch).await?.elapsed_ms));
    }
    Ok((one, probe))
}

/// To a microsecond, which is finer than a browser's clock: all numbers of a measurement travel in the address of one request.
fn short(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

/// An update of one lane, and one of four.
async fn lanes(times: u32) -> Result<Value, Fault> {
    let alone = given("token_weighted", times + 1).await?;
    let beside = given(FOUR_LANES, times + 1).await?;
    let mut clocks = [Clock::default(), Clock::default()];
    let (mut one, mut four) = (Vec::new(), Vec::new());
    for time in 0..=times {
        let took = [clocks[0].update(&alone).await?, clocks[1].update(&beside).await?];
        // The first makes the optimizer's state and meets cold caches.
        if time > 0 {
            one.push(took[0]);
            four.push(took[1]);
        }
    }
    Ok(json!({ "one": one, "four": four }))
}

/// An update of each size.
async fn linear(times: u32) -> Result<Value, Fault> {
    let mut runs = Vec::new();
    for size in SIZES {
        let count = size.to_string();
        let changes = [
            (Key::Microbatch, "1"),
            (Key::Accumulation, count.as_str()),
            (Key::Replicas, "1"),
            (Key::Examples, "512"),
        ];
        runs.push((loaded(&[EQUAL, &changes].concat()).await?, Clock::default(), Vec::new()));
    }
    for time in 0..=times {
        for (training, clock, took) in &mut runs {
            let ms = clock.update(training).await?;
            if time > 0 {
                took.push(ms);
            }
        }
    }
    let took: Vec<Vec<f64>> = runs.into_iter().map(|(_, _, took)| took).collect();
    Ok(json!({ "microbatches": SIZES, "ms": took }))
}

/// The most bytes in use during an update of one microbatch, and of sixty-four.
async fn memory() -> Result<Value, Fault> {
    let mut peaks = Vec::new();
    for accumulation in ["1", "64"] {
        let changes = [
            (Key::Microbatch, "4"),
            (Key::Accumulation, accumulation),
            (Key::Replicas, "1"),
            (Key::Examples, "512"),
            (Key::Width, "64"),
            (Key::Layers, "2"),
        ];
        let training = loaded(&[EQUAL, &changes].concat()).await?;
        let mut peak = 0;
        for _ in 0..4 {
            let row = training.update().await?.row;
            peak = peak.max(row.memory.map_or(0, |memory| memory.peak));
        }
        peaks.push(peak);
    }
    Ok(json!({ "one": peaks.first(), "sixty_four": peaks.last() }))
}

/// Bytes in use after updates of a long run.
async fn growth(updates: u64) -> Result<Value, Fault> {
    let changes = [
        (Key::Microbatch, "2"),
        (Key::Accumulation, "2"),
        (Key::Replicas, "2"),
        (Key::Examples, "64"),
        (Key::Width, "16"),
        (Key::LengthList, "8"),
    ];
    let training = loaded(&[EQUAL, &changes].concat()).await?;
    let every = updates / POINTS;
    let (mut at, mut bytes) = (Vec::new(), Vec::new());
    let mut update = 0;
    training
        .run(|row| {
            update += 1;
            if update % every == 0 {
                at.push(update);
                bytes.push(row.memory.map_or(0, |memory| memory.in_use));
            }
            update < updates
        })
        .await?;
    Ok(json!({ "updates": at, "bytes": bytes }))
}

/// A worker with W1 loaded.
async fn given(lanes: &str, updates: u32) -> Result<Training, Fault> {
    let training = Training::start(DeviceKind::Cpu).await?;
    let work = Work::named("W1").ok_or(Fault::NoSuchRun)?;
    training.load(page::given(work, updates, lanes).await?).await?;
    Ok(training)
}

async fn loaded(changes: &[(Key, &str)]) -> Result<Training, Fault> {
    let training = Training::start(DeviceKind::Cpu).await?;
    training.load_setup(with(changes).ok_or(Fault::NoSuchRun)?).await?;
    Ok(training)
}

/// The default experiment with changes.
fn with(changes: &[(Key, &str)]) -> Option<Setup> {
    let draft = changes
        .iter()
        .fold(Draft::default(), |draft, &(key, text)| draft.with(key, text));
    parse(&draft).ok()
}

/// What the engine has worked on a run by its last row.
#[derive(Default)]
struct Clock {
    elapsed_ms: f64,
}

impl Clock {
    /// One update; what it took the engine, in milliseconds.
    async fn update(&mut self, training: &Training) -> Result<f64, Fault> {
        let elapsed_ms = training.update().await?.row.elapsed_ms;
        let took = elapsed_ms - self.elapsed_ms;
        self.elapsed_ms = elapsed_ms;
        Ok(took)
    }
}
