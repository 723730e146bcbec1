//! The learning rate at each update, exactly, however the scheduler is stepped.

use microbatch_lab::batch::{
    Schedule, ScheduleShape,
    schedule::WarmupStart,
    scheduler_clock::{Done, SchedulerStep},
};

use super::support::golden::{self, number, numbers, whole};

#[test]
fn ways_to_step() {
    for golden in golden::of_kind("lr_schedule") {
        let inputs = golden.inputs();
        let accumulation = whole(&inputs["A"]);
        let schedule = Schedule {
            shape: ScheduleShape::LinearWarmupDecay,
            peak: number(&inputs["base_lr"]),
            warmup: whole(&inputs["warmup_updates"]),
            total: whole(&inputs["total_updates"]),
            start: WarmupStart::Zero,
        };
        let horizon = schedule.in_microbatches(accumulation);
        for (way, expected) in golden.outputs().as_object().expect("ways") {
            let (schedule, step, start) = match way.as_str() {
                "per_update" => (schedule, SchedulerStep::AppliedUpdate, WarmupStart::Zero),
                "per_microbatch" => (schedule, SchedulerStep::Microbatch, WarmupStart::Zero),
                "per_update_lambda_plus_one" => (schedule, SchedulerStep::AppliedUpdate, WarmupStart::FirstStep),
                "per_microbatch_lambda_plus_one" => (schedule, SchedulerStep::Microbatch, WarmupStart::FirstStep),
                "scheduler_before_optimizer_per_update" => (schedule, SchedulerStep::BeforeUpdate, WarmupStart::Zero),
                "horizon_in_microbatches_stepped_per_update" => {
                    (horizon, SchedulerStep::AppliedUpdate, WarmupStart::Zero)
                }
                "horizon_in_microbatches_stepped_per_microbatch" => {
                    (horizon, SchedulerStep::Microbatch, WarmupStart::Zero)
                }
                unknown => panic!("unknown way {unknown}"),
            };
            let rate = |applied: u64| {
                let microbatches = applied * u64::from(accumulation);
                let steps = step.steps(
                    Done {
                        applied,
                        attempts: applied,
                        microbatches,
                    },
                    accumulation,
                );
                Schedule { start, ..schedule }.rate(steps)
            };
            let rates: Vec<f64> = (0..u64::from(whole(&inputs["updates_run"]))).map(rate).collect();
            assert_eq!(rates, numbers(&expected["lr_at_update"]), "{} {way}", golden.name);
        }
    }
}
