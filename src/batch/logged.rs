//! What a loop prints as the loss of a group.

use super::{
    convention::Convention,
    empty_mean::EmptyMean,
    facts::{GroupFacts, MicrobatchFacts},
    recipe::{Logged, Recipe},
};

/// The group's loss as the loop of `recipe` logs it, averaged over replicas. `sums` are the microbatches' loss sums in the order of
/// `group.microbatches`, weighted by the convention's [`super::TokenWeights`]. NaN where a mean over no token enters.
///
/// With L_k the back-propagated loss of microbatch k and A as set: `1/D sum L_k`; that `/ A`; or `A / D` times the sum of L_k over each
/// replica's last microbatch.
pub fn logged_loss(convention: &Convention, recipe: &Recipe, group: &GroupFacts, sums: &[f64]) -> f64 {
    let trained = |(k, &sum): (&MicrobatchFacts, &f64)| {
        if convention.is_mean_of_none(group, k) && recipe.empty_mean == EmptyMean::SumOverAtLeastOne {
            return 0.0;
        }
        convention.backpropagated_loss(group, k, sum)
    };
    let all = group.microbatches.iter().zip(sums);
    let a = f64::from(group.nominal_accumulation);
    let total: f64 = match recipe.logged {
        Logged::Trained => all.map(trained).sum(),
        Logged::DividedTwice => all.map(trained).sum::<f64>() / a,
        Logged::LastTimesA => {
            all.filter(|(k, _)| group.is_last_on_replica(k))
                .map(trained)
                .sum::<f64>()
                * a
        }
    };
    total / f64::from(group.replicas)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::ConventionId;

    fn group(supervised: [u64; 4]) -> GroupFacts {
        let k = |(cell, supervised): (u32, u64)| MicrobatchFacts {
            replica: cell % 2,
            index: cell / 2,
            examples: 1,
            scored_examples: 1,
            supervised,
            positions: 8,
            unpadded: 8,
        };
        GroupFacts {
            replicas: 2,
            nominal_accumulation: 2,
            microbatches: (0..).zip(supervised).map(k).collect(),
        }
    }

    fn log(id: ConventionId, logged: Logged, empty_mean: EmptyMean, supervised: [u64; 4], sums: [f64; 4]) -> f64 {
        let recipe = Recipe {
            empty_mean,
            logged,
            ..Recipe::default()
        };
        logged_loss(Convention::of(id), &recipe, &group(supervised), &sums)
    }

    #[test]
    fn each_way_of_logging() {
        // Means 1, 2, 3, 4; each divided by A = 2.
        let means = |logged| {
            log(
                ConventionId::MeanOfMeans,
                logged,
                EmptyMean::Reduction,
                [1, 2, 4, 8],
                [1.0, 4.0, 12.0, 32.0],
            )
        };
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} {b}");
        close(means(Logged::Trained), 2.5);
        close(means(Logged::DividedTwice), 1.25);
        close(means(Logged::LastTimesA), 3.5);
        let weighted = |logged| {
            log(
                ConventionId::TokenWeighted,
                logged,
                EmptyMean::Reduction,
                [1, 2, 4, 8],
                [1.0, 4.0, 12.0, 32.0],
            )
        };
        close(weighted(Logged::Trained), 49.0 / 15.0);
    }

    #[test]
    fn a_mean_over_no_token_is_no_number_unless_it_is_written_so() {
        let log = |id, empty| log(id, Logged::Trained, empty, [0, 2, 4, 8], [0.0, 4.0, 12.0, 32.0]);
        for empty in [EmptyMean::Reduction, EmptyMean::SumOverCount, EmptyMean::HandMasked] {
            assert!(log(ConventionId::MeanOfMeans, empty).is_nan());
            assert!((log(ConventionId::Sum, empty) - 24.0).abs() < 1e-15);
        }
        let written = log(ConventionId::MeanOfMeans, EmptyMean::SumOverAtLeastOne);
        assert!((written - 2.25).abs() < 1e-15, "{written}");
    }
}
