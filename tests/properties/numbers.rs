//! Losses, schedules, topologies and splits.

use std::num::NonZeroU32;

use microbatch_lab::batch::{GroupLoss, Schedule, ScheduleShape, Topology, schedule::WarmupStart};
use proptest::{collection::vec, prelude::*};

use super::support::{self, setups::split};

proptest! {
    #![proptest_config(support::config(512))]

    #[test]
    fn a_group_loss_lies_between_its_microbatch_means(sums in vec((0.0..100.0f64, 0u64..50), 1..20)) {
        let sums: Vec<(f64, u64)> = sums.into_iter().map(|(mean, n)| (mean * n as f64, n)).collect();
        let loss = GroupLoss::from_sums(sums.iter().copied());
        let means: Vec<f64> = sums.iter().filter(|s| s.1 > 0).map(|s| s.0 / s.1 as f64).collect();
        prop_assert_eq!(loss.means, means.len() as u64);
        prop_assert_eq!(loss.supervised, sums.iter().map(|s| s.1).sum::<u64>());
        prop_assert_eq!(loss.token_weighted().is_some(), !means.is_empty());
        prop_assert_eq!(loss.mean_of_means().is_some(), !means.is_empty());
        let (low, high) = means.iter().fold((f64::MAX, f64::MIN), |(low, high), m| (low.min(*m), high.max(*m)));
        for number in loss.token_weighted().into_iter().chain(loss.mean_of_means()) {
            prop_assert!(number >= low - 1e-9 && number <= high + 1e-9);
        }
    }

    #[test]
    fn equal_counts_make_both_losses_one(means in vec(0.0..100.0f64, 1..20), n in 1u64..50) {
        let loss = GroupLoss::from_sums(means.iter().map(|mean| (mean * n as f64, n)));
        let (weighted, unweighted) = (loss.token_weighted().expect("tokens"), loss.mean_of_means().expect("tokens"));
        prop_assert!((weighted - unweighted).abs() <= 1e-12 * weighted.max(1.0));
    }

    #[test]
    fn a_schedule_rises_to_its_peak_and_falls_to_nothing(peak in 1e-6..1.0f64, warmup in 0u32..50, decay in 1u32..50) {
        let schedule = Schedule { shape: ScheduleShape::LinearWarmupDecay, peak, warmup, total: warmup + decay, start: WarmupStart::FirstStep };
        let rates: Vec<f64> = (0..=u64::from(warmup + decay)).map(|u| schedule.rate(u)).collect();
        let top = warmup as usize;
        prop_assert!(rates[..top].windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(rates[top..].windows(2).all(|pair| pair[0] > pair[1]));
        prop_assert_eq!(rates[top], peak);
        prop_assert!(rates.iter().all(|&rate| (0.0..=peak).contains(&rate)));
        prop_assert_eq!(*rates.last().expect("some"), 0.0);
        prop_assert_eq!(schedule.rate(u64::MAX), 0.0);
        let constant = Schedule { shape: ScheduleShape::Constant, ..schedule };
        prop_assert_eq!(constant.rate(u64::from(warmup)), peak);
    }

    #[test]
    fn replicas_times_model_parallel_is_the_world(world in 1u32..2000, t in 1u32..9, p in 1u32..9, c in 1u32..9) {
        let n = |x| NonZeroU32::new(x).expect("no zero");
        let model_parallel = t * p * c;
        match (Topology { world: n(world), tensor: n(t), pipeline: n(p), context: n(c) }).replicas() {
            Ok(d) => prop_assert_eq!(d.get() * model_parallel, world),
            Err(refused) => {
                prop_assert!(world % model_parallel != 0);
                prop_assert_eq!((refused.world, refused.model_parallel), (world, u64::from(model_parallel)));
            }
        }
    }

    #[test]
    fn a_split_multiplies(split in split()) {
        let (m, a, d) = (split.microbatch.get(), split.accumulation.get(), split.replicas.get());
        prop_assert_eq!(split.effective_batch(), u64::from(m * a * d));
        prop_assert_eq!(split.per_replica(), u64::from(m * a));
        prop_assert_eq!(split.microbatches(), u64::from(a * d));
    }
}

#[test]
fn a_topology_as_large_as_it_gets_does_not_overflow() {
    let most = NonZeroU32::MAX;
    let topology = Topology {
        world: most,
        tensor: most,
        pipeline: most,
        context: most,
    };
    assert!(topology.replicas().is_err());
}
