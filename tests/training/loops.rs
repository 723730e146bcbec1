//! What a loop comes to in the corners of a run: budgets out of reach, groups without a token, gradients that are cleared or missing.

use microbatch_lab::{
    batch::{
        ConventionId, Example, ExampleId, FaultId, IGNORE_INDEX, LaneRule, Split,
        oracle::{Momentum, relative_l2},
        scaler::ScalerError,
    },
    engine::{Advance, Device, Session, WarmUp, init, model::Network},
    protocol::{Fault, GroupRow, Outcome, Preparation},
    setup::{Injection, Key, Setup},
};
use pollster::block_on;

use super::{TOLERANCE, corpus, rows, session_of, setup, short_run, small_loops, with_faults};

/// The groups of a run and what ended it; none goes on for longer than a hundred groups here.
fn ended(setup: &Setup) -> (Vec<GroupRow>, Result<(), Fault>) {
    let mut session = Session::new(&Device::flex(), setup, corpus(setup)).unwrap();
    let mut rows = Vec::new();
    while rows.len() < 100 {
        match block_on(session.advance(false)) {
            Ok(Advance::Updated(row)) => rows.push(*row),
            Ok(Advance::Finished) => return (rows, Ok(())),
            Ok(Advance::Began(_) | Advance::Microbatch(_)) => {}
            Err(fault) => return (rows, Err(fault)),
        }
    }
    panic!("the run goes on");
}

#[test]
fn a_budget_that_the_first_lane_never_reaches_ends_the_run() {
    let lanes = "token_weighted+unscale_twice,token_weighted";
    let with = |unit| {
        setup(&[
            (Key::Model, "token_mlp"),
            (Key::LossScale, "dynamic"),
            (Key::Lanes, lanes),
            (Key::Budget, "60"),
            (Key::BudgetUnit, unit),
        ])
    };
    // Three groups an epoch.
    let (rows, end) = ended(&with("applied_updates"));
    assert_eq!((rows.len(), end), (4, Err(Fault::NothingApplies { groups: 4 })));
    let (rows, end) = ended(&with("examples"));
    assert_eq!((rows.len(), end), (5, Ok(())), "examples grow whatever becomes of them");
}

#[test]
fn a_scale_that_backs_off_is_another_try() {
    // Five skips in a row, in epochs of one group.
    let setup = setup(&[
        (Key::Model, "token_mlp"),
        (Key::Examples, "16"),
        (Key::LossScale, "dynamic"),
        (Key::InjectInf, "1:1:1,2:1:1,3:1:1,4:1:1,5:1:1"),
        (Key::Budget, "2"),
    ]);
    let (rows, end) = ended(&setup);
    assert_eq!((rows.len(), end), (7, Ok(())));
}

/// Fourteen examples of one letter each, whose first `empty` have nothing to learn.
fn first_empty(empty: u32) -> Vec<Example> {
    let example = |i: u32| Example {
        id: ExampleId(i),
        tokens: vec![1 + i % 3; 3],
        labels: vec![
            if i < empty {
                IGNORE_INDEX
            } else {
                i32::try_from(1 + i % 4).unwrap()
            };
            3
        ],
    };
    (0..14).map(example).collect()
}

/// Epochs of a group of six, another, and a partial one of two.
fn three_groups(optimizer: &str) -> Setup {
    let mut setup = small_loops(optimizer);
    setup.split = Split::new(1, 3, 2).unwrap();
    setup.shuffle = false;
    setup.budget.amount = 50;
    setup
}

