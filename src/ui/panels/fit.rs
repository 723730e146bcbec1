//! The largest m that fits into a number of bytes, as it is tried.

use leptos::prelude::*;

use super::{
    ask::{Ask, answer},
    fold::Fold,
};
use crate::{
    lab::{Msg, ready},
    protocol::{FitReport, FitTry, FittingSplit},
    setup::{
        Key,
        limits::{MAX_MEMORY_MIB, MIN_MEMORY_MIB},
    },
    ui::{
        format,
        later::{Part, coming::part},
        store::{Store, use_store},
        text::{Locale, td_string, tr},
    },
};

/// What stands in the field at first.
const FIRST_LIMIT: &str = "256";

/// The panel.
#[component]
pub fn FitPanel() -> impl IntoView {
    let store = use_store();
    // Beside the fold, so that closing it does not forget what was typed.
    let typed = RwSignal::new(FIRST_LIMIT.to_owned());
    view! {
        <Fold id="fit-title" title=Signal::derive(tr!(store, fit.title))>
            {part(Part::Fit(typed))}
        </Fold>
    }
}

/// What it holds.
#[component]
pub fn Fit(
    /// The limit, as typed.
    typed: RwSignal<String>,
) -> impl IntoView {
    let store = use_store();
    let limit = Memo::new(move |_| typed.with(|typed| mebibytes(typed)));
    let tries = store.memo(|lab| lab.tools.fit_tries.clone());
    let report = store.memo(|lab| lab.tools.fit.clone());
    let stale = store.memo(|lab| {
        // Other than by putting what was found into it.
        let draft = &lab.blueprint.draft;
        let now = |key| draft.get(key).to_owned();
        let fitted = lab.tools.fitted.clone();
        fitted.is_some_and(|fitted| {
            fitted
                .with(Key::Microbatch, now(Key::Microbatch))
                .with(Key::Accumulation, now(Key::Accumulation))
                != *draft
        })
    });
    let bad = move || {
        let (min, max) = (MIN_MEMORY_MIB, MAX_MEMORY_MIB);
        limit
            .get()
            .is_none()
            .then(|| td_string!(store.locale.get(), fit.bad_limit, min, max).to_string())
    };
    view! {
        <p class="about">{tr!(store, fit.about)}</p>
        <div class="field fit-limit">
            <label for="fit-limit">{tr!(store, fit.limit)}</label>
            <input
                id="fit-limit"
                type="text"
                inputmode="numeric"
                autocomplete="off"
                prop:value=move || typed.get()
                aria-invalid=move || limit.get().is_none().then_some("true")
                aria-describedby="fit-limit-error"
                on:input=move |event| typed.set(event_target_value(&event))
            />
            <p class="field-error" id="fit-limit-error" role="status">{bad}</p>
        </div>
        <Ask
            label=Signal::derive(tr!(store, fit.ask))
            ready=ready::fit
            msg=Signal::derive_local(move || limit.get().map(Msg::Fit))
            id="fit-not-now"
            stops=true
        />
        <ol class="tries" role="status">
            {move || {
                let locale = store.locale.get();
                tries.with(|tries| {
                    tries.iter().map(|tried| view! { <li data-fits=if tried.fits { "yes" } else { "no" }>{words(locale, *tried)}</li> }).collect_view()
                })
            }}
        </ol>
        <p class="about">{move || stale.get().then(|| td_string!(store.locale.get(), ready.changed))}</p>
        {answer(store, report, move |report| found(store, &report))}
    }
}

/// Bytes of what was typed as whole MiB.
fn mebibytes(typed: &str) -> Option<u64> {
    let mib: u32 = typed.trim().parse().ok()?;
    let allowed = (MIN_MEMORY_MIB..=MAX_MEMORY_MIB).contains(&mib);
    allowed.then(|| u64::from(mib) << 20)
}

fn words(locale: Locale, tried: FitTry) -> String {
    let (m, peak) = (tried.microbatch, format::bytes(locale, tried.peak));
    if tried.fits {
        td_string!(locale, fit.fits, m, peak).to_string()
    } else {
        td_string!(locale, fit.too_much, m, peak).to_string()
    }
}

fn found(store: Store, report: &FitReport) -> impl IntoView + use<> {
    let (limit, target) = (report.limit, format::count(report.target));
    let Some(split) = report.split else {
        let nothing = move || {
            let locale = store.locale.get();
            td_string!(locale, fit.nothing, limit = format::bytes(locale, limit)).to_string()
        };
        return view! { <p class="failed" role="status">{nothing}</p> }.into_any();
    };
    let FittingSplit {
        microbatch,
        accumulation,
        replicas,
        remainder,
    } = split;
    let product = u64::from(microbatch) * u64::from(accumulation) * u64::from(replicas);
    let sum = move || {
        let (m, a, d, n) = (microbatch, accumulation, replicas, format::count(product));
        td_string!(store.locale.get(), fit.found, m, a, d, n).to_string()
    };
    let rest = move || {
        let (locale, target) = (store.locale.get(), target.clone());
        if remainder == 0 {
            td_string!(locale, fit.kept, target).to_string()
        } else {
            td_string!(locale, fit.remainder, target, n = format::count(remainder)).to_string()
        }
    };
    let take = move |_| {
        store.dispatch_all([
            Msg::Edit(Key::Microbatch, microbatch.to_string()),
            Msg::Edit(Key::Accumulation, accumulation.to_string()),
        ]);
    };
    view! {
        <div class="fit-found" role="status">
            <strong>{sum}</strong>
            <span>{rest}</span>
        </div>
        <button type="button" on:click=take>{tr!(store, fit.take)}</button>
    }
    .into_any()
}
