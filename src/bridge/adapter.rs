//! Asking the browser for an adapter, before any worker is loaded: which worker to load depends on the answer.

use super::navigator::look;
use crate::protocol::{Chosen, DeviceChoice, DeviceKind};

/// Which device to use, and why. Asks for an adapter only under [`DeviceChoice::Auto`].
pub async fn choose(choice: DeviceChoice) -> Chosen {
    match choice {
        DeviceChoice::Auto => Chosen::auto(&look().await),
        DeviceChoice::Cpu => Chosen::asked(DeviceKind::Cpu),
        DeviceChoice::WebGpu => Chosen::asked(DeviceKind::WebGpu),
    }
}
