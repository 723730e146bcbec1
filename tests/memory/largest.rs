//! The largest m that fits into a number of bytes: found by training, and trained with.

use std::cell::RefCell;

use microbatch_lab::{
    batch::fit::Kept,
    data::DataError,
    engine::{Device, fit},
    protocol::{Fault, FitReport, FitTry, FittingSplit},
    setup::{Key, Setup},
};
use pollster::block_on;

use super::{
    MIB, SLACK,
    measured::{alone, groups},
    session,
    short_run::{corpus, setup},
    warm,
};

fn fitted(setup: &Setup, limit: u64) -> FitReport {
    let told = RefCell::new(Vec::new());
    let go_on = async |tried| {
        told.borrow_mut().extend::<Option<FitTry>>(tried);
        true
    };
    let report = block_on(fit(&Device::flex(), setup, &corpus(setup), limit, &go_on)).unwrap();
    assert_eq!(told.into_inner(), report.tries, "each try is told as it is made");
    report
}

#[test]
fn the_largest_m_really_fits_and_the_next_does_not() {
    alone(|| {
        warm();
        let setup = setup(&[
            (Key::Examples, "64"),
            (Key::Microbatch, "2"),
            (Key::Accumulation, "16"),
            (Key::Lengths, "uniform"),
            (Key::LengthMin, "4"),
            (Key::LengthMax, "32"),
            (Key::Lanes, "token_weighted"),
        ]);
        let all = fitted(&setup, u64::MAX);
        assert_eq!(
            all.split,
            Some(FittingSplit {
                microbatch: 32,
                accumulation: 1,
                replicas: 2,
                remainder: 0
            })
        );
        let peak_of = |m: u32| all.tries.iter().find(|tried| tried.microbatch == m).unwrap().peak;
        // Somewhere between two sizes that were measured.
        let limit = u64::midpoint(peak_of(8), peak_of(16));
        let report = fitted(&setup, limit);
        let split = report.split.unwrap();
        println!("limit {limit}: {:?}, {split:?}", report.tries);
        assert!((8..16).contains(&split.microbatch), "{report:?}");
        let next = report
            .tries
            .iter()
            .find(|tried| tried.microbatch == split.microbatch + 1)
            .unwrap();
        assert!(!next.fits && next.peak > limit, "{next:?}");
        let kept = Kept::of(report.target, split.microbatch, 2).unwrap();
        assert_eq!(
            (split.accumulation, split.remainder),
            (kept.accumulation, kept.remainder)
        );
        // A run with that split stays within the limit over a whole epoch, shuffled as it is.
        let run = Setup {
            split: microbatch_lab::batch::Split::new(split.microbatch, split.accumulation, 2).unwrap(),
            memory_limit: limit + SLACK,
            ..setup.clone()
        };
        let mut session = session(&run);
        let count = session.facts().groups_per_epoch;
        assert!(
            groups(&mut session, count)
                .iter()
                .all(|row| row.memory.as_ref().unwrap().peak <= limit + SLACK)
        );
    });
}

/// What the longest lengths, the first group and the split alone do not show.
const LARGER: &[(Key, &str)] = &[
    (Key::Model, "token_mlp"),
    (Key::Embed, "64"),
    (Key::Hidden, "256"),
    (Key::Examples, "128"),
    (Key::Microbatch, "2"),
    (Key::Accumulation, "16"),
    (Key::Lengths, "uniform"),
    (Key::LengthMin, "8"),
    (Key::LengthMax, "64"),
    (Key::Budget, "8"),
];

/// Most in use over a run with the split that was found, shuffled as it is, on top of what the test itself has.
fn trained(setup: &Setup, split: FittingSplit) -> u64 {
    let run = Setup {
        split: microbatch_lab::batch::Split::new(split.microbatch, split.accumulation, split.replicas).unwrap(),
        ..setup.clone()
    };
    let mut session = session(&run);
    let rows = groups(&mut session, 8);
    rows.iter().map(|row| row.memory.as_ref().unwrap().peak).max().unwrap()
}

