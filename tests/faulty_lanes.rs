//! Loop faults where they are looked for: in the check before a campaign, and in the bytes of a run.
#![cfg(all(not(target_arch = "wasm32"), feature = "engine"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken premise must fail its test at once"
)]

#[path = "support/checks.rs"]
mod checks;
#[path = "support/measured.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod measured;
#[path = "support/reference.rs"]
#[allow(dead_code, reason = "other tests use it")]
mod reference;
#[path = "support/short_run.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod short_run;

use checks::{failed, names, report, setup};
use measured::alone;
use microbatch_lab::{
    batch::{
        ConventionId, FaultId, Faults, LaneRule,
        fault::{Needs, TABLE},
    },
    engine::{Advance, CountingAllocator, Device, Session},
    protocol::{CheckKind, Fault},
    setup::{Key, Setup},
};
use pollster::block_on;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn right_lanes_on_two_replicas_pass_every_check() {
    alone(|| {
        let scheduled = [
            (Key::LossScale, "dynamic"),
            (Key::Schedule, "cosine_warmup_decay"),
            (Key::Warmup, "0"),
        ];
        for changes in [
            &[][..],
            &[(Key::ClipNorm, "0.05")],
            &[(Key::LossScale, "dynamic")],
            &scheduled,
        ] {
            let lanes = (
                Key::Lanes,
                "token_weighted,full_batch,token_weighted+last_forward_outside_no_sync",
            );
            let report = report(&setup(&[&[lanes], changes].concat()));
            assert!(report.passed(), "{changes:?}: {report:#?}");
            let all_reduces = report.checks.iter().filter(|check| check.kind == CheckKind::AllReduces);
            assert_eq!(all_reduces.count(), 2, "one process in one pass exchanges nothing");
        }
    });
}

/// Each fault fails at least the checks that were made for it, and passes those that it does not touch.
#[test]
fn faults_fail_the_checks_that_are_for_them() {
    use CheckKind::{
        AllReduces, AppliedUpdates, Denominator, Examples, FiniteGradients, FullBatchAgreement, GroupBoundary,
        OracleAgreement, ParametersStandStill, ReplicasInStep, SupervisedTokens,
    };
    alone(|| {
        let counts = [Denominator, Examples, SupervisedTokens];
        let table: [(&str, &[CheckKind], &[CheckKind]); 8] = [
            (
                "never_synced",
                &[ReplicasInStep, AllReduces, FullBatchAgreement],
                &[AppliedUpdates, ParametersStandStill],
            ),
            (
                "forward_inside_no_sync",
                &[ReplicasInStep, AllReduces],
                &[AppliedUpdates],
            ),
            (
                "sync_first_microbatch",
                &[ReplicasInStep, FullBatchAgreement],
                &[AllReduces],
            ),
            (
                "sync_each_microbatch",
                &[AllReduces],
                &[FullBatchAgreement, ReplicasInStep],
            ),
            (
                "zero_grad_before_backward",
                &[FullBatchAgreement, OracleAgreement],
                &[AppliedUpdates, AllReduces],
            ),
            ("zero_grad_after_backward", &[FullBatchAgreement], &[FiniteGradients]),
            (
                "step_each_microbatch",
                &[ParametersStandStill, AppliedUpdates, GroupBoundary],
                &[FiniteGradients],
            ),
            (
                "single_backward",
                &[],
                &[FullBatchAgreement, ReplicasInStep, AllReduces],
            ),
        ];
        for (fault, fails, passes) in table {
            let setup = setup(&[(Key::Lanes, &format!("token_weighted,token_weighted+{fault}"))]);
            let report = report(&setup);
            assert_eq!(
                failed(&report, Some(0)),
                names(&[]),
                "{fault}: the right lane beside it"
            );
            let failed = failed(&report, Some(1));
            assert!(failed.is_superset(&names(fails)), "{fault} failed {failed:?}");
            assert!(
                failed.is_disjoint(&names(&[passes, &counts].concat())),
                "{fault} failed {failed:?}"
            );
            assert_eq!(report.passed(), fails.is_empty(), "{fault}");
        }
    });
}

