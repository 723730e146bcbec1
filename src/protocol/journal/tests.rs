//! What is written.

mod schema;

use serde_json::{Value, json};

use super::*;
use crate::{
    batch::{
        ConventionId, ExampleId, FaultId, Faults, GroupLoss, GroupPlan, MicrobatchFacts, MicrobatchPlan,
        scaler::ScalerError,
    },
    protocol::{
        AdapterFacts, Apart, AttemptRow, BatchNormRow, DeviceReport, LaneRow, MemoryRow, MemorySource, Outcome, Phase,
        PhaseBytes, ReplicaSpread, RunFacts, ScaleRow,
    },
    setup::{Draft, file, parse::parse},
};

fn microbatch(replica: u32, index: u32, ids: &[u32], supervised: u64, width: u64, padded: u64) -> MicrobatchPlan {
    let examples = u32::try_from(ids.len()).unwrap();
    MicrobatchPlan {
        ids: ids.iter().copied().map(ExampleId).collect(),
        facts: MicrobatchFacts {
            replica,
            index,
            examples,
            scored_examples: examples,
            supervised,
            positions: width * u64::from(examples),
            unpadded: width * u64::from(examples) - padded,
        },
        padded,
    }
}

fn memory() -> MemoryRow {
    MemoryRow {
        source: MemorySource::Allocator,
        phases: vec![PhaseBytes {
            phase: Phase::Forward,
            replica: Some(1),
            before: 10,
            after: 20,
            peak: 30,
        }],
        in_use: 20,
        reserved: Some(40),
        peak: 30,
    }
}

/// One lane's numbers with nothing that may be absent.
fn bare(loss_sums: Vec<f64>, counts: &[u64]) -> LaneRow {
    LaneRow {
        inner: Vec::new(),
        outcome: Outcome::Applied,
        loss: GroupLoss::from_sums(loss_sums.iter().copied().zip(counts.iter().copied())),
        loss_sums,
        logged_loss: 3.5,
        gradient_norm: f64::NAN,
        clip_norms: Vec::new(),
        scale: None,
        batch_norm: None,
        rate: 0.1,
        counters: Counters {
            microbatches: 2,
            supervised_tokens: 2048,
            ..Counters::default()
        },
        checksums: None,
        apart: None,
        replicas: ReplicaSpread::InStep,
    }
}

/// The same with everything that may be there.
fn whole(loss_sums: Vec<f64>, counts: &[u64]) -> LaneRow {
    LaneRow {
        clip_norms: vec![2.0],
        scale: Some(ScaleRow {
            used: 65536.0,
            next: 32768.0,
            growth_tracker: 1,
        }),
        batch_norm: Some(BatchNormRow {
            batches: 2,
            running_mean: vec![0.5],
            running_var: vec![1.5],
        }),
        checksums: Some([u64::MAX, 1, 2]),
        apart: Some(Apart {
            gradient_cosine: 1.0,
            gradient_relative_l2: 0.5,
            parameter_distance: 0.25,
        }),
        replicas: ReplicaSpread::Parted { largest: 0.5 },
        ..bare(loss_sums, counts)
    }
}

/// An attempt inside a group, after microbatch `after_index`.
fn inside(after_index: u32, outcome: Outcome) -> AttemptRow {
    AttemptRow {
        after_index,
        outcome,
        gradient_norm: f64::INFINITY,
        clip_norms: vec![f64::INFINITY],
        scale: Some(ScaleRow {
            used: 131_072.0,
            next: 65536.0,
            growth_tracker: 0,
        }),
        rate: 0.2,
        counters: Counters {
            update_attempts: 7,
            ..Counters::default()
        },
    }
}

fn row(lanes: Vec<LaneRow>) -> GroupRow {
    GroupRow {
        plan: GroupPlan {
            number: 3,
            epoch: 1,
            partial: true,
            replicas: 2,
            nominal_accumulation: 1,
            microbatches: vec![
                microbatch(0, 0, &[4, 5], 512, 300, 88),
                microbatch(1, 0, &[6], 1536, 1536, 0),
            ],
        },
        dropped: vec![ExampleId(9)],
        lanes,
        elapsed_ms: 1.5,
        memory: Some(memory()),
    }
}

fn split_and_whole() -> [LaneRule; 2] {
    [ConventionId::TokenWeighted.into(), ConventionId::FullBatch.into()]
}

fn two_lanes() -> GroupRow {
    row(vec![
        whole(vec![1024.0, 6144.0], &[512, 1536]),
        whole(vec![7168.0], &[2048]),
    ])
}

