//! One field of the form: its label, its input and the message that says what to mend.

use leptos::prelude::*;

use crate::{
    lab::Msg,
    setup::{Key, matters::matters},
    ui::{
        refusals::Refusals,
        store::{Store, use_store},
        text::Locale,
        words,
    },
};

/// What a phone offers for typing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keyboard {
    /// Whole numbers.
    #[default]
    Whole,
    /// Numbers with a point.
    Decimal,
    /// Any text.
    Text,
}

impl Keyboard {
    fn input_mode(self) -> &'static str {
        match self {
            Self::Whole => "numeric",
            Self::Decimal => "decimal",
            Self::Text => "text",
        }
    }
}

/// A label in the reader's language.
pub type Words = fn(Locale) -> &'static str;

/// A typed value. Any text is accepted and judged; the message stands right below it.
#[component]
pub fn TextField(
    /// Which field.
    key: Key,
    /// Its label.
    label: Words,
    /// What a phone offers.
    #[prop(optional)]
    keyboard: Keyboard,
    /// How it is written.
    #[prop(optional)]
    help: Option<Words>,
) -> impl IntoView {
    let store = use_store();
    let text = store.field(key);
    let (id, error_id) = ids(key);
    let help_id = format!("{id}-help");
    let described_by = match help {
        Some(_) => format!("{error_id} {help_id}"),
        None => error_id.clone(),
    };
    let error = message_of(store, key);
    let shown = shown(store, key, error);
    view! {
        <div class="field" class:field-wide=move || keyboard == Keyboard::Text hidden=move || !shown.get()>
            <label for=id.clone()>{move || label(store.locale.get())}</label>
            <input
                id=id
                type="text"
                inputmode=keyboard.input_mode()
                autocomplete="off"
                spellcheck="false"
                prop:value=move || text.get()
                aria-invalid=move || error.with(Option::is_some).then_some("true")
                aria-describedby=described_by
                on:input=move |event| store.dispatch(Msg::Edit(key, event_target_value(&event)))
            />
            <ErrorLine id=error_id error=error />
            {help.map(|help| view! { <p class="about" id=help_id>{move || help(store.locale.get())}</p> })}
        </div>
    }
}

/// A choice among named values.
#[component]
pub fn ChoiceField(
    /// Which field.
    key: Key,
    /// Its label.
    label: Words,
    /// Each value with its text.
    options: &'static [(&'static str, Words)],
) -> impl IntoView {
    let store = use_store();
    let text = store.field(key);
    let (id, error_id) = ids(key);
    let error = message_of(store, key);
    let shown = shown(store, key, error);
    view! {
        <div class="field field-wide" hidden=move || !shown.get()>
            <label for=id.clone()>{move || label(store.locale.get())}</label>
            <select
                id=id
                prop:value=move || text.get()
                aria-invalid=move || error.with(Option::is_some).then_some("true")
                aria-describedby=error_id.clone()
                on:change=move |event| store.dispatch(Msg::Edit(key, event_target_value(&event)))
            >
                {options
                    .iter()
                    .map(|&(value, words)| {
                        view! {
                            <option value=value selected=move || text.with(|text| text == value)>
                                {move || words(store.locale.get())}
                            </option>
                        }
                    })
                    .collect_view()}
            </select>
            <ErrorLine id=error_id error=error />
        </div>
    }
}

/// Says what to do about a value. Always in the page, so that a screen reader announces it when it fills.
#[component]
fn ErrorLine(id: String, error: Memo<Option<String>>) -> impl IntoView {
    view! {
        <p class="field-error" id=id role="status">
            {move || error.get()}
        </p>
    }
}

/// The element IDs of a field and of its message.
fn ids(key: Key) -> (String, String) {
    (format!("field-{}", key.name()), format!("field-{}-error", key.name()))
}

/// Where the input of a field is: by its own ID, else whatever takes input and is described by the field's message.
pub fn field_selectors(key: Key) -> [String; 2] {
    let (id, error_id) = ids(key);
    [
        format!("#{id}"),
        format!(":is(input, select, textarea)[aria-describedby~='{error_id}']"),
    ]
}

/// The section that a field is in, whether the field is drawn or not; see `parts::section`.
pub fn section_of(key: Key) -> String {
    format!("details[data-fields~='{}']", key.name())
}

/// What stands in for a field that is not drawn: the button that asks for its part again, else its section.
pub fn stand_in_selectors(key: Key) -> [String; 2] {
    let section = section_of(key);
    [
        format!("{section} .later-failed button"),
        format!("{section} > summary"),
    ]
}

/// What is to be mended in a field: its own value, or what the data of the form comes to because of it.
pub fn message_of(store: Store, key: Key) -> Memo<Option<String>> {
    let refusals = Refusals::of_page();
    Memo::new(move |_| {
        let locale = store.locale.get();
        let own = store.errors.with(|errors| {
            let error = errors.iter().find(|error| error.key == key)?;
            Some(words::problem::problem(locale, &error.problem))
        });
        own.or_else(|| Some(words::fault::data(locale, &refusals?.at(key)?)))
    })
}

/// Whether one of `keys` has something to mend.
pub fn to_mend(store: Store, keys: &'static [Key]) -> Memo<bool> {
    let refusals = Refusals::of_page();
    Memo::new(move |_| {
        store
            .errors
            .with(|errors| errors.iter().any(|error| keys.contains(&error.key)))
            || refusals.is_some_and(|refusals| refusals.any_of(keys))
    })
}

/// A field that has no effect as things are is not shown, unless it has something to mend.
fn shown(store: Store, key: Key, error: Memo<Option<String>>) -> Memo<bool> {
    Memo::new(move |_| store.draft.with(|draft| matters(draft, key)) || error.with(Option::is_some))
}
