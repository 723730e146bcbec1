//! The foot of the page: the device, what runs leave behind, and the shaders.

use leptos::prelude::*;

use super::{device::DevicePanel, journal::JournalPanel, past::PastRuns, shaders::ShadersPanel, share::SharePanel};

/// Device, journal, earlier runs, link and file, shaders.
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
        <ShadersPanel />
    }
}
