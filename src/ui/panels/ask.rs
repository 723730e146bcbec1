//! A question for the worker: the button that asks it, why it cannot be asked now, and its answer.

use leptos::prelude::*;

use crate::{
    lab::{Answer, Lab, Msg, NotNow},
    protocol::Fault,
    ui::{
        store::{Store, use_store},
        text::{Locale, td_string, tr},
        words,
    },
};

/// The button, with the reason beside it while it cannot be pressed.
#[component]
pub fn Ask(
    /// What it says.
    #[prop(into)]
    label: Signal<&'static str>,
    /// Whether the question can be asked.
    ready: fn(&Lab) -> Result<(), NotNow>,
    /// The question; `None` where what was typed for it is no question.
    #[prop(into)]
    msg: Signal<Option<Msg>, LocalStorage>,
    /// The element ID of the reason.
    id: &'static str,
    /// Whether the worker can be told to stop while it is at it.
    #[prop(optional)]
    stops: bool,
) -> impl IntoView {
    let store = use_store();
    let not_now = store.memo(move |lab| ready(lab).err());
    let unasked = move || not_now.get().is_some() || msg.with(Option::is_none);
    let ask = move |_| {
        if let Some(msg) = msg.get_untracked() {
            store.dispatch(msg);
        }
    };
    view! {
        <div class="ask">
            <button type="button" prop:disabled=unasked aria-describedby=id on:click=ask>
                {move || label.get()}
            </button>
            {move || {
                let asked = stops && not_now.get() == Some(NotNow::Asked);
                let stop = move |_| store.dispatch(Msg::Stop);
                asked.then(|| view! { <button type="button" on:click=stop>{tr!(store, ready.stop)}</button> })
            }}
            <span class="about" id=id role="status">
                {move || not_now.get().map(|reason| why(store.locale.get(), reason))}
            </span>
        </div>
    }
}

/// The answer once it is there, or why there is none.
pub fn answer<T, V>(
    store: Store,
    answer: Memo<Answer<T>>,
    done: impl Fn(T) -> V + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + PartialEq + Send + Sync + 'static,
    V: IntoAny + 'static,
{
    move || match answer.get() {
        Answer::None | Answer::Waiting => ().into_any(),
        // What the person wanted is no failure.
        Answer::Failed(fault @ Fault::Stopped) => {
            view! { <p class="about" role="status">{move || words::fault::fault(store.locale.get(), &fault)}</p> }
                .into_any()
        }
        Answer::Failed(fault) => {
            view! { <p class="failed" role="status">{move || words::fault::fault(store.locale.get(), &fault)}</p> }
                .into_any()
        }
        Answer::Done(answer) => done(answer).into_any(),
    }
}

fn why(locale: Locale, reason: NotNow) -> &'static str {
    match reason {
        NotNow::NoDevice => td_string!(locale, ready.no_device),
        NotNow::NoRun => td_string!(locale, ready.no_run),
        NotNow::Busy => td_string!(locale, ready.busy),
        NotNow::InsideGroup => td_string!(locale, ready.inside),
        NotNow::FormHasErrors => td_string!(locale, ready.form),
        NotNow::Asked => td_string!(locale, ready.asked),
    }
}
