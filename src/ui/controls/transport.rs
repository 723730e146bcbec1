//! Run, pause, step, slow motion, reset; how far the run is and how long it will take.

use leptos::prelude::*;

use crate::{
    lab::{DeviceState, Msg, Transport, msg::Go},
    protocol::StepBy,
    ui::{
        format,
        later::coming::Coming,
        store::{Store, use_store},
        text::{Locale, td_string, tr},
        turns::Turn,
        words::names,
    },
};

/// What the switch of slow motion sets, in milliseconds after each microbatch.
const SLOW_MS: u32 = 400;

/// The transport bar.
#[component]
pub fn TransportBar() -> impl IntoView {
    let store = use_store();
    let transport = store.transport;
    let running = Memo::new(move |_| matches!(transport.get(), Transport::Running | Transport::Pausing));
    let busy = Memo::new(move |_| {
        matches!(
            transport.get(),
            Transport::Running | Transport::Pausing | Transport::Loading
        )
    });
    view! {
        <section class="transport" aria-labelledby="transport-title">
            <h2 id="transport-title" class="sr-only">{tr!(store, transport.title)}</h2>
            <div class="transport-buttons">
                <button type="button" class="primary run" on:click=move |_| toggle(store)>
                    <span class="glyph" data-glyph=move || if running.get() { "pause" } else { "run" } aria-hidden="true"></span>
                    {move || {
                        let locale = store.locale.get();
                        if running.get() { td_string!(locale, transport.pause) } else { td_string!(locale, transport.run) }
                    }}
                </button>
                <button
                    type="button"
                    prop:disabled=move || busy.get()
                    on:click=move |_| store.dispatch(Msg::Go(Go::Step(StepBy::Microbatch)))
                >
                    {tr!(store, transport.step_microbatch)}
                </button>
                <button
                    type="button"
                    prop:disabled=move || busy.get()
                    on:click=move |_| store.dispatch(Msg::Go(Go::Step(StepBy::Update)))
                >
                    {tr!(store, transport.step_update)}
                </button>
                <button type="button" on:click=move |_| store.dispatch(Msg::Reset)>
                    {tr!(store, transport.reset)}
                </button>
            </div>
            <SlowMotion />
            <ProgressLine />
            <Notice />
        </section>
    }
}

/// Run where it stands, pause where it runs.
pub(crate) fn toggle(store: Store) {
    match store.transport.get_untracked() {
        Transport::Running => store.dispatch(Msg::Pause),
        Transport::Pausing => {}
        _ => store.dispatch(Msg::Go(Go::Run)),
    }
}

/// Slow motion on, or off.
pub(crate) fn toggle_slow(store: Store) {
    let slow = store.peek(|lab| lab.blueprint.pause_ms > 0);
    store.dispatch(Msg::Pace(if slow { 0 } else { SLOW_MS }));
}

#[component]
fn SlowMotion() -> impl IntoView {
    let store = use_store();
    let pace = store.memo(|lab| lab.blueprint.pause_ms);
    let set = move |event| store.dispatch(Msg::Pace(event_target_value(&event).parse().unwrap_or(SLOW_MS)));
    view! {
        <div class="slow">
            <label>
                <input
                    type="checkbox"
                    role="switch"
                    prop:checked=move || pace.get() != 0
                    on:change=move |_| toggle_slow(store)
                />
                {tr!(store, transport.slow)}
            </label>
            <input
                type="range"
                min="50"
                max="2000"
                step="50"
                aria-label=tr!(store, transport.pace)
                prop:disabled=move || pace.get() == 0
                prop:value=move || if pace.get() == 0 { SLOW_MS } else { pace.get() }.to_string()
                on:input=set
            />
            <output>
                {move || {
                    let ms = pace.get();
                    (ms != 0).then(|| td_string!(store.locale.get(), transport.milliseconds, ms).to_string())
                }}
            </output>
        </div>
    }
}

