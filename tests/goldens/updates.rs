//! Updates one after another: where `.grad` is cleared, how the scheduler is stepped, what optax makes of the same groups.

use microbatch_lab::{
    batch::{
        ConventionId, ExampleId, FaultId, PaddedBatch, Recipe, Schedule, ScheduleShape,
        oracle::{MlpShape, norm},
        recipe::{EmptyGroup, OptimizerStep},
        schedule::WarmupStart,
    },
    protocol::Outcome,
};

use super::{
    TOLERANCE,
    on_device::{Data, Loop, assert_number, assert_set},
    on_device_kinds::{groups, with_optimizer},
    run,
    support::golden::{self, Network, list, microbatches, number, numbers, whole},
};

#[test]
fn zero_grad() {
    for golden in golden::of_kind("zero_grad") {
        let (network, data) = (golden.network(), groups(&golden));
        for (name, updates) in golden.outputs().as_object().expect("modes") {
            let faults: &[FaultId] = match name.as_str() {
                "correct" => &[],
                "before_each_backward" => &[FaultId::ZeroGradBeforeBackward],
                "after_each_backward" => &[FaultId::ZeroGradAfterBackward],
                "forgotten" => &[FaultId::ZeroGradForgotten],
                unknown => panic!("unknown mode {unknown}"),
            };
            let updates = list(updates);
            let how = Loop::new(ConventionId::TokenWeighted, faults, number(&golden.inputs()["sgd_lr"]));
            for (ours, expected) in run(&network, &data, &how, updates.len()).iter().zip(updates) {
                let what = format!("{} {name} {}", golden.name, ours.group.plan.number);
                assert_eq!(ours.row().outcome, Outcome::Applied, "{what}");
                assert_number(
                    ours.row().gradient_norm,
                    number(&expected["grad_norm"]),
                    TOLERANCE,
                    &what,
                );
                assert_set(&ours.gradients[0], &network.flat(&expected["grad"]), TOLERANCE, &what);
                assert_set(
                    &ours.parameters[0],
                    &network.flat(&expected["params"]),
                    TOLERANCE,
                    &what,
                );
            }
        }
    }
}

/// The second group has no token. The lab skips it; a loop that steps with a zero gradient moves by momentum and decay.
#[test]
fn a_group_without_tokens() {
    for golden in golden::of_kind("optimizer") {
        let Some(expected) = golden.json["outputs"].get("empty_group_at_update_2_f64") else {
            continue;
        };
        let network = golden.network();
        let mut all: Vec<_> = list(&golden.inputs()["groups"]).iter().map(microbatches).collect();
        all[1].iter_mut().for_each(|batch| batch.labels.fill(-100));
        let data = Data::of_groups(&all);
        for (name, ways) in expected.as_object().expect("optimizers") {
            for (way, expected) in ways.as_object().expect("ways") {
                let mut how = with_optimizer(ConventionId::TokenWeighted, &golden.inputs()["optimizers"][name]);
                let outcome = match way.as_str() {
                    "skip_step" | "step_with_none_grad" => Outcome::NoSupervisedToken,
                    "step_with_zero_grad" => {
                        how.recipe = Some(Recipe {
                            empty_group: EmptyGroup::SteppedWithZeros,
                            ..Recipe::default()
                        });
                        Outcome::Applied
                    }
                    unknown => panic!("unknown way {unknown}"),
                };
                let what = format!("{} {name} {way}", golden.name);
                let ended = run(&network, &data, &how, 3);
                let outcomes: Vec<_> = ended.iter().map(|ended| ended.row().outcome).collect();
                assert_eq!(outcomes, [Outcome::Applied, outcome, Outcome::Applied], "{what}");
                let after = |key: &str| network.flat(&expected[key]);
                let [first, second, third] = [0, 1, 2].map(|i| &ended[i].parameters[0]);
                assert_set(second, &after("params_after_update_2"), TOLERANCE, &what);
                assert_set(third, &after("params_after_update_3"), TOLERANCE, &what);
                let moved: Vec<f64> = second.iter().zip(first).map(|(to, from)| to - from).collect();
                assert_number(
                    norm(&moved),
                    number(&expected["movement_norm_at_update_2"]),
                    TOLERANCE,
                    &what,
                );
            }
        }
    }
}

