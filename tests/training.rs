//! Short runs on the CPU device against the same runs in plain f64, and what must hold of any run.
#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "training/loops.rs"]
mod loops;
#[path = "support/reference.rs"]
mod reference;
#[path = "support/short_run.rs"]
mod short_run;

use microbatch_lab::{
    batch::{
        ConventionId, Example, ExampleId, FaultId, IGNORE_INDEX, LaneRule, Split, Unit, fault::TABLE as FAULTS,
        scaler::ScalerConfig,
    },
    data::DataError,
    engine::{Advance, Device, Session, init, model::Network},
    protocol::{CellState, Fault, GroupRow, Outcome, ReplicaSpread, journal},
    setup::{Injection, Key, Setup},
};
use short_run::{corpus, setup};

/// float32 against float64 over a short run.
const TOLERANCE: f64 = 2e-5;

/// All rows of a run, and what it was.
fn run(setup: &Setup, prepare: impl FnOnce(&mut Session)) -> (Vec<GroupRow>, Session) {
    let mut session = Session::new(&Device::flex(), setup, corpus(setup)).unwrap();
    prepare(&mut session);
    let rows = rows(&mut session);
    (rows, session)
}

fn rows(session: &mut Session) -> Vec<GroupRow> {
    pollster::block_on(short_run::rows(session))
}

/// Everything but the time it took.
fn timeless(rows: &[GroupRow]) -> Vec<GroupRow> {
    rows.iter()
        .map(|row| GroupRow {
            elapsed_ms: 0.0,
            ..row.clone()
        })
        .collect()
}

fn parameters(session: &Session) -> Vec<Vec<f32>> {
    pollster::block_on(session.parameters()).unwrap()
}

fn equals_oracle(setup: &Setup) {
    pollster::block_on(short_run::equals_oracle(&Device::flex(), setup, TOLERANCE));
}

const MODELS: [&str; 2] = ["token_mlp", "transformer"];

#[test]
fn runs_equal_the_oracle() {
    let all = "token_weighted,mean_of_means,replica_token_mean,full_batch";
    for model in MODELS {
        for (optimizer, rate) in [("sgd", "0.05"), ("adamw", "0.003")] {
            equals_oracle(&setup(&[
                (Key::Model, model),
                (Key::Optimizer, optimizer),
                (Key::Rate, rate),
                (Key::Lanes, all),
                (Key::Lengths, "two_humped"),
                (Key::Schedule, "linear_warmup_decay"),
                (Key::Warmup, "4"),
                (Key::ScheduleTotal, "20"),
            ]));
        }
    }
}

/// Every fault in a lane of its own, over full groups and a partial one, on two replicas: a loop that goes wrong must go wrong as meant.
#[test]
fn every_fault_equals_the_oracle() {
    for rows in FAULTS.chunks(4) {
        for optimizer in ["sgd", "adamw"] {
            let mut setup = small_loops(optimizer);
            setup.lanes = rows.iter().map(|row| with_faults(&[row.id])).collect();
            equals_oracle(&setup);
        }
    }
}

#[test]
fn faults_together_equal_the_oracle() {
    use FaultId as F;
    let mut setup = small_loops("sgd");
    let pairs = [
        [F::NeverSynced, F::ZeroGradForgotten],
        [F::StepEachMicrobatch, F::SchedulerEachMicrobatch],
        [F::SyncFirstMicrobatch, F::ClipRunningGradient],
        [F::ClipEachMean, F::ClipBeforeUnscale],
        [F::TailCarried, F::SyncEachMicrobatch],
        [F::StepEachMicrobatch, F::NeverSynced],
        [F::SingleBackward, F::ZeroGradBeforeBackward],
        [F::HorizonInMicrobatches, F::SchedulerEachAttempt],
    ];
    for pairs in pairs.chunks(4) {
        setup.lanes = pairs.iter().map(|pair| with_faults(pair)).collect();
        equals_oracle(&setup);
    }
}

