//! The mark of a lane: a number in the lane's colour, so that colour is never alone.

use leptos::prelude::*;

/// Lane numbers are shown from 1.
#[component]
pub fn LaneMark(
    /// The lane, from 0.
    lane: usize,
) -> impl IntoView {
    view! { <span class="lane-mark" data-lane={lane + 1}>{lane + 1}</span> }
}
