//! Carries out what the state asks of the outside: the worker, the address bar, what is remembered.

use std::{cell::RefCell, rc::Rc, time::Duration};

use leptos::prelude::*;

use super::{browser, frames::Frames, remember, store::Store};
use crate::{
    bridge::{self, Client},
    lab::{Msg, msg::Effect},
    protocol::{DeviceChoice, DeviceKind, Fault},
    setup::{Draft, codec},
};

/// How long the draft must rest before the address follows it.
const LINK_REST: Duration = Duration::from_millis(300);

/// The worker and the timers of one page.
#[derive(Clone, Default)]
pub(crate) struct Outside(Rc<RefCell<Held>>);

#[derive(Default)]
struct Held {
    client: Option<Client>,
    /// Raised at each respawn: an older one that is still choosing gives up.
    spawn: u32,
    link: Option<TimeoutHandle>,
}

impl Outside {
    /// Carries out `effects` in order.
    pub(crate) fn carry_out(&self, store: Store, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send(command) => {
                    let sent = self.0.borrow().client.as_ref().map(|client| client.send(&command));
                    if let Some(Err(fault)) = sent {
                        store.dispatch(Msg::WorkerDied(fault));
                    }
                }
                Effect::Respawn(choice) => self.respawn(store, choice),
                Effect::WriteLink(draft) => self.write_link(draft),
                Effect::Remember => remember::write(store),
            }
        }
    }

    fn respawn(&self, store: Store, choice: DeviceChoice) {
        let turn = {
            let mut held = self.0.borrow_mut();
            held.client = None;
            held.spawn += 1;
            held.spawn
        };
        let held = Rc::clone(&self.0);
        leptos::task::spawn_local(async move {
            let chosen = bridge::choose(choice).await;
            if held.borrow().spawn != turn {
                return;
            }
            let device = chosen.device;
            store.dispatch(Msg::Chosen(chosen));
            let weak = Rc::downgrade(&held);
            let current = move || weak.upgrade().is_some_and(|held| held.borrow().spawn == turn);
            match spawn(store, device, current) {
                Ok(client) => held.borrow_mut().client = Some(client),
                Err(fault) => store.dispatch(Msg::WorkerDied(fault)),
            }
        });
    }

    fn write_link(&self, draft: Draft) {
        let write = move || browser::replace_hash(&codec::to_link(&draft));
        let timer = set_timeout_with_handle(write, LINK_REST).ok();
        let before = std::mem::replace(&mut self.0.borrow_mut().link, timer);
        if let Some(before) = before {
            before.clear();
        }
    }
}

/// `current` says whether this worker is still the page's: what an older one left behind is not for the state.
fn spawn(store: Store, device: DeviceKind, current: impl Fn() -> bool + Clone + 'static) -> Result<Client, Fault> {
    let still = current.clone();
    let frames = Frames::new(move |events| {
        if still() {
            store.dispatch_news(events);
        }
    });
    let last = frames.clone();
    Client::spawn(
        device,
        move |events| frames.push(events),
        move |fault| {
            // What it said before it died is still news.
            last.flush();
            let current = current.clone();
            // Later, since this runs inside the client that the message ends.
            set_timeout(
                move || {
                    if current() {
                        store.dispatch(Msg::WorkerDied(fault.clone()));
                    }
                },
                Duration::ZERO,
            );
        },
    )
}