/// Some microbatches, and some replicas' first ones, have no supervised token; a group has none at all.
#[test]
fn empty_microbatches_equal_the_oracle() {
    let mut setup = small_loops("sgd");
    setup.split = Split::new(1, 3, 2).unwrap();
    setup.budget.amount = 30;
    let examples: Vec<Example> = (0..14)
        .map(|i| Example {
            id: ExampleId(i),
            tokens: vec![1 + i % 3; 3],
            labels: vec![
                if i % 3 == 1 || i > 11 {
                    IGNORE_INDEX
                } else {
                    i32::try_from(1 + i % 4).unwrap()
                };
                3
            ],
        })
        .collect();
    for id in [
        ConventionId::MeanOfMeans,
        ConventionId::ReplicaTokenMean,
        ConventionId::ExampleMean,
        ConventionId::TwoDenominators,
    ] {
        let lane = |ids: &[FaultId]| LaneRule {
            convention: id,
            ..with_faults(ids)
        };
        setup.lanes = vec![
            lane(&[]),
            lane(&[FaultId::HandMaskedMean]),
            lane(&[FaultId::SingleBackward]),
            lane(&[FaultId::StepEachMicrobatch]),
        ];
        pollster::block_on(short_run::equals_oracle_with(
            &Device::flex(),
            &setup,
            examples.clone(),
            TOLERANCE,
        ));
    }
}

#[test]
fn every_unit_of_the_schedule_equals_the_oracle() {
    let mut setup = small_loops("sgd");
    setup.lanes = vec![with_faults(&[])];
    for unit in [
        Unit::UpdateAttempts,
        Unit::Microbatches,
        Unit::Examples,
        Unit::SupervisedTokens,
    ] {
        setup.schedule_unit = unit;
        setup.schedule.total = 100;
        equals_oracle(&setup);
    }
}

/// A = 4, an infinity in the second microbatch: one of the four attempts is skipped, and the scale halves inside the group.
#[test]
fn every_attempt_inside_a_group_is_told() {
    for fault in [FaultId::StepEachMicrobatch, FaultId::MovesSummed] {
        let mut setup = setup(&[
            (Key::Model, "token_mlp"),
            (Key::LossScale, "dynamic"),
            (Key::InjectInf, "2:2:1"),
            (Key::ClipNorm, "1"),
            (Key::Budget, "3"),
        ]);
        setup.lanes = vec![with_faults(&[fault])];
        let rows = run(&setup, |_| {}).0;
        let (row, [applied, skipped]) = (&rows[0].lanes[0], [Outcome::Applied, Outcome::NonFiniteGradient]);
        let outcomes: Vec<Outcome> = row.inner.iter().map(|attempt| attempt.outcome).collect();
        assert_eq!((outcomes, row.outcome), (vec![applied, skipped, applied], applied));
        let scales: Vec<(u64, f64, f64)> = row.scales().map(|(n, scale)| (n, scale.used, scale.next)).collect();
        let (high, low) = (65536.0, 32768.0);
        assert_eq!(scales, [(1, high, high), (2, high, low), (3, low, low), (4, low, low)]);
        let counted: Vec<[u64; 4]> = (row.inner.iter())
            .map(|attempt| {
                let counters = attempt.counters;
                let (applied, examples) = (counters.applied_updates, counters.unique_examples);
                [counters.microbatches, applied, counters.all_reduces, examples]
            })
            .collect();
        assert_eq!(counted, [[2, 1, 1, 4], [4, 1, 2, 8], [6, 2, 3, 12]]);
        let norms = |at: usize| (row.inner[at].gradient_norm, &row.inner[at].clip_norms[..]);
        for at in [0, 2] {
            let (norm, clipped) = norms(at);
            assert!((norm - clipped[0]).abs() < 1e-5 * norm && clipped.len() == 1);
        }
        assert!(!norms(1).0.is_finite() && row.last_clip_norms().len() == 1);
        let lines = journal::Writer::new(&setup.lanes).lines(&rows[0]);
        let places = |kind: &str| -> Vec<serde_json::Value> {
            let lines = lines.iter().map(|line| serde_json::from_str(line).unwrap());
            lines
                .filter(|line: &serde_json::Value| line["kind"] == kind)
                .map(|line| line["after_index"].clone())
                .collect()
        };
        assert_eq!(
            (places("reduction"), places("attempt")),
            (
                vec![0.into(), 1.into(), 2.into(), 3.into()],
                vec![0.into(), 1.into(), 2.into(), 3.into()]
            )
        );
    }
}

#[test]
fn clipping_and_scaling_do_not_depend_on_how_much_is_read_back() {
    let mut setup = small_loops("sgd");
    setup.lanes = vec![with_faults(&[]), with_faults(&[FaultId::NeverSynced])];
    let (whole, summed) = (run(&setup, |_| {}).0, run(&setup, Session::sum_on_device).0);
    for (whole, summed) in whole
        .iter()
        .zip(&summed)
        .flat_map(|(w, s)| w.lanes.iter().zip(&s.lanes))
    {
        assert_eq!((whole.outcome, &whole.clip_norms), (summed.outcome, &summed.clip_norms));
        assert_eq!((whole.scale, whole.counters), (summed.scale, summed.counters));
    }
}

