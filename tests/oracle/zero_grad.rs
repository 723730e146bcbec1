//! Where `zero_grad` stands: rightly once a group, or before each backward, after each, or nowhere.

use microbatch_lab::batch::{
    ConventionId, FaultId,
    oracle::{Accumulation, Grads, Optimizer, Sgd, norm},
};

use super::{
    assert_close, assert_same, recipe,
    support::golden::{self, list, number},
    train::{groups, weighted},
};

const MODES: [(&str, &[FaultId]); 4] = [
    ("correct", &[]),
    ("before_each_backward", &[FaultId::ZeroGradBeforeBackward]),
    ("after_each_backward", &[FaultId::ZeroGradAfterBackward]),
    ("forgotten", &[FaultId::ZeroGradForgotten]),
];

#[test]
fn modes() {
    for golden in golden::of_kind("zero_grad") {
        let (network, groups) = (golden.network(), groups(&golden));
        assert_eq!(
            golden.outputs().as_object().map(serde_json::Map::len),
            Some(MODES.len()),
            "{}",
            golden.name
        );
        for (name, faults) in MODES {
            let how = Accumulation {
                zero_grad: recipe(faults).zero_grad,
                ..Accumulation::default()
            };
            let mut grads = Grads::zeros(1, network.parameters.len());
            let mut parameters = network.parameters.clone();
            let mut optimizer = Optimizer::Sgd(Sgd::new(0.0));
            let updates = list(&golden.outputs()[name]);
            assert_eq!(updates.len(), groups.len());
            for (group, expected) in groups.iter().zip(updates) {
                let what = format!("{} {name}", golden.name);
                grads.accumulate(
                    how,
                    &group.facts,
                    &weighted(&network, &parameters, group, ConventionId::TokenWeighted),
                );
                assert_close(norm(&grads.replicas[0]), number(&expected["grad_norm"]), &what);
                assert_same(&grads.replicas[0], &network.flat(&expected["grad"]), &what);
                optimizer.apply(&mut parameters, &grads.replicas[0], number(&golden.inputs()["sgd_lr"]));
                grads.after_update(how);
                assert_same(&parameters, &network.flat(&expected["params"]), &what);
            }
        }
    }
}
