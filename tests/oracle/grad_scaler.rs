//! Ten attempts under a dynamic loss scale, one of them not finite; and what goes wrong with a scale.

use microbatch_lab::batch::{
    ConventionId, FaultId, Schedule, ScheduleShape,
    oracle::{Accumulation, Grads, Optimizer, Sgd, cosine, norm, relative_l2},
    recipe::Unscale,
    scaler::{Attempt, Scaler, ScalerConfig, ScalerError},
    schedule::WarmupStart,
    scheduler_clock::{Done, SchedulerStep},
};
use serde_json::Value;

use super::{
    assert_close, assert_same, recipe,
    support::golden::{self, Golden, Network, list, number, numbers, whole},
    train::{groups, weighted},
};

fn config(golden: &Golden) -> ScalerConfig {
    let config = &golden.inputs()["config"];
    ScalerConfig {
        // A scale is a power of two here, or at least a number torch could hold.
        init_scale: number(&config["init_scale"]).to_string().parse().expect("an f32"),
        growth_factor: number(&config["growth_factor"]),
        backoff_factor: number(&config["backoff_factor"]),
        growth_interval: whole(&config["growth_interval"]),
    }
}

#[test]
fn attempts() {
    for golden in golden::of_kind("grad_scaler") {
        let ways: [(&str, &[FaultId]); 2] = [
            ("scheduler_every_attempt", &[FaultId::SchedulerEachAttempt]),
            ("scheduler_applied_only", &[]),
        ];
        for (name, faults) in ways {
            run(
                &golden,
                recipe(faults).scheduler_step.unwrap_or_default(),
                &golden.outputs()[name],
                &format!("{} {name}", golden.name),
            );
        }
    }
}

fn run(golden: &Golden, scheduler: SchedulerStep, expected: &Value, what: &str) {
    let (network, groups) = (golden.network(), groups(golden));
    let accumulation = whole(&golden.inputs()["A"]);
    let schedule = Schedule {
        shape: ScheduleShape::LinearWarmupDecay,
        peak: number(&golden.inputs()["sgd_lr"]),
        warmup: whole(&golden.inputs()["W"]),
        total: whole(&golden.inputs()["U"]),
        start: WarmupStart::FirstStep,
    };
    let mut scaler = Scaler::new(config(golden));
    let mut parameters = network.parameters.clone();
    let mut optimizer = Optimizer::Sgd(Sgd::new(0.0));
    let mut done = Done::default();
    let mut scales = vec![scaler.scale()];
    let how = Accumulation::default();
    for record in list(&expected["records"]) {
        let attempt = whole(&record["attempt"]);
        let what = format!("{what} attempt {attempt}");
        let group = &groups[(attempt - 1) as usize % groups.len()];
        let scale = scaler.scale();
        assert_eq!(scale, number(&record["scale_before"]), "{what}");
        let mut contributions = weighted(&network, &parameters, group, ConventionId::TokenWeighted);
        for g in contributions.iter_mut().flatten() {
            *g *= scale;
        }
        if record["inf_injected"] == true {
            contributions[0][fc1_weight(&network)] = f64::INFINITY;
        }
        let mut grads = Grads::zeros(1, parameters.len());
        grads.accumulate(how, &group.facts, &contributions);
        let mut gradient = grads.replicas[0].clone();

        let inverse = scaler
            .unscale(gradient.iter().all(|g| g.is_finite()))
            .expect("once a group");
        for g in &mut gradient {
            *g *= inverse;
        }
        assert_close(norm(&gradient), number(&record["unscaled_grad_norm"]), &what);
        let rate = schedule.rate(scheduler.steps(done, accumulation));
        assert_eq!(rate, number(&record["lr_used"]), "{what}");
        let applied = scaler.step().expect("checked") == Attempt::Apply;
        if applied {
            optimizer.apply(&mut parameters, &gradient, rate);
        }
        scaler.update().expect("checked");
        done.attempts += 1;
        done.applied += u64::from(applied);
        done.microbatches += group.batches.len() as u64;
        scales.push(scaler.scale());

        assert_eq!(Some(applied), record["applied"].as_bool(), "{what}");
        assert_eq!(done.applied, u64::from(whole(&record["applied_total"])), "{what}");
        assert_eq!(
            done.attempts - done.applied,
            u64::from(whole(&record["skipped_total"])),
            "{what}"
        );
        assert_eq!(scaler.scale(), number(&record["scale_after"]), "{what}");
        assert_eq!(
            scaler.growth_tracker(),
            whole(&record["growth_tracker_after"]),
            "{what}"
        );
        assert_close(norm(&parameters), number(&record["params_norm_after"]), &what);
    }
    assert_eq!(scales, numbers(&expected["scale_sequence"]), "{what}");
    assert_eq!(done.attempts, u64::from(whole(&expected["attempts"])), "{what}");
    assert_eq!(done.applied, u64::from(whole(&expected["applied_updates"])), "{what}");
    assert_eq!(done.microbatches, u64::from(whole(&expected["microbatches"])), "{what}");
    assert_same(&parameters, &network.flat(&expected["final_params"]), what);
}

