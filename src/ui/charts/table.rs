//! The same numbers for those who do not see the lines.

use leptos::prelude::*;

use super::state::{ChartLane, ChartState, ChartWords, Version};
use crate::chart::{number, read};

/// Rows of the table at most.
const ROWS: usize = 12;

#[derive(Clone, Debug, Default, PartialEq)]
struct Sampled {
    at: Version,
    names: Vec<String>,
    /// Horizontal coordinate, then one value a visible lane.
    rows: Vec<(f64, Vec<f64>)>,
}

/// A few points spread over the run. It follows a growing run only every tenth part of it: a table that changes with every frame
/// cannot be read, and costs frames.
pub(super) fn sample_table(
    state: ChartState,
    lanes: Signal<Vec<ChartLane>>,
    words: Signal<ChartWords>,
) -> impl IntoView {
    let sampled = Memo::new(move |before: Option<&Sampled>| {
        let at = state.fed.get();
        let lanes = lanes.get();
        let names: Vec<String> = lanes
            .iter()
            .filter(|lane| lane.visible)
            .map(|lane| lane.label.clone())
            .collect();
        let fresh = |before: &&Sampled| {
            before.at.key == at.key
                && before.names == names
                && at.points < before.at.points + before.at.points.div_ceil(10)
        };
        match before.filter(fresh) {
            Some(before) => before.clone(),
            None => Sampled {
                at,
                rows: sample(state, &lanes),
                names,
            },
        }
    });
    view! {
        // A table takes its content's width whatever it is told; a box around it does not.
        <div class="sr-only"><table>
            <caption>{move || words.with(|words| words.y.clone())}</caption>
            <thead>
                <tr>
                    <th scope="col">{move || words.with(|words| words.x.clone())}</th>
                    {move || {
                        let names = sampled.with(|sampled| sampled.names.clone());
                        names.into_iter().map(|name| view! { <th scope="col">{name}</th> }).collect_view()
                    }}
                </tr>
            </thead>
            <tbody>
                {move || {
                    let rows = sampled.with(|sampled| sampled.rows.clone());
                    rows.into_iter()
                        .map(|(x, values)| {
                            let cells = values.into_iter().map(|y| view! { <td>{number::value(y)}</td> }).collect_view();
                            view! {
                                <tr>
                                    <th scope="row">{number::tick(x, 1.0)}</th>
                                    {cells}
                                </tr>
                            }
                        })
                        .collect_view()
                }}
            </tbody>
        </table></div>
    }
}

fn sample(state: ChartState, lanes: &[ChartLane]) -> Vec<(f64, Vec<f64>)> {
    let visible: Vec<bool> = lanes.iter().map(|lane| lane.visible).collect();
    let full = state.picture.with_untracked(|picture| picture.full);
    state.curves.with_value(|curves| {
        let place = |row: usize| full.low() + full.length() * row as f64 / (ROWS - 1) as f64;
        let mut rows: Vec<(f64, Vec<f64>)> = (0..ROWS)
            .filter_map(|row| read(curves, &visible, place(row)))
            .map(|reading| {
                (
                    reading.x,
                    reading.lanes.into_iter().flatten().map(|hit| hit.y).collect(),
                )
            })
            .collect();
        // A short run has fewer points than rows.
        rows.dedup_by(|a, b| a.0.total_cmp(&b.0).is_eq());
        rows
    })
}
