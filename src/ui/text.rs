//! The reader's languages: keys, arguments and plural forms of `web/locales/*.json`, checked when the page is built.

include!(concat!(env!("OUT_DIR"), "/i18n/mod.rs"));

use leptos::prelude::{Get as _, Memo};

pub use i18n::{Locale, td_string};

/// Gives a text in the reader's language, and again when the language changes.
///
/// One type for all texts: every type that a view holds is compiled on its own, and the page has some hundred and fifty of these.
pub fn follow(
    locale: Memo<Locale>,
    read: fn(Locale) -> &'static str,
) -> impl Fn() -> &'static str + Copy + Send + Sync + 'static {
    move || read(locale.get())
}

/// A closure that gives the text of a key in the reader's language, and again when the language changes.
macro_rules! tr {
    ($store:expr, $($key:tt)*) => {
        $crate::ui::text::follow($store.locale, |locale| $crate::ui::text::td_string!(locale, $($key)*))
    };
}
pub(crate) use tr;
