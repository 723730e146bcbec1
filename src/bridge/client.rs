//! The page's end of the wire: starts a worker, talks to it, notices its death, ends it.

use std::{cell::Cell, rc::Rc};

use js_sys::{Array, ArrayBuffer, Uint8Array};
use wasm_bindgen::{JsCast as _, JsValue, closure::Closure};
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

use super::wire;
use crate::protocol::{Command, DeviceKind, Event, Fault};

/// A living worker. Dropping it ends the worker; nothing is heard of it afterwards.
#[derive(Debug)]
pub struct Client {
    worker: Worker,
    alive: Rc<Cell<bool>>,
    // Held, since the browser calls them.
    _message: Closure<dyn FnMut(MessageEvent)>,
    _error: Closure<dyn FnMut(web_sys::Event)>,
    _unreadable: Closure<dyn FnMut(MessageEvent)>,
}

impl Client {
    /// Starts the worker of `device`.
    ///
    /// `on_events` hears every message, its events in order. `on_death` hears once that the worker is of no use any more: it could not
    /// be loaded, panicked, or sent what cannot be read. Drop the client then.
    pub fn spawn(
        device: DeviceKind,
        on_events: impl Fn(Vec<Event>) + 'static,
        on_death: impl Fn(Fault) + 'static,
    ) -> Result<Self, Fault> {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        options.set_name(name(device));
        let worker = Worker::new_with_options(&script(device)?, &options).map_err(|error| unreachable(&error))?;

        let alive = Rc::new(Cell::new(true));
        let on_death: Rc<dyn Fn(Fault)> = Rc::new(on_death);
        let die = {
            let alive = Rc::clone(&alive);
            move |fault| {
                if alive.replace(false) {
                    on_death(fault);
                }
            }
        };

        let message = {
            let (alive, die) = (Rc::clone(&alive), die.clone());
            Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
                if alive.get() {
                    match read(&event) {
                        Ok(events) => deliver(events, &on_events, &die),
                        Err(fault) => die(fault),
                    }
                }
            })
        };
        let error = {
            let die = die.clone();
            Closure::<dyn FnMut(web_sys::Event)>::new(move |event: web_sys::Event| die(from_error(&event)))
        };
        let unreadable = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            die(Fault::Unreachable { message: event.type_() });
        });
        worker.set_onmessage(Some(message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(error.as_ref().unchecked_ref()));
        worker.set_onmessageerror(Some(unreadable.as_ref().unchecked_ref()));
        Ok(Self {
            worker,
            alive,
            _message: message,
            _error: error,
            _unreadable: unreadable,
        })
    }

    /// Sends a command. Nothing may be sent before [`Event::Ready`].
    pub fn send(&self, command: &Command) -> Result<(), Fault> {
        let buffer = Uint8Array::from(wire::encode_command(command)?.as_slice()).buffer();
        self.worker
            .post_message_with_transfer(&buffer, &Array::of1(&buffer))
            .map_err(|error| unreachable(&error))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.alive.set(false);
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.set_onmessageerror(None);
        self.worker.terminate();
    }
}

/// The name developer tools show.
fn name(device: DeviceKind) -> &'static str {
    match device {
        DeviceKind::Cpu => "worker_cpu",
        DeviceKind::WebGpu => "worker_gpu",
    }
}

/// The URL that the document names for this worker; the build writes it there with a hash, so that no old worker meets a new page.
fn script(device: DeviceKind) -> Result<String, Fault> {
    let selector = match device {
        DeviceKind::Cpu => "meta[name=worker-cpu]",
        DeviceKind::WebGpu => "meta[name=worker-gpu]",
    };
    let document = web_sys::window().and_then(|window| window.document());
    let meta = document.and_then(|document| document.query_selector(selector).ok().flatten());
    meta.and_then(|meta| meta.get_attribute("content"))
        .ok_or_else(|| Fault::Unreachable {
            message: format!("the document has no {selector}"),
        })
}

fn read(event: &MessageEvent) -> Result<Vec<Event>, Fault> {
    let buffer: ArrayBuffer = event.data().dyn_into().map_err(|_| Fault::Unreachable {
        message: "a message without bytes".to_owned(),
    })?;
    wire::decode_events(&Uint8Array::new(&buffer).to_vec())
}

/// A panic is the worker's last word; whatever came before it in the same message is still news.
fn deliver(mut events: Vec<Event>, on_events: &impl Fn(Vec<Event>), die: &impl Fn(Fault)) {
    let last_words = events.iter().position(|event| {
        matches!(
            event,
            Event::Fault {
                fault: Fault::Panicked { .. },
                ..
            }
        )
    });
    let rest = last_words.map(|at| events.split_off(at));
    if !events.is_empty() {
        on_events(events);
    }
    if let Some(Event::Fault { fault, .. }) = rest.and_then(|rest| rest.into_iter().next()) {
        die(fault);
    }
}

/// A script that could not be fetched gives a plain event without a text; an error inside the worker an [`ErrorEvent`].
fn from_error(event: &web_sys::Event) -> Fault {
    event.prevent_default();
    let message = event
        .dyn_ref::<ErrorEvent>()
        .map(ErrorEvent::message)
        .filter(|text| !text.is_empty());
    match message {
        Some(message) => Fault::Panicked { message },
        None => Fault::Unreachable {
            message: "its script could not be loaded".to_owned(),
        },
    }
}

fn unreachable(error: &JsValue) -> Fault {
    let message = js_sys::Reflect::get(error, &JsValue::from_str("message"))
        .ok()
        .and_then(|text| text.as_string());
    Fault::Unreachable {
        message: message.unwrap_or_else(|| format!("{error:?}")),
    }
}