fn read(lines: &[String]) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn facts() -> RunFacts {
    RunFacts {
        parameters: 7,
        vocabulary: 3,
        examples: 40,
        groups_per_epoch: 2,
        dropped_per_epoch: 1,
        dropped: vec![ExampleId(39)],
        repeated_per_epoch: 0,
        memory: Some(memory()),
    }
}

fn device() -> DeviceReport {
    DeviceReport {
        kind: "webgpu".to_owned(),
        adapter: Some(AdapterFacts {
            subgroup: Some((4, 32)),
            ..AdapterFacts::default()
        }),
        open_ms: 0.1,
    }
}

#[test]
fn a_group_gives_one_line_for_each_microbatch_reduction_and_attempt_of_each_lane() {
    let lines = read(&Writer::new(&split_and_whole()).lines(&two_lanes()));
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "microbatch",
            "microbatch",
            "reduction",
            "attempt",
            "microbatch",
            "reduction",
            "attempt"
        ]
    );
    assert_eq!(lines[1]["example_ids"], json!([6]));
    assert_eq!(lines[1]["loss_sum"], json!(6144.0));
    let attempt = &lines[3];
    assert_eq!(
        (&attempt["loss_token_weighted"], &attempt["loss_mean_of_means"]),
        (&json!(3.5), &json!(3.0))
    );
    assert_eq!(attempt["gradient_norm"], Value::Null, "JSON has no NaN");
    assert_eq!(attempt["parameter_checksums"][0], json!("ffffffffffffffff"));
    assert_eq!(
        (&attempt["supervised_tokens"], &attempt["unique_examples"]),
        (&json!(2048), &json!(0))
    );
    assert_eq!(attempt["dropped_example_ids"], json!([9]));
    assert_eq!(
        (&attempt["applied"], &attempt["scale"]["next"], &attempt["logged_loss"]),
        (&json!(true), &json!(32768.0), &json!(3.5))
    );
    assert_eq!(attempt["memory"]["phases"][0]["peak"], json!(30));
    let whole = &lines[4];
    assert_eq!(whole["example_ids"], json!([4, 5, 6]));
    assert_eq!(
        (&whole["positions"], &whole["padded_tokens"]),
        (&json!(3 * 1536), &json!(3 * 1536 - 2048))
    );
    assert_eq!(lines[6]["memory"], Value::Null, "it is of all lanes, and stands once");
}

#[test]
fn what_was_not_computed_keeps_its_example_ids() {
    for outcome in [Outcome::NoSupervisedToken, Outcome::Dropped] {
        let mut row = two_lanes();
        row.lanes.iter_mut().for_each(|lane| lane.outcome = outcome);
        let lines = read(&Writer::new(&split_and_whole()).lines(&row));
        let microbatches: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "microbatch").collect();
        assert_eq!(microbatches.len(), 3);
        assert_eq!(microbatches[0]["example_ids"], json!([4, 5]));
        for line in microbatches {
            assert_eq!(
                (&line["computed"], &line["loss_sum"]),
                (&json!(false), &Value::Null),
                "{outcome:?}"
            );
        }
        assert!(
            lines
                .iter()
                .all(|line| line["kind"] != "attempt" || line["applied"] == json!(false))
        );
    }
    let mut row = two_lanes();
    row.lanes[0].outcome = Outcome::Refused(ScalerError::AlreadyUnscaled);
    let lines = read(&Writer::new(&split_and_whole()).lines(&row));
    assert_eq!(
        (&lines[0]["computed"], &lines[0]["loss_sum"]),
        (&json!(true), &json!(1024.0))
    );
    assert_eq!(
        (&lines[3]["outcome"], &lines[3]["refusal"]),
        (&json!("refused"), &json!("already_unscaled"))
    );
}

