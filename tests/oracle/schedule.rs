//! The learning rate at each update, exactly, however the scheduler is stepped.

use microbatch_lab::batch::{
    FaultId, Schedule, ScheduleShape, recipe::Horizon, schedule::WarmupStart, scheduler_clock::Done,
};

use super::recipe;
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
        for (way, expected) in golden.outputs().as_object().expect("ways") {
            let (faults, start): (&[FaultId], _) = match way.as_str() {
                "per_update" => (&[], WarmupStart::Zero),
                "per_microbatch" => (&[FaultId::SchedulerEachMicrobatch], WarmupStart::Zero),
                "per_update_lambda_plus_one" => (&[], WarmupStart::FirstStep),
                "per_microbatch_lambda_plus_one" => (&[FaultId::SchedulerEachMicrobatch], WarmupStart::FirstStep),
                "scheduler_before_optimizer_per_update" => (&[FaultId::SchedulerBeforeOptimizer], WarmupStart::Zero),
                "horizon_in_microbatches_stepped_per_update" => (&[FaultId::HorizonInMicrobatches], WarmupStart::Zero),
                "horizon_in_microbatches_stepped_per_microbatch" => (
                    &[FaultId::HorizonInMicrobatches, FaultId::SchedulerEachMicrobatch],
                    WarmupStart::Zero,
                ),
                unknown => panic!("unknown way {unknown}"),
            };
            let recipe = recipe(faults);
            let schedule = match recipe.horizon {
                Horizon::AsSet => schedule,
                Horizon::Microbatches => schedule.in_microbatches(accumulation),
            };
            let step = recipe.scheduler_step.unwrap_or_default();
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