/// The first group of each epoch has no token: what the epoch before left in `.grad` is the next thing that is stepped with.
#[test]
fn loops_that_enter_an_empty_group_equal_the_oracle() {
    use FaultId as F;
    let stepped = |id| vec![F::EmptyGroupStepped, id];
    let loops = [
        vec![F::EmptyGroupStepped],
        stepped(F::TailCarried),
        stepped(F::ZeroGradForgotten),
        stepped(F::ClipRunningGradient),
        stepped(F::StepEachMicrobatch),
        stepped(F::NeverSynced),
        stepped(F::ZeroGradBeforeBackward),
        stepped(F::SyncEachMicrobatch),
        stepped(F::SingleBackward),
        stepped(F::TailDropped),
        stepped(F::UnscaleTwice),
        vec![F::HandMaskedMean],
        vec![],
        vec![F::TailCarried],
        vec![F::TailDropped],
    ];
    for optimizer in ["sgd", "adamw"] {
        for injected in [2, 3] {
            let mut setup = three_groups(optimizer);
            setup.inject_inf = vec![Injection {
                attempt: injected,
                microbatch: 1,
                replica: 2,
            }];
            for loops in loops.chunks(4) {
                setup.lanes = loops.iter().map(|ids| with_faults(ids)).collect();
                let (device, examples) = (Device::flex(), first_empty(6));
                block_on(short_run::equals_oracle_with(&device, &setup, examples, TOLERANCE));
            }
        }
    }
}

/// What lingers in `.grad` was checked when it was computed, and is checked again when it is stepped with.
#[test]
fn an_infinity_that_lingers_is_not_stepped_with() {
    let mut setup = three_groups("sgd");
    setup.budget.amount = 20;
    setup.loss_scale = None;
    setup.inject_inf = vec![Injection {
        attempt: 2,
        microbatch: 1,
        replica: 2,
    }];
    setup.lanes = vec![with_faults(&[FaultId::EmptyGroupStepped, FaultId::ZeroGradForgotten])];
    let mut session = session_of(&setup, first_empty(6), |_| {});
    let outcomes: Vec<Outcome> = rows(&mut session).iter().map(|row| row.lanes[0].outcome).collect();
    assert_eq!(outcomes[0], Outcome::Applied, "zeros");
    assert!(
        outcomes[1..]
            .iter()
            .all(|&outcome| outcome == Outcome::NonFiniteGradient)
    );
    let replicas = block_on(session.replicas(0)).unwrap();
    assert!(replicas.iter().flat_map(|r| &r.parameters).all(|x| x.is_finite()));
}

#[test]
fn a_mask_by_hand_shows_at_one_microbatch_on_one_replica() {
    let mut setup = three_groups("sgd");
    setup.split = Split::new(7, 1, 1).unwrap();
    setup.budget.amount = 14;
    setup.loss_scale = None;
    setup.inject_inf.clear();
    setup.lanes = vec![with_faults(&[FaultId::HandMaskedMean]), with_faults(&[])];
    for whole in [true, false] {
        let mut session = session_of(&setup, first_empty(7), |_| {});
        if !whole {
            session.sum_on_device();
        }
        let rows = rows(&mut session);
        let [by_hand, ignored] = [0, 1].map(|lane| &rows[0].lanes[lane]);
        assert_eq!(
            (by_hand.outcome, ignored.outcome),
            (Outcome::NonFiniteGradient, Outcome::NoSupervisedToken)
        );
        assert!(by_hand.logged_loss.is_nan() && by_hand.gradient_norm.is_nan());
        assert_eq!((by_hand.counters.backwards, ignored.counters.backwards), (1, 0));
        assert!(ignored.apart.is_none());
        assert!(rows[1].lanes.iter().all(|lane| lane.outcome == Outcome::Applied));
    }
}

