//! The reader's languages: keys, arguments and plural forms of `web/locales/*.json`, checked when the page is built.

include!(concat!(env!("OUT_DIR"), "/i18n/mod.rs"));

pub use i18n::{Locale, td_string};

/// A closure that gives the text of a key in the reader's language, and again when the language changes.
macro_rules! tr {
    ($store:expr, $($key:tt)*) => {{
        let locale = $store.locale;
        move || $crate::ui::text::td_string!(leptos::prelude::Get::get(&locale), $($key)*)
    }};
}
pub(crate) use tr;
