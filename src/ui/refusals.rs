//! Why data is of no use, and the field where that is mended.

use leptos::prelude::*;

use super::{controls::preview::Preview, store::Store};
use crate::{data::DataError, protocol::Fault, setup::Key};

/// What is wrong with the data of one page.
#[derive(Clone, Copy, Debug)]
pub struct Refusals(Memo<Vec<(Key, DataError)>>);

impl Refusals {
    /// What was refused when it was asked for, and what the preview sees; for every field below this component.
    pub fn provide(store: Store, preview: Preview) {
        let told = store.memo(|lab| match &lab.machine.fault {
            Some(Fault::Data(error)) => Some(error.clone()),
            _ => None,
        });
        provide_context(Self(Memo::new(move |_| {
            let seen = preview.with(|preview| preview.as_ref()?.as_ref().err().cloned());
            // That no file was given yet is told once it is asked for.
            let seen = seen.filter(|error| !matches!(error, DataError::FileNeeded { .. }));
            let all = told.get().into_iter().chain(seen);
            store
                .draft
                .with(|draft| all.map(|error| (error.field(draft), error)).collect())
        })));
    }

    /// Those of the page that this component is in.
    pub fn of_page() -> Option<Self> {
        use_context()
    }

    /// What is to be mended in `key`.
    pub fn at(self, key: Key) -> Option<DataError> {
        self.0.with(|all| {
            all.iter()
                .find(|(field, _)| *field == key)
                .map(|(_, error)| error.clone())
        })
    }

    /// Whether anything is to be mended in one of `keys`.
    pub fn any_of(self, keys: &[Key]) -> bool {
        self.0.with(|all| all.iter().any(|(field, _)| keys.contains(field)))
    }
}