fn with_faults(ids: &[FaultId]) -> LaneRule {
    LaneRule {
        convention: ConventionId::MeanOfMeans,
        faults: Vec::from(ids).try_into().unwrap(),
    }
}

/// Everything that a fault may need to be seen: D = 2, a partial group, a clip, a scale that moves, an infinity, an empty microbatch,
/// a schedule.
fn small_loops(optimizer: &str) -> Setup {
    let mut setup = setup(&[
        (Key::Model, "token_mlp"),
        (Key::Optimizer, optimizer),
        (Key::Rate, if optimizer == "sgd" { "0.05" } else { "0.003" }),
        (Key::Microbatch, "2"),
        (Key::Accumulation, "3"),
        (Key::Replicas, "2"),
        (Key::Lengths, "two_humped"),
        (Key::Schedule, "linear_warmup_decay"),
        (Key::Warmup, "3"),
        (Key::ScheduleTotal, "40"),
        (Key::Budget, "200"),
        (Key::BudgetUnit, "examples"),
    ]);
    setup.clip_norm = Some(0.4);
    setup.loss_scale = Some(ScalerConfig {
        init_scale: 1024.0,
        growth_factor: 2.0,
        backoff_factor: 0.5,
        growth_interval: 2,
    });
    setup.inject_inf = vec![Injection {
        attempt: 3,
        microbatch: 1,
        replica: 2,
    }];
    setup
}

#[test]
fn conventions_with_weights_of_their_own_equal_the_oracle() {
    let lanes = "example_mean,padding_counted,never_divided,zero_grad_each_microbatch";
    equals_oracle(&setup(&[
        (Key::Model, "token_mlp"),
        (Key::Optimizer, "sgd"),
        (Key::Rate, "0.01"),
        (Key::Lanes, lanes),
    ]));
}

#[test]
fn two_layers_and_four_heads_equal_the_oracle() {
    equals_oracle(&setup(&[(Key::Layers, "2"), (Key::Heads, "4"), (Key::Budget, "4")]));
}

#[test]
fn the_same_setup_gives_the_same_bits() {
    for model in MODELS {
        let setup = setup(&[(Key::Model, model)]);
        let (first, second) = (run(&setup, |_| {}), run(&setup, |_| {}));
        assert_eq!(timeless(&first.0), timeless(&second.0), "{model}");
        assert_eq!(parameters(&first.1), parameters(&second.1), "{model}");
    }
}

#[test]
fn watching_changes_no_number_and_parameters_stand_still_inside_a_group() {
    let setup = setup(&[(Key::Lanes, "token_weighted,full_batch"), (Key::Budget, "3")]);
    let unwatched = run(&setup, |_| {}).0;
    let mut session = Session::new(&Device::flex(), &setup, corpus(&setup)).unwrap();
    let mut groups = Vec::new();
    let mut watched = Vec::new();
    loop {
        match pollster::block_on(session.advance(true)).unwrap() {
            Advance::Began(plan) => assert_eq!(plan.number, groups.len() as u64),
            Advance::Microbatch(rows) => watched.extend(rows.into_iter().filter(|row| row.state == CellState::Done)),
            Advance::Updated(row) => {
                assert_eq!(watched.len(), row.plan.microbatches.len());
                for (k, cell) in watched.drain(..).enumerate() {
                    assert_eq!(cell.cell as usize, k);
                    assert_eq!(cell.lanes[0].loss_sum, Some(row.lanes[0].loss_sums[k]));
                    let last = k + 1 == row.plan.microbatches.len();
                    assert_eq!(cell.lanes[1].loss_sum, last.then(|| row.lanes[1].loss_sums[0]));
                    for (cell, lane) in cell.lanes.iter().zip(&row.lanes) {
                        assert_eq!(cell.checksum, lane.checksums.unwrap()[0]);
                    }
                }
                for lane in &row.lanes {
                    let [before, inside, after] = lane.checksums.unwrap();
                    assert_eq!(before, inside);
                    assert_ne!(inside, after);
                }
                groups.push(*row);
            }
            Advance::Finished => break,
        }
    }
    assert_eq!(timeless(&groups), timeless(&unwatched));
}

