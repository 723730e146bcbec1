//! Language, colours and device, kept from visit to visit. The experiment itself lives in the link.

use leptos::prelude::window;

use super::{browser, store::Store};
use crate::{
    lab::{Blueprint, Language, Theme},
    protocol::DeviceChoice,
};

const LANGUAGE: &str = "language";
const THEME: &str = "theme";
const DEVICE: &str = "device";

/// What the last visit left; the browser's own language where it left none.
pub(crate) fn read(blueprint: &mut Blueprint) {
    let language = browser::recall(LANGUAGE).or_else(|| window().navigator().language());
    if language.is_some_and(|language| language.starts_with("ru")) {
        blueprint.language = Language::Russian;
    }
    blueprint.theme = browser::recall(THEME).map_or(Theme::System, |theme| match theme.as_str() {
        "light" => Theme::Light,
        "dark" => Theme::Dark,
        _ => Theme::System,
    });
    blueprint.device = browser::recall(DEVICE).map_or(DeviceChoice::Auto, |device| match device.as_str() {
        "cpu" => DeviceChoice::Cpu,
        "webgpu" => DeviceChoice::WebGpu,
        _ => DeviceChoice::Auto,
    });
}

/// Writes it down for the next visit.
pub(crate) fn write(store: Store) {
    let (language, theme, device) =
        store.peek(|lab| (lab.blueprint.language, lab.blueprint.theme, lab.blueprint.device));
    browser::remember(LANGUAGE, language_code(language));
    browser::remember(THEME, theme_name(theme));
    browser::remember(DEVICE, device_name(device));
}

/// The language's code, for `lang`.
pub(crate) fn language_code(language: Language) -> &'static str {
    match language {
        Language::English => "en",
        Language::Russian => "ru",
    }
}

/// The name under which the style sheets know a theme.
pub(crate) fn theme_name(theme: Theme) -> &'static str {
    match theme {
        Theme::System => "system",
        Theme::Light => "light",
        Theme::Dark => "dark",
    }
}

/// The stable name of a device choice.
pub(crate) fn device_name(device: DeviceChoice) -> &'static str {
    match device {
        DeviceChoice::Auto => "auto",
        DeviceChoice::Cpu => "cpu",
        DeviceChoice::WebGpu => "webgpu",
    }
}
