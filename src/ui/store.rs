//! The one state of the page, and the one way to change it.

use std::{rc::Rc, sync::Arc};

use leptos::prelude::*;

use super::{
    text::Locale,
    turns::{Turn, Turns},
};
use crate::{
    batch::LaneRule,
    lab::{Lab, Language, Msg, Recording, Transport, machine::DeviceState, msg::Effect, update},
    protocol::{Event, GroupRow, RunId},
    setup::{Draft, FieldError, Key, Setup, limits::MAX_LANES, named_lanes, parse::parse},
};

type Outside = Rc<dyn Fn(Store, Vec<Effect>)>;

/// A handle to the page's state. Panels read it through memos, so that a message re-renders only what it changed.
#[derive(Clone, Copy)]
pub struct Store {
    lab: RwSignal<Lab>,
    outside: StoredValue<Outside, LocalStorage>,
    /// The reader's language.
    pub locale: Memo<Locale>,
    /// The form, as typed.
    pub draft: Memo<Draft>,
    /// The form, where it parses.
    pub setup: Memo<Option<Arc<Setup>>>,
    /// What is wrong with the form.
    pub errors: Memo<Vec<FieldError>>,
    /// What the run does.
    pub transport: Memo<Transport>,
    /// Where the device stands.
    pub device: Memo<DeviceState>,
    /// The lanes shown: those of the run, else those of the form.
    pub lanes: Memo<Vec<LaneRule>>,
    turns: Turns,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// The state, with what carries out its effects.
    pub fn new(lab: Lab, outside: impl Fn(Self, Vec<Effect>) + 'static) -> Self {
        let lab = RwSignal::new(lab);
        let draft = Memo::new(move |_| lab.with(|lab| lab.blueprint.draft.clone()));
        let setup = Memo::new(move |_| draft.with(parse).ok().map(Arc::new));
        Self {
            lab,
            outside: StoredValue::new_local(Rc::new(outside)),
            locale: Memo::new(move |_| lab.with(|lab| locale(lab.blueprint.language))),
            draft,
            setup,
            errors: Memo::new(move |_| lab.with(|lab| lab.errors.clone())),
            transport: Memo::new(move |_| lab.with(|lab| lab.machine.transport)),
            device: Memo::new(move |_| lab.with(|lab| lab.machine.device.clone())),
            lanes: Memo::new(move |before: Option<&Vec<LaneRule>>| lanes(lab, setup, before)),
            turns: Turns::new(),
        }
    }

    /// Applies one message and carries out what follows from it.
    pub fn dispatch(self, msg: Msg) {
        self.dispatch_all([msg]);
    }

    /// Applies messages as one change, so that the page is drawn once.
    pub fn dispatch_all(self, msgs: impl IntoIterator<Item = Msg>) {
        self.apply(msgs);
        self.turns.all();
    }

    /// Applies the worker's news as one change; what a run reports is drawn part by part.
    pub fn dispatch_news(self, news: impl IntoIterator<Item = Event>) {
        self.apply(news.into_iter().map(Msg::Worker));
        self.turns.one_by_one();
    }

    fn apply(self, msgs: impl IntoIterator<Item = Msg>) {
        let effects = self
            .lab
            .try_update(|lab| msgs.into_iter().flat_map(|msg| update(lab, msg)).collect::<Vec<_>>());
        let outside = self.outside.try_get_value();
        if let (Some(effects), Some(outside)) = (effects, outside)
            && !effects.is_empty()
        {
            outside(self, effects);
        }
    }

    /// A derived value that changes only when its own part of the state does.
    pub fn memo<T: PartialEq + Send + Sync + 'static>(
        self,
        read: impl Fn(&Lab) -> T + Send + Sync + 'static,
    ) -> Memo<T> {
        let lab = self.lab;
        Memo::new(move |_| lab.with(&read))
    }

    /// The same for what a run reports: it is looked at when its part of the page has its turn.
    pub fn memo_in<T: PartialEq + Send + Sync + 'static>(
        self,
        turn: Turn,
        read: impl Fn(&Lab) -> T + Send + Sync + 'static,
    ) -> Memo<T> {
        Memo::new(move |_| self.follow_in(turn, &read))
    }

    /// Reads inside another memo or view, at each turn of that part of the page.
    pub fn follow_in<T>(self, turn: Turn, read: impl FnOnce(&Lab) -> T) -> T {
        self.turns.track(turn);
        self.lab.with_untracked(read)
    }

    /// Gives a part of the page that is not always there its turn for as long as the present owner lives.
    pub fn hold(self, turn: Turn) {
        self.turns.hold(turn);
    }

    /// Which run is shown and how many of its groups have ended.
    pub fn ended_in(self, turn: Turn) -> Memo<Option<(RunId, usize)>> {
        self.memo_in(turn, |lab| {
            let recording = lab.recording.as_ref();
            recording.map(|recording| (recording.run, recording.groups.len()))
        })
    }

    /// Reads without following changes.
    pub fn peek<T>(self, read: impl FnOnce(&Lab) -> T) -> T {
        self.lab.with_untracked(read)
    }

    /// Reads the run shown and its last ended group, at each turn of that part of the page; `None` before the first.
    pub fn last<T>(self, turn: Turn, read: impl FnOnce(&Recording, &GroupRow) -> T) -> Option<T> {
        self.follow_in(turn, |lab| {
            let recording = lab.recording.as_ref()?;
            Some(read(recording, recording.groups.last()?))
        })
    }

    /// The text of one field, as typed.
    pub fn field(self, key: Key) -> Memo<String> {
        let draft = self.draft;
        Memo::new(move |_| draft.with(|draft| draft.get(key).to_owned()))
    }
}

/// The page's state, from anywhere below the root.
///
/// # Panics
/// Outside of [`super::Page`], which is a mistake of the program.
pub fn use_store() -> Store {
    // Provided by the root before anything is drawn; a panel outside the root is a mistake of the program.
    #[expect(clippy::expect_used, reason = "a mistake of the program, seen by the first test")]
    use_context::<Store>().expect("the root provides the store")
}

fn locale(language: Language) -> Locale {
    match language {
        Language::English => Locale::en,
        Language::Russian => Locale::ru,
    }
}

/// Whatever lanes a form names, though the rest of it does not parse.
fn shown_lanes(draft: &Draft) -> Vec<LaneRule> {
    let mut lanes = named_lanes(draft.get(Key::Lanes));
    lanes.truncate(MAX_LANES);
    lanes
}

/// While the form does not parse and nothing is recorded, what was shown stays.
fn lanes(lab: RwSignal<Lab>, setup: Memo<Option<Arc<Setup>>>, before: Option<&Vec<LaneRule>>) -> Vec<LaneRule> {
    let recorded = lab.with(|lab| lab.recording.as_ref().map(|recording| recording.setup.lanes.clone()));
    recorded
        .or_else(|| setup.with(|setup| setup.as_ref().map(|setup| setup.lanes.clone())))
        .or_else(|| before.cloned())
        .unwrap_or_else(|| lab.with(|lab| shown_lanes(&lab.blueprint.draft)))
}
