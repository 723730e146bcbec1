//! 512 tokens at a mean loss of 2 and 1,536 at 4.

use microbatch_lab::batch::GroupLoss;

use super::support::golden::{self, list, number, numbers, whole};

#[test]
fn seed_examples() {
    for golden in golden::of_kind("seed_example") {
        let sources: Vec<(f64, u64)> = list(&golden.inputs()["microbatches"])
            .iter()
            .map(|source| {
                let tokens = u64::from(whole(&source["tokens"]));
                (number(&source["loss_mean"]) * tokens as f64, tokens)
            })
            .collect();
        let loss = GroupLoss::from_sums(sources.iter().copied());
        let outputs = golden.outputs();
        assert_eq!(
            sources.iter().map(|s| s.0).collect::<Vec<_>>(),
            numbers(&outputs["loss_sums"])
        );
        assert_eq!(loss.supervised, u64::from(whole(&outputs["total_tokens"])));
        assert_eq!(loss.token_weighted(), Some(number(&outputs["token_weighted"])));
        assert_eq!(loss.mean_of_means(), Some(number(&outputs["unweighted_mean_of_means"])));
    }
}