#[test]
fn faults_of_clip_and_scale_fail_too() {
    alone(|| {
        let clip = (Key::ClipNorm, "0.05");
        let scale = (Key::LossScale, "dynamic");
        for (fault, changes, fails) in [
            ("clip_each_contribution", &[clip][..], CheckKind::FullBatchAgreement),
            ("clip_running_gradient", &[clip], CheckKind::FullBatchAgreement),
            ("clip_before_unscale", &[clip, scale], CheckKind::FullBatchAgreement),
            ("unscaled_after_first", &[scale], CheckKind::FullBatchAgreement),
            ("unscale_twice", &[scale], CheckKind::AppliedUpdates),
        ] {
            let lane = format!("token_weighted+{fault}");
            let report = report(&setup(&[&[(Key::Lanes, lane.as_str())], changes].concat()));
            assert!(
                failed(&report, Some(0)).is_superset(&names(&[fails])),
                "{fault}: {report:#?}"
            );
        }
    });
}

/// What one full group does not show, and nothing else of it.
#[test]
fn faults_of_later_groups_and_of_the_log_fail_the_check_that_is_for_them() {
    alone(|| {
        for (fault, fails) in [
            ("log_divided_twice", CheckKind::LoggedLoss),
            ("log_last_times_a", CheckKind::LoggedLoss),
            ("zero_grad_forgotten", CheckKind::NextGroup),
            ("tail_dropped", CheckKind::PartialGroup),
            ("tail_carried", CheckKind::PartialGroup),
        ] {
            for convention in ["token_weighted", "example_mean"] {
                let lanes = format!("{convention},{convention}+{fault}");
                let report = report(&setup(&[(Key::Lanes, lanes.as_str())]));
                let mut expected = failed(&report, Some(0));
                assert_eq!(expected.is_empty(), convention == "token_weighted", "{expected:?}");
                expected.extend(names(&[fails]));
                assert_eq!(failed(&report, Some(1)), expected, "{convention}+{fault}");
            }
        }
    });
}

/// Only the rate is wrong, and only where it is scheduled.
#[test]
fn a_scheduler_that_goes_wrong_fails_the_rate() {
    alone(|| {
        let scheduled = [
            (Key::Model, "token_mlp"),
            (Key::Schedule, "linear_warmup_decay"),
            (Key::Warmup, "4"),
            (Key::ScheduleTotal, "40"),
        ];
        for fault in [
            "scheduler_each_microbatch",
            "scheduler_each_attempt",
            "scheduler_before_optimizer",
            "horizon_in_microbatches",
        ] {
            for (changes, fails) in [(&scheduled[..], &[CheckKind::LearningRate][..]), (&scheduled[..1], &[])] {
                let lanes = format!("token_weighted,token_weighted+{fault}");
                let report = report(&setup(&[changes, &[(Key::Lanes, lanes.as_str())]].concat()));
                assert_eq!(
                    failed(&report, Some(0)),
                    names(&[]),
                    "{fault}: the right lane beside it"
                );
                assert_eq!(failed(&report, Some(1)), names(fails), "{fault}");
            }
        }
    });
}

/// Every fault of the table fails some check where what it needs is set, but for those that the help, the README and the page name.
#[test]
fn every_fault_fails_but_those_that_are_named() {
    const UNSEEN: [FaultId; 5] = [
        FaultId::GraphRetained,
        FaultId::SingleBackward,
        FaultId::LastForwardOutsideNoSync,
        FaultId::HandMaskedMean,
        FaultId::EmptyGroupStepped,
    ];
    alone(|| {
        for fault in TABLE {
            let lane = LaneRule {
                convention: if fault.needs == Needs::PartMean {
                    ConventionId::MeanOfMeans
                } else {
                    ConventionId::TokenWeighted
                },
                faults: Faults::NONE.and(fault.id).unwrap(),
            };
            // A scale that is not needed hides what is left in `.grad`: it is small beside what is scaled.
            let clip = (Key::ClipNorm, "0.05");
            let scale = (Key::LossScale, "dynamic");
            let needed = match fault.needs {
                Needs::Nothing | Needs::PartMean => &[][..],
                Needs::Clip => &[clip],
                Needs::LossScale => &[scale],
                Needs::ClipAndLossScale => &[clip, scale],
            };
            let schedule = [
                (Key::Model, "token_mlp"),
                (Key::Schedule, "linear_warmup_decay"),
                (Key::Warmup, "4"),
                (Key::ScheduleTotal, "40"),
            ];
            let setup = Setup {
                lanes: vec![lane],
                ..setup(&[&schedule, needed].concat())
            };
            let report = report(&setup);
            if fault.needs == Needs::PartMean {
                // Its convention fails by itself; the fault adds nothing to that.
                let plain = Setup {
                    lanes: vec![ConventionId::MeanOfMeans.into()],
                    ..setup
                };
                assert_eq!(failed(&report, Some(0)), failed(&self::report(&plain), Some(0)));
                continue;
            }
            assert_eq!(
                report.passed(),
                UNSEEN.contains(&fault.id),
                "{:?}: {report:#?}",
                fault.id
            );
        }
    });
}

