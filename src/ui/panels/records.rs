//! The foot of the page: the device, and what runs leave behind.

use leptos::prelude::*;

use super::{device::DevicePanel, journal::JournalPanel, past::PastRuns, share::SharePanel};

/// Device, journal, earlier runs, link and file.
#[component]
pub fn Records() -> impl IntoView {
    view! {
        <div class="pair">
            <DevicePanel />
            <div class="stack">
                <JournalPanel />
                <PastRuns />
                <SharePanel />
            </div>
        </div>
    }
}
