//! The learning rate at each update, exactly.

use microbatch_lab::batch::{Schedule, ScheduleShape};

use super::support::golden::{self, number, numbers, whole};

#[test]
fn stepped_once_per_applied_update() {
    for golden in golden::of_kind("lr_schedule") {
        let inputs = golden.inputs();
        let schedule = Schedule {
            shape: ScheduleShape::LinearWarmupDecay,
            peak: number(&inputs["base_lr"]),
            warmup: whole(&inputs["warmup_updates"]),
            total: whole(&inputs["total_updates"]),
        };
        let rates: Vec<f64> = (0..u64::from(whole(&inputs["updates_run"])))
            .map(|u| schedule.rate(u))
            .collect();
        let expected = &golden.outputs()["per_update_lambda_plus_one"]["lr_at_update"];
        assert_eq!(rates, numbers(expected), "{}", golden.name);
    }
}
