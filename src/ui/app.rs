//! The page as a whole.

use leptos::{ev, prelude::*};
use wasm_bindgen::JsCast as _;

use super::{
    browser,
    controls::{
        form::Form,
        header::Header,
        presets::Presets,
        preview,
        transport::{TransportBar, toggle, toggle_slow},
    },
    effects::Outside,
    later::{
        Part,
        coming::{Coming, ComingStatus, Fetch, part},
    },
    panels::{
        arithmetic::Arithmetic, cards::LaneCards, chart::ChartPanel, communication::CommunicationPanel, fit::FitPanel,
        grid::GroupGrid, memory::MemoryPanel, preflight::PreflightPanel, probe::ProbePanel, scaler::ScalerPanel,
    },
    parts::alert::Alert,
    refusals::Refusals,
    remember::{self, language_code, theme_name},
    store::{Store, use_store},
    text::{td_string, tr},
    words,
};
use crate::{
    lab::{Again, Lab, Msg, msg::Go},
    protocol::{DeviceChoice, StepBy},
    setup::{PRESETS, codec},
};

/// Puts the page into the document's body.
pub fn mount(fetch: Fetch) {
    mount_to_body(move || view! { <App fetch=fetch /> });
}

/// The page of a visit: what was remembered, what the link says, and a worker for it.
#[component]
pub fn App(
    /// Where its later parts come from.
    fetch: Fetch,
) -> impl IntoView {
    let outside = Outside::default();
    let mut lab = Lab::default();
    remember::read(&mut lab.blueprint);
    let device = lab.blueprint.device;
    let store = Store::new(lab, move |store, effects| outside.carry_out(store, effects));
    start(store, device);
    view! { <Page store=store coming=Coming::after_paint(fetch) /> }
}

/// Opens the visit. Never starts a run.
fn start(store: Store, device: DeviceChoice) {
    let link = browser::hash();
    match codec::from_link(&link) {
        Ok(draft) if !link.is_empty() => store.dispatch(Msg::Replace(draft)),
        Ok(_) => first_preset(store),
        Err(error) => {
            first_preset(store);
            store.dispatch(Msg::BadLink(error));
        }
    }
    store.dispatch(Msg::Device(device));
}

fn first_preset(store: Store) {
    if let Some(preset) = PRESETS.first() {
        store.dispatch(Msg::Replace((preset.draft)()));
    }
}

/// The page over a state.
#[component]
pub fn Page(
    /// The state.
    store: Store,
    /// Its later parts.
    coming: Coming,
) -> impl IntoView {
    provide_context(store);
    provide_context(coming);
    let preview = preview::follow(store);
    Refusals::provide(store, preview);
    follow_language_and_theme(store);
    let keys = window_event_listener(ev::keydown, move |event| shortcut(store, &event));
    on_cleanup(move || keys.remove());
    let links = window_event_listener(ev::hashchange, move |_| match codec::from_link(&browser::hash()) {
        Ok(draft) => store.dispatch(Msg::Replace(draft)),
        Err(error) => store.dispatch(Msg::BadLink(error)),
    });
    on_cleanup(move || links.remove());
    view! {
        <a class="skip" href="#results" on:click=move |event| skip(&event)>{tr!(store, app.skip)}</a>
        <Header />
        <main>
            <Presets />
            <TransportBar />
            <Alerts />
            <ComingStatus />
            <div class="work">
                <aside class="settings" aria-label=tr!(store, app.settings)>
                    <Form preview=preview />
                </aside>
                <div class="results" id="results" tabindex="-1" role="region" aria-label=tr!(store, app.results)>
                    <LaneCards />
                    <div class="pair first">
                        <ChartPanel />
                        <GroupGrid />
                    </div>
                    <Arithmetic />
                    {part(Part::Compare)}
                    <div class="pair folds">
                        <ProbePanel />
                        <PreflightPanel />
                        <ScalerPanel />
                        <CommunicationPanel />
                        <MemoryPanel />
                        <FitPanel />
                    </div>
                    {part(Part::Records)}
                </div>
            </div>
        </main>
    }
}

