//! Which form of a text a count takes, in the languages of the page. The generated texts ask here (see `build.rs`): ICU's own answer
//! brings the fallbacks and aliases of all the world's locales with it.
//!
//! Rules: <https://www.unicode.org/cldr/charts/latest/supplemental/language_plural_rules.html>, cardinals of `en` and `ru`.

use leptos_i18n::reexports::icu::plurals::{PluralCategory, PluralRuleType};

use super::text::Locale;

/// The rules of one language.
#[derive(Clone, Copy, Debug)]
pub struct Rules(Locale);

/// The rules of `locale`. Texts count things, so there are no ordinals.
pub fn rules(locale: Locale, _cardinal: PluralRuleType) -> Rules {
    Rules(locale)
}

/// What texts count.
pub trait Count {
    /// How many; all counts of the page are whole.
    fn whole(self) -> u64;
}

impl Count for u64 {
    fn whole(self) -> u64 {
        self
    }
}

impl Count for usize {
    fn whole(self) -> u64 {
        self as u64
    }
}

impl Rules {
    /// The form that `count` takes.
    pub fn category_for(self, count: impl Count) -> PluralCategory {
        let n = count.whole();
        match self.0 {
            Locale::en if n == 1 => PluralCategory::One,
            Locale::en => PluralCategory::Other,
            Locale::ru => match (n % 10, n % 100) {
                (1, tens) if tens != 11 => PluralCategory::One,
                (2..=4, tens) if !(12..=14).contains(&tens) => PluralCategory::Few,
                _ => PluralCategory::Many,
            },
        }
    }
}