#[component]
fn ProgressLine() -> impl IntoView {
    let store = use_store();
    let budget = store.memo(|lab| lab.recording.as_ref().map(|recording| recording.setup.budget));
    let asked = Memo::new(move |_| store.setup.with(|setup| setup.as_ref().map(|setup| setup.budget)));
    let done = store.memo_in(Turn::Cards, |lab| {
        lab.recording.as_ref().map_or(0, crate::lab::Recording::done)
    });
    let left = store.memo_in(Turn::Cards, |lab| {
        // The engine tells how long it worked; in slow motion most of the time is waiting.
        let running =
            matches!(lab.machine.transport, Transport::Running | Transport::Pausing) && lab.blueprint.pause_ms == 0;
        let left = lab
            .recording
            .as_ref()
            .filter(|_| running)
            .and_then(crate::lab::Recording::remaining_ms);
        left.map(format::clock)
    });
    let budget = Memo::new(move |_| budget.get().or_else(|| asked.get()));
    let amount = move || budget.get().map_or(1, |budget| budget.amount);
    let of = move || {
        budget
            .get()
            .map_or_else(|| "–".to_owned(), |budget| format::count(budget.amount))
    };
    view! {
        <div class="progress">
            <label for="progress">
                {move || {
                    let locale = store.locale.get();
                    budget.get().map_or(td_string!(locale, transport.progress), |budget| names::unit(locale, budget.unit))
                }}
            </label>
            <progress id="progress" max=move || amount().to_string() prop:value=move || done.get().min(amount()) as f64></progress>
            <output for="progress" aria-live="off">
                {move || {
                    let (done, amount) = (format::count(done.get()), of());
                    td_string!(store.locale.get(), transport.of_budget, done, amount).to_string()
                }}
            </output>
            <span class="left">
                {move || left.get().map(|time| td_string!(store.locale.get(), transport.left, time).to_string())}
            </span>
        </div>
    }
}

/// What the run does, and what stands between the form and the run.
#[component]
fn Notice() -> impl IntoView {
    let store = use_store();
    let usable = Memo::new(move |_| store.device.with(|device| matches!(device, DeviceState::Usable(..))));
    let state = move || state(store.locale.get(), store.transport.get(), usable.get());
    let changed = store.memo(crate::lab::Lab::draft_changed);
    let mend = Memo::new(move |_| store.errors.with(Vec::len));
    let first = move || {
        store
            .errors
            .with_untracked(|errors| errors.first().map(|error| error.key))
    };
    let coming = use_context::<Coming>();
    let go_to_first = move |_| {
        if let Some((coming, key)) = coming.zip(first()) {
            coming.reveal(key);
        }
    };
    view! {
        <p class="notice" role="status">
            <span class="state" data-state=move || format!("{:?}", store.transport.get()).to_lowercase()>{state}</span>
            <span class="hint">
                {move || {
                    let locale = store.locale.get();
                    let count = mend.get();
                    if count > 0 {
                        let text = td_string!(locale, transport.fields_to_mend, count = count).to_string();
                        view! { <button type="button" class="to-mend" on:click=go_to_first>{text}</button> }.into_any()
                    } else if changed.get() {
                        td_string!(locale, transport.changed).into_any()
                    } else {
                        ().into_any()
                    }
                }}
            </span>
        </p>
    }
}

fn state(locale: Locale, transport: Transport, usable: bool) -> &'static str {
    match transport {
        Transport::Empty if usable => td_string!(locale, transport.state_ready),
        Transport::Empty => td_string!(locale, transport.state_empty),
        Transport::Loading => td_string!(locale, transport.state_loading),
        Transport::Paused => td_string!(locale, transport.state_paused),
        Transport::Running => td_string!(locale, transport.state_running),
        Transport::Pausing => td_string!(locale, transport.state_pausing),
        Transport::Finished => td_string!(locale, transport.state_finished),
        Transport::Failed => td_string!(locale, transport.state_failed),
    }
}