#[test]
fn what_fits_can_be_trained_with_whatever_the_lanes_hold_at_once() {
    alone(|| {
        warm();
        for (lanes, optimizer, limits) in [
            ("token_weighted", "sgd", &[5, 8][..]),
            ("token_weighted,full_batch", "sgd", &[5, 24]),
            ("token_weighted+single_backward", "adamw", &[5, 11]),
            ("token_weighted+zero_grad_forgotten,mean_of_means", "adamw", &[8]),
        ] {
            let setup = setup(&[LARGER, &[(Key::Lanes, lanes), (Key::Optimizer, optimizer)]].concat());
            for limit in limits.iter().map(|mib| mib * MIB) {
                let report = fitted(&setup, limit);
                let peak = report.split.map(|split| trained(&setup, split));
                println!("{lanes}, {limit}: {:?}, trained with at most {peak:?}", report.split);
                assert!(peak.is_none_or(|peak| peak <= limit + SLACK), "{report:?}");
                assert_eq!(
                    peak.is_none(),
                    limit == 5 * MIB && lanes != "token_weighted",
                    "{report:?}"
                );
            }
        }
    });
}

/// A smaller m makes room, or at least takes none: in one pass over the group it is the same group whatever m.
#[test]
fn a_larger_m_never_takes_less() {
    alone(|| {
        warm();
        // But for the little that is kept of each microbatch.
        for lanes in ["token_weighted,full_batch", "token_weighted"] {
            let setup = setup(&[LARGER, &[(Key::Lanes, lanes), (Key::Examples, "64")]].concat());
            let report = fitted(&setup, u64::MAX);
            let whole = report.split.unwrap();
            assert_eq!((whole.microbatch, whole.accumulation), (32, 1));
            let mut peaks: Vec<u64> = report.tries.iter().map(|tried| tried.peak).collect();
            println!("{lanes}: {:?}", report.tries);
            // The last try comes after a failure, or is the largest of all: with A = 1 nothing is accumulated beside it, so it may take less.
            peaks.pop();
            assert!(
                peaks.len() > 4 && peaks.windows(2).all(|pair| pair[0] <= pair[1] + SLACK),
                "{peaks:?}"
            );
        }
    });
}

#[test]
fn a_lane_that_keeps_its_graphs_fits_nowhere_for_good() {
    alone(|| {
        let setup = setup(&[(Key::Lanes, "token_weighted,token_weighted+graph_retained")]);
        let go_on = async |_| panic!("nothing is tried");
        let report = block_on(fit(&Device::flex(), &setup, &corpus(&setup), MIB, &go_on));
        assert_eq!(report, Err(Fault::GrowsForEver));
    });
}

/// Long examples without a score pad those that have one, and none without a score is a try of anything.
#[test]
fn what_is_not_scored_takes_room_and_proves_nothing() {
    alone(|| {
        warm();
        let setup = setup(&[LARGER, &[(Key::Lanes, "token_weighted")]].concat());
        let mut unscored = corpus(&setup);
        for example in &mut unscored.examples {
            if example.length() > 32 {
                example.labels.fill(microbatch_lab::batch::IGNORE_INDEX);
            }
        }
        let go_on = async |_| true;
        let found = |corpus: &_| block_on(fit(&Device::flex(), &setup, corpus, 6 * MIB, &go_on)).unwrap();
        let (all, padded) = (found(&corpus(&setup)), found(&unscored));
        assert!(
            padded.split.unwrap().microbatch.abs_diff(all.split.unwrap().microbatch) <= 1,
            "{all:?} {padded:?}"
        );
        for example in &mut unscored.examples {
            example.labels.fill(microbatch_lab::batch::IGNORE_INDEX);
        }
        let nothing = block_on(fit(&Device::flex(), &setup, &unscored, 6 * MIB, &go_on));
        assert_eq!(nothing, Err(Fault::Data(DataError::NothingSupervised)));
    });
}

#[test]
fn a_fit_ends_between_two_microbatches_where_it_is_told_to() {
    alone(|| {
        let setup = setup(&[LARGER, &[(Key::Lanes, "token_weighted,full_batch")]].concat());
        let asked = RefCell::new(0);
        let go_on = async |tried: Option<FitTry>| {
            *asked.borrow_mut() += 1;
            assert_eq!(tried, None, "the first try is not done");
            *asked.borrow() < 5
        };
        let report = block_on(fit(&Device::flex(), &setup, &corpus(&setup), u64::MAX, &go_on));
        assert_eq!((report, asked.into_inner()), (Err(Fault::Stopped), 5));
    });
}

#[test]
fn where_nothing_fits_one_try_says_so() {
    alone(|| {
        let setup = setup(&[(Key::Model, "token_mlp")]);
        let report = fitted(&setup, MIB / 16);
        assert_eq!((report.split, report.tries.len()), (None, 1));
        assert!(report.tries[0].peak > MIB / 16 && !report.tries[0].fits);
    });
}
