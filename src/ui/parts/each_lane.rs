//! A piece of the page for each lane shown.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{batch::LaneRule, ui::store::Store};

type Piece = Arc<dyn Fn(usize, LaneRule) -> AnyView + Send + Sync>;

/// One piece a lane, by its place and its rule; only pieces of lanes that changed are made anew.
pub fn each_lane(store: Store, piece: impl Fn(usize, LaneRule) -> AnyView + Send + Sync + 'static) -> AnyView {
    of_pieces(store, Arc::new(piece))
}

/// Apart, so that the list and how it changes are compiled once.
fn of_pieces(store: Store, piece: Piece) -> AnyView {
    view! {
        <For
            each=move || store.lanes.get().into_iter().enumerate()
            key=|lane| *lane
            children=move |(lane, rule)| piece(lane, rule)
        />
    }
    .into_any()
}
