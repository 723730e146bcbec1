//! What the person asked for: small, and kept across visits.

use crate::{batch::Unit, protocol::DeviceChoice, setup::Draft};

use super::msg::OwnFile;

/// The reader's language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Language {
    #[default]
    English,
    Russian,
}

/// Light, dark, or as the system says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

/// The experiment being edited and how results are shown.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// The form, as typed.
    pub draft: Draft,
    /// The person's own file, if one was given.
    pub own: Option<OwnFile>,
    /// Which device is wanted.
    pub device: DeviceChoice,
    /// The chart's horizontal axis.
    pub axis: Unit,
    /// Lanes hidden from the charts, by lane number.
    pub hidden_lanes: Vec<usize>,
    /// Milliseconds to wait after each microbatch; 0 is full speed.
    pub pause_ms: u32,
    /// The reader's language.
    pub language: Language,
    /// The colours.
    pub theme: Theme,
}

impl Default for Blueprint {
    fn default() -> Self {
        Self {
            draft: Draft::default(),
            own: None,
            device: DeviceChoice::Auto,
            axis: Unit::AppliedUpdates,
            hidden_lanes: Vec::new(),
            pause_ms: 0,
            language: Language::English,
            theme: Theme::System,
        }
    }
}
