//! A Setup and its written forms: nothing a person types is lost, misread or able to break anything.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::expect_used, reason = "strategies and helpers fail their test at once")]

#[path = "../support/mod.rs"]
mod support;

mod changes;
mod fields;
mod lanes;
mod numerics;
mod written;

use microbatch_lab::{batch::ConventionId, setup::Named};

#[test]
fn names_are_those_that_serde_writes() {
    fn check<T: Named + serde::Serialize + std::fmt::Debug>() {
        for (value, name) in T::NAMES {
            assert_eq!(serde_json::to_value(value).expect("serializes"), *name, "{value:?}");
            assert_eq!((T::named(name), value.name()), (Some(*value), *name));
        }
    }
    check::<ConventionId>();
    check::<microbatch_lab::batch::Sharding>();
    check::<microbatch_lab::batch::LastGroup>();
    check::<microbatch_lab::batch::ScheduleShape>();
    check::<microbatch_lab::batch::Unit>();
    check::<microbatch_lab::batch::FaultId>();
    check::<microbatch_lab::batch::schedule::WarmupStart>();
    check::<microbatch_lab::setup::Precision>();
    check::<microbatch_lab::setup::DropoutOrder>();
    assert_eq!(
        ConventionId::NAMES.len(),
        microbatch_lab::batch::convention::TABLE.len()
    );
    assert_eq!(
        microbatch_lab::batch::Unit::NAMES.len(),
        microbatch_lab::batch::Unit::ALL.len()
    );
}