#[test]
fn equal_lengths_make_all_conventions_of_the_page_agree() {
    let lanes = "token_weighted,mean_of_means,replica_token_mean,full_batch";
    let setup = setup(&[
        (Key::Data, "two_sources"),
        (Key::Lengths, "list"),
        (Key::LengthList, "8"),
        (Key::Lanes, lanes),
        (Key::Examples, "48"),
    ]);
    for row in run(&setup, |_| {}).0 {
        for apart in row.lanes.iter().filter_map(|lane| lane.apart) {
            assert!(apart.parameter_distance < 1e-4, "{apart:?}");
        }
        for lane in &row.lanes {
            let (weighted, unweighted) = (lane.loss.token_weighted().unwrap(), lane.loss.mean_of_means().unwrap());
            assert!((weighted - unweighted).abs() < 1e-6 * weighted);
        }
    }
}

#[test]
fn uneven_lengths_part_the_lanes() {
    let setup = setup(&[
        (Key::Lengths, "two_humped"),
        (Key::Optimizer, "sgd"),
        (Key::Rate, "0.1"),
    ]);
    let rows = run(&setup, |_| {}).0;
    let first = rows[0].lanes[1].apart.unwrap();
    assert!(
        first.gradient_relative_l2 > 0.02 && first.gradient_cosine < 0.9999,
        "{first:?}"
    );
    let last = rows.last().unwrap().lanes[1].apart.unwrap();
    assert!(last.parameter_distance > 1e-4, "{last:?}");
    assert!(rows[0].lanes[0].apart.is_none());
}

#[test]
fn replicas_that_compute_apart_stay_in_step_bit_for_bit() {
    let setup = setup(&[(Key::Replicas, "3"), (Key::Budget, "5")]);
    let (shared, _) = run(&setup, |_| {});
    let (apart, _) = run(&setup, Session::compute_replicas_apart);
    for (shared, apart) in shared.iter().zip(&apart) {
        for (shared, apart) in shared.lanes.iter().zip(&apart.lanes) {
            assert_eq!(shared.replicas, ReplicaSpread::InStep);
            assert_eq!(apart.replicas, ReplicaSpread::Parted { largest: 0.0 });
            assert_eq!(shared.checksums, apart.checksums);
        }
    }
}

#[test]
fn sums_on_the_device_agree_with_values_read_whole() {
    let setup = setup(&[(Key::Lengths, "two_humped")]);
    let (whole, _) = run(&setup, |_| {});
    let (summed, _) = run(&setup, Session::sum_on_device);
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-3 * b.abs().max(1e-3);
    for (whole, summed) in whole
        .iter()
        .zip(&summed)
        .flat_map(|(w, s)| w.lanes.iter().zip(&s.lanes))
    {
        assert!(close(summed.gradient_norm, whole.gradient_norm));
        assert_eq!(summed.checksums, None);
        assert_eq!(summed.loss_sums, whole.loss_sums);
        if let (Some(s), Some(w)) = (summed.apart, whole.apart) {
            assert!(close(s.gradient_cosine, w.gradient_cosine), "{s:?} {w:?}");
            assert!(close(s.gradient_relative_l2, w.gradient_relative_l2), "{s:?} {w:?}");
            assert!(close(s.parameter_distance, w.parameter_distance), "{s:?} {w:?}");
        }
    }
}

/// Six examples of one letter each; those of the second half have nothing to learn.
fn half_masked() -> Vec<Example> {
    let example = |i: u32| Example {
        id: ExampleId(i),
        tokens: vec![1 + i % 3; 3],
        labels: vec![
            if i < 3 {
                i32::try_from(1 + i).unwrap()
            } else {
                IGNORE_INDEX
            };
            3
        ],
    };
    (0..6).map(example).collect()
}

fn session_of(setup: &Setup, examples: Vec<Example>, start: impl FnOnce(&mut [f32])) -> Session {
    let network = Network::new(setup.model, 5);
    let vocabulary = corpus(setup).vocabulary;
    let mut values = init::parameters(&network, &setup.start, &vocabulary, setup.seed).unwrap();
    start(&mut values);
    Session::with_network(&Device::flex(), setup, examples, network, values).unwrap()
}

