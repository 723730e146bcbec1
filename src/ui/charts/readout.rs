//! All lanes at the place where the person reads.

use leptos::prelude::*;

use super::state::{ChartLane, ChartState, ChartWords};
use crate::{chart::number, ui::parts::lane_mark::LaneMark};

/// A card beside the cursor, spoken as it changes.
pub(super) fn readout(state: ChartState, lanes: Signal<Vec<ChartLane>>, words: Signal<ChartWords>) -> impl IntoView {
    let pixel = move || {
        let reading = state.reading.get()?;
        state.picture.with(|picture| picture.x.pixel(reading.x))
    };
    // On the side where there is room.
    let style = move || {
        let width = state.frame.get().width;
        match pixel() {
            Some(x) if x > width / 2.0 => format!("right: {:.0}px", width - x + 12.0),
            Some(x) => format!("left: {:.0}px", x + 12.0),
            None => String::new(),
        }
    };
    let rows = move || {
        let reading = state.reading.get()?;
        let rows = lanes.with(|lanes| {
            lanes
                .iter()
                .zip(reading.lanes)
                .enumerate()
                .filter_map(|(lane, (named, hit))| {
                    let hit = hit?;
                    Some(view! {
                        <div class="chart-reading">
                            <dt>
                                <LaneMark lane=lane />
                                <span class="chart-name">{named.label.clone()}</span>
                            </dt>
                            <dd>{number::value(hit.y)}</dd>
                        </div>
                    })
                })
                .collect_view()
        });
        Some(view! {
            <div class="chart-reading">
                <dt>
                    <span class="chart-name">{words.with(|words| words.x.clone())}</span>
                </dt>
                <dd>{number::tick(reading.x, 1.0)}</dd>
            </div>
            {rows}
        })
    };
    // The card would cover what is being chosen.
    let brushing = move || {
        state
            .brush
            .with(|brush| brush.is_some_and(|(from, to)| (from - to).abs() > 1.0))
    };
    view! {
        <output class="chart-readout" aria-live="polite" style=style class:idle=move || state.reading.with(Option::is_none) || brushing()>
            <dl>{rows}</dl>
        </output>
    }
}
