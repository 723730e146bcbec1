//! Plural forms.

use leptos_i18n::reexports::icu::plurals::PluralRuleType::Cardinal;
use microbatch_lab::ui::{plurals::rules, text::Locale};
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
fn counts_take_the_forms_that_icu_gives_them() {
    for locale in [Locale::en, Locale::ru] {
        let icu = leptos_i18n::__private::get_plural_rules(locale, Cardinal);
        for count in (0..=1_200).chain([1_000_001, 1_000_011, 9_007_199_254_740_992, u64::MAX]) {
            assert_eq!(
                rules(locale, Cardinal).category_for(count),
                icu.category_for(count),
                "{count} in {locale:?}"
            );
        }
    }
}