/// Faults and a link that could not be read. The run and its record go on beside them.
#[component]
fn Alerts() -> impl IntoView {
    let store = use_store();
    let fault = store.memo(|lab| lab.machine.fault.clone());
    let bad_link = store.memo(|lab| lab.bad_link.clone());
    let recorded = store.memo(|lab| {
        lab.recording
            .as_ref()
            .is_some_and(|recording| !recording.groups.is_empty())
    });
    view! {
        {move || bad_link.get().map(|error| {
            let message = Signal::derive(move || words::fault::link(store.locale.get(), &error));
            view! { <Alert message=message on_dismiss=Callback::new(move |()| store.dispatch(Msg::DismissLink)) /> }
        })}
        {move || fault.get().map(|fault| {
            let ways = store.peek(|lab| lab.machine.ways_out());
            let message = Signal::derive(move || {
                let locale = store.locale.get();
                let mut text = words::fault::fault(locale, &fault);
                if recorded.get() {
                    text.push(' ');
                    text.push_str(td_string!(locale, fault.kept));
                }
                text
            });
            view! {
                <Alert message=message on_dismiss=Callback::new(move |()| store.dispatch(Msg::DismissFault))>
                    {ways.map(|ways| view! { <Ways store=store again=ways.again /> })}
                </Alert>
            }
        })}
    }
}

/// What else there is to do about a fault.
#[component]
fn Ways(store: Store, again: Again) -> impl IntoView {
    let choice = store.memo(|lab| lab.blueprint.device);
    let use_cpu = store.memo(|lab| lab.machine.ways_out().is_some_and(|ways| ways.use_cpu));
    let try_again = move |_| match again {
        Again::OpenDevice => store.dispatch(Msg::Device(choice.get_untracked())),
        Again::BuildRun => store.dispatch(Msg::Reset),
    };
    view! {
        <button type="button" on:click=try_again>
            {tr!(store, fault.try_again)}
        </button>
        {move || {
            (use_cpu.get() && choice.get() != DeviceChoice::Cpu).then(|| {
                view! {
                    <button type="button" on:click=move |_| store.dispatch(Msg::Device(DeviceChoice::Cpu))>
                        {tr!(store, fault.use_cpu)}
                    </button>
                }
            })
        }}
    }
}

/// The root element carries language and theme, for screen readers and style sheets.
fn follow_language_and_theme(store: Store) {
    let language = store.memo(|lab| lab.blueprint.language);
    let theme = store.memo(|lab| lab.blueprint.theme);
    Effect::new(move |_| browser::set_root("lang", language_code(language.get())));
    Effect::new(move |_| browser::set_root("data-theme", theme_name(theme.get())));
}

/// The link's own jump would replace the experiment in the address.
fn skip(event: &ev::MouseEvent) {
    event.prevent_default();
    let results = document()
        .get_element_by_id("results")
        .and_then(|e| e.dyn_into::<web_sys::HtmlElement>().ok());
    if let Some(results) = results {
        let _ = results.focus();
        results.scroll_into_view();
    }
}

/// One key, one thing to do, unless something is being typed or a control has the key for itself.
fn shortcut(store: Store, event: &ev::KeyboardEvent) {
    if event.ctrl_key() || event.alt_key() || event.meta_key() || event.repeat() || taken(event) {
        return;
    }
    let still = || {
        !matches!(
            store.transport.get_untracked(),
            crate::lab::Transport::Running | crate::lab::Transport::Pausing | crate::lab::Transport::Loading
        )
    };
    // By place on the keyboard, so that they work under a Russian layout too.
    match event.code().as_str() {
        "Space" => toggle(store),
        "KeyS" if still() => store.dispatch(Msg::Go(Go::Step(StepBy::Microbatch))),
        "KeyU" if still() => store.dispatch(Msg::Go(Go::Step(StepBy::Update))),
        "KeyM" => toggle_slow(store),
        "KeyR" => store.dispatch(Msg::Reset),
        _ => return,
    }
    event.prevent_default();
}

/// Whether the element that has the focus uses keys itself.
fn taken(event: &ev::KeyboardEvent) -> bool {
    let Some(element) = event
        .target()
        .and_then(|target| target.dyn_into::<web_sys::Element>().ok())
    else {
        return false;
    };
    let name = element.tag_name().to_lowercase();
    let typed = matches!(name.as_str(), "input" | "select" | "textarea" | "dialog");
    let pressed = event.code() == "Space" && matches!(name.as_str(), "button" | "summary" | "a");
    typed || pressed || element.closest("dialog, [data-keys]").ok().flatten().is_some()
}