/// A microbatch that is cleared away leaves nothing of an infinity.
#[test]
fn a_cleared_microbatch_leaves_nothing() {
    let mut setup = three_groups("sgd");
    setup.lanes = vec![
        ConventionId::ZeroGradEachMicrobatch.into(),
        LaneRule {
            convention: ConventionId::ZeroGradEachMicrobatch,
            ..with_faults(&[FaultId::SingleBackward])
        },
        with_faults(&[FaultId::ZeroGradBeforeBackward]),
    ];
    let (device, examples) = (Device::flex(), first_empty(0));
    let rows = block_on(short_run::equals_oracle_with(&device, &setup, examples, TOLERANCE));
    // The infinity is in the first microbatch of attempt 3, which the partial group has no other of.
    assert!(
        rows[2]
            .lanes
            .iter()
            .all(|lane| lane.outcome == Outcome::NonFiniteGradient)
    );
    setup.inject_inf[0].attempt = 2;
    let rows = block_on(short_run::equals_oracle_with(
        &device,
        &setup,
        first_empty(0),
        TOLERANCE,
    ));
    assert!(rows[1].lanes.iter().all(|lane| lane.outcome == Outcome::Applied));
}

#[test]
fn a_scaler_without_any_gradient_refuses() {
    let mut setup = three_groups("sgd");
    setup.lanes = vec![with_faults(&[]), with_faults(&[FaultId::ZeroGradAfterBackward])];
    let refused = Outcome::Refused(ScalerError::NotChecked);
    let outcomes = |setup: &Setup| -> Vec<Outcome> {
        let rows = rows(&mut session_of(setup, first_empty(0), |_| {}));
        rows.iter().map(|row| row.lanes[1].outcome).collect()
    };
    assert!(outcomes(&setup).iter().all(|&outcome| outcome == refused));
    setup.loss_scale = None;
    assert_eq!(outcomes(&setup)[0], Outcome::Applied, "without a scaler nobody looks");
    // A backward of zeros leaves a gradient to look at.
    setup = three_groups("sgd");
    setup.lanes = vec![with_faults(&[]), with_faults(&[FaultId::ZeroGradBeforeBackward])];
    let last_empty: Vec<Example> = first_empty(14)
        .into_iter()
        .zip(first_empty(0))
        .map(|(empty, full)| if full.id.0 % 6 < 2 { full } else { empty })
        .collect();
    let rows = rows(&mut session_of(&setup, last_empty, |_| {}));
    assert_eq!(rows[0].lanes[1].outcome, Outcome::Applied);
}

#[test]
fn watching_an_empty_group_changes_no_number() {
    let mut setup = three_groups("adamw");
    setup.lanes = vec![with_faults(&[]), with_faults(&[FaultId::EmptyGroupStepped])];
    let unwatched = rows(&mut session_of(&setup, first_empty(6), |_| {}));
    let mut session = session_of(&setup, first_empty(6), |_| {});
    let (mut watched, mut cells) = (Vec::new(), Vec::new());
    loop {
        match block_on(session.advance(true)).unwrap() {
            Advance::Updated(row) => watched.push(*row),
            Advance::Microbatch(rows) => cells.extend(rows),
            Advance::Began(_) => {}
            Advance::Finished => break,
        }
    }
    assert_eq!(watched.len(), unwatched.len());
    for (watched, unwatched) in watched.iter().zip(&unwatched) {
        for (watched, unwatched) in watched.lanes.iter().zip(&unwatched.lanes) {
            assert_eq!(
                (watched.checksums, watched.counters),
                (unwatched.checksums, unwatched.counters)
            );
        }
    }
    let sums = |lane: usize| cells[1].lanes[lane].loss_sum;
    assert_eq!((sums(0), sums(1)), (None, Some(0.0)));
}

