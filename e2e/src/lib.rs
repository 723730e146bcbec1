//! A stage for stories: the built site behind a server, a browser in front of it, and ways to find things as a person would.

pub mod browser;
pub mod find;
pub mod page;
pub mod run;
pub mod site;
pub mod stage;

pub use find::Name;
pub use page::Page;
pub use stage::{story, story_in};

/// What went wrong, in words.
pub type Trouble = Box<dyn std::error::Error + Send + Sync>;

/// Ends a story with a message unless `condition` holds.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+).into());
        }
    };
}