#[test]
fn an_injected_infinity_fails_the_finite_check() {
    alone(|| {
        let report = report(&setup(&[(Key::InjectInf, "1:2:1"), (Key::Lanes, "token_weighted")]));
        let failed = failed(&report, Some(0));
        let expected = [
            CheckKind::FiniteGradients,
            CheckKind::AppliedUpdates,
            CheckKind::FullBatchAgreement,
        ];
        assert!(failed.is_superset(&names(&expected)), "{failed:?}");
    });
}

#[test]
fn an_infinity_of_a_later_update_fails_no_right_lane() {
    alone(|| {
        let later = [
            (Key::InjectInf, "2:1:1, 3:1:1"),
            (Key::LossScale, "dynamic"),
            (Key::Lanes, "token_weighted"),
        ];
        let report = report(&setup(&later));
        assert!(report.passed(), "{report:#?}");
    });
}

/// Bytes in use after each group, and what ended the run.
fn bytes_by_group(setup: &Setup) -> (Vec<u64>, Option<Fault>) {
    let mut session = Session::new(&Device::flex(), setup, short_run::corpus(setup)).unwrap();
    let mut in_use = Vec::new();
    loop {
        match block_on(session.advance(false)) {
            Ok(Advance::Updated(row)) => in_use.push(row.memory.as_ref().unwrap().in_use),
            Ok(Advance::Finished) => return (in_use, None),
            Ok(_) => {}
            Err(fault) => return (in_use, Some(fault)),
        }
    }
}

#[test]
fn kept_graphs_grow_with_every_microbatch_until_the_run_is_stopped() {
    alone(|| {
        let run = |lane, limit| {
            let setup = Setup {
                memory_limit: limit,
                ..short_run::setup(&[(Key::Lanes, lane), (Key::Budget, "30")])
            };
            bytes_by_group(&setup)
        };
        let (freed, ended) = run("token_weighted", 1 << 30);
        assert_eq!(ended, None);
        let (kept, ended) = run("token_weighted+graph_retained", 1 << 30);
        assert_eq!(ended, None);
        for pair in kept[1..].windows(2) {
            assert!(pair[1] > pair[0], "each group adds its graphs: {kept:?}");
        }
        let grown = |bytes: &[u64]| bytes[bytes.len() - 1].saturating_sub(bytes[1]);
        println!(
            "28 groups: {} bytes with graphs freed, {} with graphs kept",
            grown(&freed),
            grown(&kept)
        );
        assert!(grown(&kept) > 100 * grown(&freed).max(1024), "{freed:?} {kept:?}");
        // Stopped half way: the rows so far stay, and the right lane passes the same limit by.
        let limit = u64::midpoint(kept[0], kept[kept.len() - 1]);
        let (rows, ended) = run("token_weighted+graph_retained", limit);
        assert!(!rows.is_empty() && rows.len() < kept.len(), "{} rows", rows.len());
        match ended {
            Some(Fault::MemoryLimit {
                in_use,
                limit: told,
                group,
            }) => {
                assert!(
                    in_use > limit && told == limit && group == rows.len() as u64,
                    "group {group}"
                );
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(run("token_weighted", limit).1, None);
    });
}