/// `scheduler.step(); optimizer.step()` with an infinity in the second attempt, as torch's LambdaLR gives it.
#[test]
fn a_scheduler_before_the_optimizer_is_not_held_on_a_skip() {
    let setup = setup(&[
        (Key::Model, "token_mlp"),
        (Key::Rate, "0.003"),
        (Key::Schedule, "linear_warmup_decay"),
        (Key::Warmup, "3"),
        (Key::ScheduleTotal, "10"),
        (Key::LossScale, "dynamic"),
        (Key::InjectInf, "2:1:1"),
        (Key::Lanes, "token_weighted+scheduler_before_optimizer"),
        (Key::Budget, "3"),
    ]);
    let rows = ended(&setup).0;
    let rates: Vec<f64> = rows.iter().map(|row| row.lanes[0].rate).collect();
    assert_eq!(rows[1].lanes[0].outcome, Outcome::NonFiniteGradient);
    let expected = [0.002, 0.003, 0.003, 0.003 * 6.0 / 7.0];
    assert_eq!(rates.len(), expected.len());
    for (rate, expected) in rates.iter().zip(expected) {
        assert!((rate - expected).abs() < 1e-12, "{rates:?}");
    }
}

/// The mean of two equal gradients is either of them; that of three is rounded twice.
#[test]
fn identical_replicas_train_as_one() {
    let with = |replicas: &str, sharding| {
        let setup = setup(&[
            (Key::Accumulation, "3"),
            (Key::Replicas, replicas),
            (Key::Sharding, sharding),
            (Key::Lanes, "token_weighted"),
            (Key::Optimizer, "sgd"),
            (Key::Rate, "0.1"),
            (Key::Budget, "1"),
        ]);
        let mut session = Session::new(&Device::flex(), &setup, corpus(&setup)).unwrap();
        session.keep_gradients();
        rows(&mut session);
        block_on(session.replicas(0)).unwrap().swap_remove(0).stepped
    };
    let (alone, two, three) = (with("1", "interleaved"), with("2", "identical"), with("3", "identical"));
    assert_eq!(alone, two);
    let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
    let error = relative_l2(&wide(&three), &wide(&alone));
    println!("three identical replicas against one: {error:.1e}");
    assert!(error > 0.0 && error < 2e-7, "{error:e}");
}

/// BatchNorm over one position has no variance, in an empty group as in any other that is gone through.
#[test]
fn an_empty_group_that_is_gone_through_needs_what_any_other_needs() {
    let mut setup = three_groups("sgd");
    setup.split = Split::new(1, 7, 1).unwrap();
    setup.batch_norm = Some(Momentum::Fixed(0.1));
    let examples: Vec<Example> = first_empty(7)
        .into_iter()
        .map(|mut example| {
            let length = if example.id.0 < 7 { 1 } else { 3 };
            example.tokens.truncate(length);
            example.labels.truncate(length);
            example
        })
        .collect();
    let mut first_group = |faults: &[FaultId]| {
        setup.lanes = vec![with_faults(faults)];
        let vocabulary = corpus(&setup).vocabulary;
        let network = Network::of(&setup, vocabulary.size());
        let start = init::parameters(&network, &setup.start, &vocabulary, setup.seed).unwrap();
        let mut session = Session::with_network(&Device::flex(), &setup, examples.clone(), network, start).unwrap();
        block_on(session.advance(false)).map(|_| ())
    };
    assert_eq!(first_group(&[]), Ok(()));
    assert_eq!(
        first_group(&[FaultId::EmptyGroupStepped]),
        Err(Fault::BatchNormNeedsTwo)
    );
}

/// Kernels are not all compiled before a group with tokens is through.
#[test]
fn a_warm_up_goes_on_after_an_empty_group() {
    let mut setup = three_groups("sgd");
    setup.lanes = vec![with_faults(&[FaultId::EmptyGroupStepped])];
    let mut own = corpus(&setup);
    own.examples = first_empty(6);
    let mut warm_up = WarmUp::new(&Device::flex(), &setup, &own).unwrap();
    let mut steps = Vec::new();
    while let Some(Preparation::CompilingKernels { done, total }) = block_on(warm_up.step()).unwrap() {
        steps.push((done, total));
    }
    // Six microbatches forward and backward; the second time, the update too.
    let expected: Vec<(u32, u32)> = (1..=12).chain(1..=13).map(|done| (done, 13)).collect();
    assert_eq!(steps, expected);
}
