//! The chart as a whole.

use leptos::{ev, html::Div, prelude::*};

use super::{
    canvas::canvas,
    readout::readout,
    size::follow_size,
    state::{ChartLane, ChartState, ChartWords, Feed},
    table::sample_table,
};
use crate::chart::{Frame, Kind};

/// Lines over a common horizontal axis, that can be read, zoomed and followed by pointer, touch and keys.
///
/// The page says which lanes there are and which of them are drawn; points are read from `feed` once each.
#[component]
pub fn LineChart(
    /// Where points come from.
    feed: Feed,
    /// The lanes.
    #[prop(into)]
    lanes: Signal<Vec<ChartLane>>,
    /// How values are spread.
    #[prop(into)]
    kind: Signal<Kind>,
    /// Everything a person reads.
    #[prop(into)]
    words: Signal<ChartWords>,
    /// A name for this chart that no other element of the document has.
    id: &'static str,
) -> impl IntoView {
    let state = ChartState::new(feed, lanes, kind);
    let stage = NodeRef::<Div>::new();
    Effect::new(move |followed: Option<bool>| {
        let Some(element) = stage.get() else {
            return followed.unwrap_or(false);
        };
        if followed != Some(true) {
            follow_size(&element, move |width, height| {
                if width > 0.0 && height > 0.0 {
                    state.frame.set(Frame { width, height });
                }
            });
        }
        true
    });
    let on_stage = move |act: &dyn Fn(&web_sys::Element)| {
        if let Some(element) = stage.get_untracked() {
            act(&element);
        }
    };
    let help = format!("{id}-help");
    let described = help.clone();
    view! {
        <figure class="chart">
            <div
                node_ref=stage
                class="chart-stage"
                class:brushing=move || state.brush.with(Option::is_some)
                id=id
                role="application"
                tabindex="0"
                aria-label=move || words.with(|words| words.summary.clone())
                aria-describedby=described
                on:pointerdown=move |event: ev::PointerEvent| on_stage(&|stage| state.pointer_down(&event, stage))
                on:pointermove=move |event: ev::PointerEvent| on_stage(&|stage| state.pointer_move(&event, stage))
                on:pointerup=move |event: ev::PointerEvent| state.pointer_up(&event)
                on:pointercancel=move |event: ev::PointerEvent| state.pointer_gone(&event)
                on:pointerleave=move |event: ev::PointerEvent| state.pointer_leave(&event)
                on:dblclick=move |_| state.window.set(None)
                on:wheel=move |event: ev::WheelEvent| on_stage(&|stage| state.wheel(&event, stage))
                on:keydown=move |event: ev::KeyboardEvent| state.key(&event)
            >
                {canvas(state, lanes, format!("{id}-clip"))}
                <p class="chart-empty" hidden=move || state.fed.get().points != 0>
                    {move || words.with(|words| words.empty.clone())}
                </p>
            </div>
            {readout(state, lanes, words)}
            <div class="chart-foot">
                <span class="chart-unit">{move || words.with(|words| words.x.clone())}</span>
                <button
                    type="button"
                    class="chart-reset"
                    hidden=move || state.window.with(Option::is_none)
                    on:click=move |_| state.window.set(None)
                >
                    {move || words.with(|words| words.reset.clone())}
                </button>
            </div>
            <p class="sr-only" id=help>{move || words.with(|words| words.help.clone())}</p>
            {sample_table(state, lanes, words)}
        </figure>
    }
}