/// Where `fc1.weight[0, 0]` lies in the flat parameters.
fn fc1_weight(network: &Network) -> usize {
    let place = network
        .order
        .iter()
        .position(|name| name == "fc1.weight")
        .expect("has one");
    network.shape.lengths()[..place].iter().sum()
}

#[test]
fn mistakes() {
    for golden in golden::of_kind("grad_scaler") {
        let network = golden.network();
        let group = &groups(&golden)[0];
        let (config, mistakes) = (config(&golden), &golden.outputs()["mistakes_on_group_1"]);
        let scale = f64::from(config.init_scale);
        let plain = weighted(&network, &network.parameters, group, ConventionId::TokenWeighted);
        let sum = |faults: &[FaultId]| {
            let how = recipe(faults).scale_in_group;
            let mut sum = vec![0.0; network.parameters.len()];
            for (k, contribution) in group.facts.microbatches.iter().zip(&plain) {
                let factor = how.remaining(k.index, scale, config.growth_factor);
                for (sum, g) in sum.iter_mut().zip(contribution) {
                    *sum += factor * g;
                }
            }
            sum
        };
        let right = sum(&[]);
        let ways = [
            ("scale_grown_after_first_microbatch", FaultId::ScaleGrownInGroup),
            ("unscale_after_first_microbatch_only", FaultId::UnscaledAfterFirst),
        ];
        for (name, way) in ways {
            let (ours, expected) = (sum(&[way]), &mistakes[name]);
            let what = format!("{} {name}", golden.name);
            let against = &expected["vs_plain"];
            assert_close(relative_l2(&ours, &right), number(&against["rel_l2_error"]), &what);
            assert_close(cosine(&ours, &right), number(&against["cosine"]), &what);
            assert_close(norm(&ours) / norm(&right), number(&against["norm_ratio"]), &what);
            if expected.get("grad").is_some() {
                assert_same(&ours, &network.flat(&expected["grad"]), &what);
            }
        }
        let (clip, length) = (&mistakes["clip"], norm(&right));
        let max = number(&clip["max_norm"]);
        let (right, wrong) = (recipe(&[]).clip_order, recipe(&[FaultId::ClipBeforeUnscale]).clip_order);
        for (name, order) in [("unscale_then_clip", right), ("clip_then_unscale", wrong)] {
            let what = format!("{} {name}", golden.name);
            assert_close(order.seen(length, scale), number(&clip[name]["total_norm"]), &what);
            assert_close(
                length * order.coefficient(length, max, scale),
                number(&clip[name]["norm_after"]),
                &what,
            );
        }
        let ratio = wrong.coefficient(length, max, scale) / right.coefficient(length, max, scale);
        assert_close(ratio, number(&clip["norm_ratio_wrong_over_right"]), &golden.name);
        // The golden's messages are torch's; the lab refuses the same calls.
        let errors = mistakes["errors"].as_object().expect("errors");
        assert_eq!(
            errors.keys().collect::<Vec<_>>(),
            ["second_unscale", "update_without_step"]
        );
        assert_eq!(recipe(&[FaultId::UnscaleTwice]).unscale, Unscale::Twice);
        let mut scaler = Scaler::new(config);
        assert_eq!(scaler.update(), Err(ScalerError::NotChecked));
        assert_eq!(scaler.step(), Err(ScalerError::NotChecked));
        assert_eq!(scaler.unscale(true), Ok(1.0 / scale));
        assert_eq!(scaler.unscale(true), Err(ScalerError::AlreadyUnscaled));
        assert_eq!(scaler.step(), Ok(Attempt::Apply));
        assert_eq!(scaler.step(), Err(ScalerError::AlreadyStepped));
        assert_eq!(scaler.unscale(true), Err(ScalerError::AlreadyStepped));
        assert_eq!(scaler.update(), Ok(()));
    }
}

#[test]
fn a_scale_never_grows_past_f32() {
    let config = ScalerConfig {
        init_scale: f32::MAX / 2.0,
        growth_factor: 4.0,
        backoff_factor: 0.5,
        growth_interval: 1,
    };
    let mut scaler = Scaler::new(config);
    scaler.unscale(true).expect("once");
    scaler.update().expect("checked");
    assert_eq!(
        (scaler.scale(), scaler.growth_tracker()),
        (f64::from(f32::MAX / 2.0), 0)
    );
}
