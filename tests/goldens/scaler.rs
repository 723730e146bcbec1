//! Ten attempts under a dynamic loss scale, one of them not finite; and what goes wrong with a scale.

use microbatch_lab::{
    batch::{
        ConventionId, FaultId, Schedule, ScheduleShape,
        oracle::{cosine, norm, relative_l2},
        scaler::{ScalerConfig, ScalerError},
        schedule::WarmupStart,
    },
    protocol::Outcome,
    setup::Injection,
};
use serde_json::Value;

use super::{
    TOLERANCE,
    on_device::{Loop, assert_number, assert_set},
    on_device_kinds::groups,
    run,
    support::golden::{self, Golden, list, number, numbers, whole},
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

fn scaled(golden: &Golden, faults: &[FaultId]) -> Loop {
    Loop {
        loss_scale: Some(config(golden)),
        ..Loop::new(ConventionId::TokenWeighted, faults, number(&golden.inputs()["sgd_lr"]))
    }
}

#[test]
fn attempts() {
    for golden in golden::of_kind("grad_scaler") {
        let held: &[FaultId] = &[];
        for (name, faults) in [
            ("scheduler_applied_only", held),
            ("scheduler_every_attempt", &[FaultId::SchedulerEachAttempt]),
        ] {
            let mut how = scaled(&golden, faults);
            how.schedule = Schedule {
                shape: ScheduleShape::LinearWarmupDecay,
                warmup: whole(&golden.inputs()["W"]),
                total: whole(&golden.inputs()["U"]),
                start: WarmupStart::FirstStep,
                ..how.schedule
            };
            let at = list(&golden.inputs()["inf_at_attempts"]).iter();
            how.inject_inf = at
                .map(|attempt| Injection {
                    attempt: u64::from(whole(attempt)),
                    microbatch: 1,
                    replica: 1,
                })
                .collect();
            sequence(
                &golden,
                &how,
                &golden.outputs()[name],
                &format!("{} {name}", golden.name),
            );
        }
    }
}

fn sequence(golden: &Golden, how: &Loop, expected: &Value, what: &str) {
    let (network, data) = (golden.network(), groups(golden));
    let records = list(&expected["records"]);
    let ended = run(&network, &data, how, records.len());
    let mut scales = vec![f64::from(config(golden).init_scale)];
    for (ours, record) in ended.iter().zip(records) {
        let row = ours.row();
        let what = format!("{what} attempt {}", record["attempt"]);
        let scale = row.scale.expect("there is a scale");
        assert_eq!(scale.used, number(&record["scale_before"]), "{what}");
        assert_eq!(scale.next, number(&record["scale_after"]), "{what}");
        assert_eq!(scale.growth_tracker, whole(&record["growth_tracker_after"]), "{what}");
        assert_eq!(row.rate, number(&record["lr_used"]), "{what}");
        let outcome = if record["applied"] == true {
            Outcome::Applied
        } else {
            Outcome::NonFiniteGradient
        };
        assert_eq!(row.outcome, outcome, "{what}");
        let counters = row.counters;
        assert_eq!(counters.update_attempts, u64::from(whole(&record["attempt"])), "{what}");
        assert_eq!(
            counters.applied_updates,
            u64::from(whole(&record["applied_total"])),
            "{what}"
        );
        let skipped = counters.update_attempts - counters.applied_updates;
        assert_eq!(skipped, u64::from(whole(&record["skipped_total"])), "{what}");
        assert_number(
            row.gradient_norm,
            number(&record["unscaled_grad_norm"]),
            TOLERANCE,
            &what,
        );
        let length = norm(&ours.parameters[0]);
        assert_number(length, number(&record["params_norm_after"]), TOLERANCE, &what);
        scales.push(scale.next);
    }
    let last = ended.last().expect("some");
    assert_eq!(scales, numbers(&expected["scale_sequence"]), "{what}");
    let microbatches = u64::from(whole(&expected["microbatches"]));
    assert_eq!(last.row().counters.microbatches, microbatches, "{what}");
    assert_set(
        &last.parameters[0],
        &network.flat(&expected["final_params"]),
        TOLERANCE,
        what,
    );
}

#[test]
fn mistakes() {
    for golden in golden::of_kind("grad_scaler") {
        let (network, data) = (golden.network(), groups(&golden));
        let mistakes = &golden.outputs()["mistakes_on_group_1"];
        let one = |how: &Loop| run(&network, &data, how, 1).remove(0);
        let plain = Loop {
            loss_scale: None,
            ..scaled(&golden, &[])
        };
        let plain = one(&plain).gradients.remove(0);
        let right = one(&scaled(&golden, &[])).gradients.remove(0);
        assert_set(&right, &plain, TOLERANCE, &golden.name);

        for (name, fault) in [
            ("scale_grown_after_first_microbatch", FaultId::ScaleGrownInGroup),
            ("unscale_after_first_microbatch_only", FaultId::UnscaledAfterFirst),
        ] {
            let (ours, expected) = (one(&scaled(&golden, &[fault])).gradients.remove(0), &mistakes[name]);
            let (what, against) = (format!("{} {name}", golden.name), &expected["vs_plain"]);
            assert_number(
                relative_l2(&ours, &plain),
                number(&against["rel_l2_error"]),
                TOLERANCE,
                &what,
            );
            assert_number(cosine(&ours, &plain), number(&against["cosine"]), TOLERANCE, &what);
            assert_number(
                norm(&ours) / norm(&plain),
                number(&against["norm_ratio"]),
                TOLERANCE,
                &what,
            );
            if expected.get("grad").is_some() {
                assert_set(&ours, &network.flat(&expected["grad"]), TOLERANCE, &what);
            }
        }
        let clip = &mistakes["clip"];
        let mut lengths = Vec::new();
        for (name, faults) in [
            ("unscale_then_clip", &[][..]),
            ("clip_then_unscale", &[FaultId::ClipBeforeUnscale]),
        ] {
            let what = format!("{} {name}", golden.name);
            let how = Loop {
                clip_norm: Some(number(&clip["max_norm"])),
                ..scaled(&golden, faults)
            };
            let ended = one(&how);
            let length = norm(&ended.gradients[0]);
            assert_set(
                &ended.row().clip_norms,
                &[number(&clip[name]["total_norm"])],
                TOLERANCE,
                &what,
            );
            assert_set(&[length], &[number(&clip[name]["norm_after"])], TOLERANCE, &what);
            lengths.push(length);
        }
        let ratio = number(&clip["norm_ratio_wrong_over_right"]);
        assert_set(&[lengths[1] / lengths[0]], &[ratio], TOLERANCE, &golden.name);

        // The golden's messages are torch's; the lab refuses the same call.
        assert!(mistakes["errors"].get("second_unscale").is_some());
        let refused = one(&scaled(&golden, &[FaultId::UnscaleTwice]));
        let row = refused.row();
        assert_eq!(row.outcome, Outcome::Refused(ScalerError::AlreadyUnscaled));
        assert_eq!((row.counters.update_attempts, row.counters.applied_updates), (1, 0));
        assert_eq!(row.checksums.map(|[before, _, after]| before == after), Some(true));
        assert_eq!(row.scale.map(|scale| scale.used == scale.next), Some(true));
    }
}
