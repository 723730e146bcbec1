//! Before a device is used, it computes one small group and is compared with the f64 oracle.

use super::Device;
use crate::protocol::{Fault, SelfCheck};

/// Computes the check group. The caller reports the numbers, and refuses the device where [`SelfCheck::passed`] is false
/// (with [`Fault::DeviceComputesWrongly`], made by [`refusal`]).
pub async fn self_check(device: &Device) -> Result<SelfCheck, Fault> {
    let _ = device;
    unimplemented!("being written")
}

/// The fault of a failed check; `None` where it passed.
pub fn refusal(check: &SelfCheck) -> Option<Fault> {
    (!check.passed()).then_some(Fault::DeviceComputesWrongly {
        gradient_error: check.gradient_error,
        loss_error: check.loss_error,
        tolerance: check.tolerance,
    })
}