#[test]
fn ways_to_step_the_scheduler() {
    for golden in golden::of_kind("lr_schedule") {
        let inputs = golden.inputs();
        let accumulation = whole(&inputs["A"]) as usize;
        let (network, data) = smallest(accumulation);
        for (way, expected) in golden.outputs().as_object().expect("ways") {
            use FaultId::{HorizonInMicrobatches, SchedulerBeforeOptimizer, SchedulerEachMicrobatch};
            use WarmupStart::{FirstStep, Zero};
            let (start, faults): (_, &[FaultId]) = match way.as_str() {
                "per_update" => (Zero, &[]),
                "per_microbatch" => (Zero, &[SchedulerEachMicrobatch]),
                "per_update_lambda_plus_one" => (FirstStep, &[]),
                "per_microbatch_lambda_plus_one" => (FirstStep, &[SchedulerEachMicrobatch]),
                "scheduler_before_optimizer_per_update" => (Zero, &[SchedulerBeforeOptimizer]),
                "horizon_in_microbatches_stepped_per_update" => (Zero, &[HorizonInMicrobatches]),
                "horizon_in_microbatches_stepped_per_microbatch" => {
                    (Zero, &[HorizonInMicrobatches, SchedulerEachMicrobatch])
                }
                unknown => panic!("unknown way {unknown}"),
            };
            let mut how = Loop::new(ConventionId::TokenWeighted, faults, 0.0);
            how.schedule = Schedule {
                shape: ScheduleShape::LinearWarmupDecay,
                peak: number(&inputs["base_lr"]),
                warmup: whole(&inputs["warmup_updates"]),
                total: whole(&inputs["total_updates"]),
                start,
            };
            let ended = run(&network, &data, &how, whole(&inputs["updates_run"]) as usize);
            let rates: Vec<f64> = ended.iter().map(|ended| ended.row().rate).collect();
            assert_eq!(rates, numbers(&expected["lr_at_update"]), "{} {way}", golden.name);
        }
    }
}

/// One group of A microbatches of one example. What is learnt does not matter here, only A.
fn smallest(accumulation: usize) -> (Network, Data) {
    let shape = MlpShape {
        vocab: 3,
        embed: 1,
        hidden: 1,
    };
    let network = Network {
        shape,
        order: Vec::new(),
        parameters: (0..shape.parameters()).map(|i| i as f64 / 8.0).collect(),
    };
    let batch = PaddedBatch {
        ids: vec![ExampleId(0)],
        width: 2,
        tokens: vec![1, 2],
        labels: vec![2, 1],
    };
    (network, Data::of_groups(&[vec![batch; accumulation]]))
}

#[test]
fn optax() {
    for golden in golden::of_kind("optax_multisteps") {
        let (network, data) = (golden.network(), groups(&golden));
        for (name, ways) in golden.outputs().as_object().expect("optimizers") {
            let settings = &golden.inputs()["optimizers"][name];
            for (way, expected) in ways.as_object().expect("ways") {
                let what = format!("{} {name} {way}", golden.name);
                let (id, step) = match way.as_str() {
                    "multisteps_mean_loss" => (ConventionId::MeanOfMeans, OptimizerStep::Group),
                    "multisteps_token_weighted" => (ConventionId::TokenWeighted, OptimizerStep::Group),
                    "chain_then_apply_every_mean_loss" => (ConventionId::NeverDivided, OptimizerStep::MovesSummed),
                    // An accumulator of another precision, and another library's schedule: nothing of the lab's.
                    "default_float32_accumulator_rel_l2_params" | "schedule_inside_multisteps" => continue,
                    unknown => panic!("unknown way {unknown}"),
                };
                let updates = list(&expected["per_update"]);
                let mut how = with_optimizer(id, settings);
                how.recipe = Some(Recipe {
                    step,
                    ..Recipe::default()
                });
                let ended = run(&network, &data, &how, updates.len());
                for (ours, step) in ended.iter().zip(updates) {
                    assert_set(&ours.parameters[0], &network.flat(&step["params"]), TOLERANCE, &what);
                }
            }
        }
    }
}