#[test]
fn an_attempt_inside_a_group_has_a_line_before_that_of_the_group() {
    let mut row = two_lanes();
    row.lanes[0].inner = vec![inside(0, Outcome::NonFiniteGradient), inside(1, Outcome::Applied)];
    row.lanes[0].clip_norms = vec![f64::INFINITY, f64::INFINITY, 2.0];
    row.lanes[0].outcome = Outcome::NonFiniteGradient;
    let lines = read(&Writer::new(&split_and_whole()).lines(&row));
    let attempts: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "attempt").collect();
    let told = |at: usize| {
        let line = attempts[at];
        ["lane", "after_index", "ends_group", "outcome", "applied"].map(|name| line[name].clone())
    };
    assert_eq!(attempts.len(), 4);
    assert_eq!(
        told(0),
        [
            json!(0),
            json!(0),
            json!(false),
            json!("non_finite_gradient"),
            json!(false)
        ]
    );
    assert_eq!(
        told(1),
        [json!(0), json!(1), json!(false), json!("applied"), json!(true)]
    );
    assert_eq!(
        told(2),
        [
            json!(0),
            json!(0),
            json!(true),
            json!("non_finite_gradient"),
            json!(false)
        ]
    );
    assert_eq!(
        told(3),
        [json!(1), json!(0), json!(true), json!("applied"), json!(true)]
    );
    let line = attempts[0];
    assert_eq!(
        (&line["scale"]["next"], &line["learning_rate"]),
        (&json!(65536.0), &json!(0.2))
    );
    assert_eq!((&line["update_attempts"], &line["loss_sum"]), (&json!(7), &Value::Null));
    assert_eq!(
        attempts[2]["clip_norms"],
        json!([2.0]),
        "those of the last attempt alone"
    );
}

#[test]
fn a_group_is_applied_if_any_of_its_attempts_was() {
    let mut lane = bare(vec![], &[]);
    assert_eq!((lane.ended(), lane.attempts()), (Outcome::Applied, 1));
    lane.outcome = Outcome::Dropped;
    assert_eq!(lane.ended(), Outcome::Dropped);
    lane.inner = vec![inside(0, Outcome::NonFiniteGradient)];
    assert_eq!((lane.ended(), lane.attempts()), (Outcome::Dropped, 2));
    lane.inner.push(inside(1, Outcome::Applied));
    assert_eq!(lane.ended(), Outcome::Applied);
    let why: Vec<Outcome> = lane.changed_nothing().collect();
    assert_eq!(why, [Outcome::NonFiniteGradient, Outcome::Dropped]);
}

/// Three microbatches on two replicas, under each place of `no_sync()`, counted by `per_group` all-reduces of 40 bytes a group.
fn reductions(fault: Option<FaultId>, per_group: u64) -> Vec<(Value, Value, Value)> {
    let faults = fault.map_or(Faults::NONE, |id| Faults::NONE.and(id).unwrap());
    let rule = LaneRule {
        convention: ConventionId::TokenWeighted,
        faults,
    };
    let mut writer = Writer::new(&[rule]);
    let mut lines = Vec::new();
    for group in 1..=2 {
        let mut row = row(vec![bare(vec![1.0; 6], &[2; 6])]);
        row.plan.microbatches = (0..6).map(|at| microbatch(at % 2, at / 2, &[at], 2, 2, 0)).collect();
        row.lanes[0].counters.all_reduces = per_group * group;
        row.lanes[0].counters.all_reduced_bytes = 40 * per_group * group;
        lines = read(&writer.lines(&row));
    }
    let lines = lines.into_iter().filter(|line| line["kind"] == "reduction");
    lines
        .map(|line| {
            (
                line["reduced"].clone(),
                line["after_index"].clone(),
                line["bytes"].clone(),
            )
        })
        .collect()
}

#[test]
fn each_all_reduce_has_a_line_and_so_has_its_absence() {
    let at = |index: u32| (json!(true), json!(index), json!(40));
    assert_eq!(reductions(None, 1), [at(2)]);
    assert_eq!(reductions(Some(FaultId::SyncFirstMicrobatch), 1), [at(0)]);
    assert_eq!(reductions(Some(FaultId::SyncEachMicrobatch), 3), [at(0), at(1), at(2)]);
    assert_eq!(reductions(Some(FaultId::StepEachMicrobatch), 3), [at(0), at(1), at(2)]);
    assert_eq!(reductions(Some(FaultId::MovesSummed), 3), [at(0), at(1), at(2)]);
    assert_eq!(
        reductions(Some(FaultId::NeverSynced), 0),
        [(json!(false), Value::Null, json!(0))]
    );
    let untold = (json!(true), Value::Null, json!(40));
    assert_eq!(
        reductions(None, 2),
        [untold.clone(), untold],
        "a count that the rule does not explain has no place"
    );
}

#[test]
fn the_header_holds_the_setup_by_its_keys_and_the_first_dropped_examples() {
    let setup = parse(&Draft::default()).unwrap();
    let line: Value = serde_json::from_str(&header(&setup, &facts(), &device())).unwrap();
    assert_eq!(line["journal"], json!(JOURNAL_VERSION));
    assert_eq!(line["dropped_example_ids"], json!([39]));
    let again = file::from_json(&line["setup"].to_string()).unwrap();
    assert_eq!(parse(&again).unwrap(), setup);
}