#[test]
fn a_group_without_a_supervised_token_is_reported_and_skipped() {
    let setup = setup(&[
        (Key::Model, "token_mlp"),
        (Key::Microbatch, "1"),
        (Key::Accumulation, "3"),
        (Key::Replicas, "1"),
        (Key::Shuffle, "no"),
        (Key::BudgetUnit, "examples"),
    ]);
    let mut session = session_of(&setup, half_masked(), |_| {});
    let rows = rows(&mut session);
    let outcomes: Vec<Outcome> = rows.iter().map(|row| row.lanes[0].outcome).collect();
    let [applied, nothing] = [Outcome::Applied, Outcome::NoSupervisedToken];
    assert_eq!(outcomes, [applied, nothing, applied, nothing]);
    let (trained, skipped) = (&rows[0].lanes[0], &rows[1].lanes[0]);
    assert_eq!(skipped.loss.token_weighted(), None);
    assert_eq!(
        (skipped.counters.update_attempts, skipped.counters.applied_updates),
        (2, 1)
    );
    assert_eq!(
        (
            skipped.counters.backwards,
            skipped.counters.examples,
            skipped.counters.unique_examples
        ),
        (3, 6, 6)
    );
    assert_eq!(
        rows[2].lanes[0].checksums.unwrap()[0],
        trained.checksums.unwrap()[2],
        "nothing moved"
    );
    assert!(parameters(&session).iter().flatten().all(|x| x.is_finite()));
}

#[test]
fn a_gradient_that_is_not_finite_changes_nothing() {
    for whole in [true, false] {
        let setup = setup(&[
            (Key::Model, "token_mlp"),
            (Key::Microbatch, "1"),
            (Key::Accumulation, "3"),
            (Key::Replicas, "2"),
            (Key::BudgetUnit, "examples"),
        ]);
        let mut session = session_of(&setup, half_masked(), |values| values[values.len() - 2] = f32::INFINITY);
        if !whole {
            session.sum_on_device();
        }
        let before = parameters(&session);
        let rows = rows(&mut session);
        assert!(!rows.is_empty());
        for lane in rows.iter().flat_map(|row| &row.lanes) {
            assert_eq!(lane.outcome, Outcome::NonFiniteGradient);
            assert_eq!(lane.counters.applied_updates, 0);
            assert!(lane.checksums.is_none_or(|[before, _, after]| before == after));
        }
        assert_eq!(parameters(&session), before);
    }
}

#[test]
fn a_partial_last_group_is_processed_or_dropped_as_chosen() {
    let common = [
        (Key::Examples, "20"),
        (Key::Budget, "40"),
        (Key::BudgetUnit, "examples"),
    ];
    let with = |rule| setup(&[&common[..], &[(Key::LastGroup, rule)]].concat());
    let processed = run(&with("process"), |_| {}).0;
    assert_eq!(
        processed.iter().map(|row| row.plan.examples()).collect::<Vec<_>>(),
        [16, 4, 16, 4]
    );
    assert!(processed[1].plan.partial && processed.iter().all(|row| row.dropped.is_empty()));
    let (dropped, session) = run(&with("drop"), |_| {});
    assert_eq!(
        dropped.iter().map(|row| row.plan.examples()).collect::<Vec<_>>(),
        [16, 16, 16]
    );
    assert!(
        dropped.iter().all(|row| row.dropped.len() == 4),
        "each epoch's only group is its last"
    );
    assert_eq!(
        (session.facts().groups_per_epoch, session.facts().dropped_per_epoch),
        (1, 4)
    );
}

#[test]
fn a_run_that_could_never_update_is_refused() {
    let setup = setup(&[(Key::LastGroup, "drop"), (Key::Model, "token_mlp")]);
    let network = Network::new(setup.model, 5);
    let start = vec![0.0; network.parameters()];
    let refused = Session::with_network(&Device::flex(), &setup, half_masked(), network, start).err();
    assert_eq!(
        refused,
        Some(Fault::Data(DataError::NoFullGroup {
            examples: 6,
            needed: 16
        }))
    );
}

#[test]
fn an_example_longer_than_the_context_is_refused() {
    let setup = setup(&[(Key::Context, "40")]);
    let network = Network::new(setup.model, 5);
    let long = Example {
        id: ExampleId(0),
        tokens: vec![1; 41],
        labels: vec![1; 41],
    };
    let start = vec![0.0; network.parameters()];
    let refused = Session::with_network(&Device::flex(), &setup, vec![long], network, start).err();
    assert_eq!(
        refused,
        Some(Fault::Data(DataError::TooLong {
            example: 0,
            length: 41,
            max: 40
        }))
    );
}
