//! The worker's end of the wire: its queue of commands, its clock and its last words, around [`pilot::serve`].

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::poll_fn,
    rc::Rc,
    task::{Poll, Waker},
};

use js_sys::{Array, ArrayBuffer, Reflect, Uint8Array};
use wasm_bindgen::{JsCast as _, JsValue, closure::Closure};
use web_sys::{DedicatedWorkerGlobalScope, MessageChannel, MessageEvent, MessagePort};

use super::{
    pilot::{self, World},
    trainer::Workshop,
    wire,
};
use crate::protocol::{Command, Event, Fault};

/// Serves the page for as long as this worker lives. Call it once, from `main`.
pub fn start(workshop: impl Workshop + 'static) {
    report_panics();
    report_rejections();
    wasm_bindgen_futures::spawn_local(async move {
        pilot::serve(&Browser::new(), workshop).await;
    });
}

fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}

/// Sends one message, its bytes handed over rather than copied.
fn post(events: &[Event]) {
    let sent = wire::encode_events(events).and_then(|bytes| {
        let buffer = Uint8Array::from(bytes.as_slice()).buffer();
        scope()
            .post_message_with_transfer(&buffer, &Array::of1(&buffer))
            .map_err(|error| Fault::Unreachable { message: text(&error) })
    });
    if let Err(fault) = sent {
        // Uncaught on purpose: the browser hands it to the page's `onerror`.
        wasm_bindgen::throw_str(&fault.to_string());
    }
}

/// A panic ends the module, so its message has to leave before that.
fn report_panics() {
    std::panic::set_hook(Box::new(|info| {
        console_error_panic_hook::hook(info);
        last_words(info.to_string());
    }));
}

/// A trap that is no panic (a full stack, no memory left) surfaces as a rejected promise, which no page hears of by itself.
fn report_rejections() {
    let heard = Closure::<dyn FnMut(web_sys::Event)>::new(|event: web_sys::Event| {
        let reason = Reflect::get(&event, &JsValue::from_str("reason")).unwrap_or(JsValue::UNDEFINED);
        last_words(text(&reason));
    });
    scope()
        .add_event_listener_with_callback("unhandledrejection", heard.as_ref().unchecked_ref())
        .ok();
    // Needed for as long as the worker lives.
    heard.forget();
}

fn last_words(message: String) {
    post(&[Event::Fault {
        run: None,
        fault: Fault::Panicked { message },
    }]);
}

fn text(error: &JsValue) -> String {
    let message = Reflect::get(error, &JsValue::from_str("message"))
        .ok()
        .and_then(|message| message.as_string());
    message
        .or_else(|| error.as_string())
        .unwrap_or_else(|| format!("{error:?}"))
}

/// What ends a wait.
#[derive(Default)]
struct Bell {
    rung: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Bell {
    fn ring(&self) {
        self.rung.set(true);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    async fn heard(&self) {
        poll_fn(|context| {
            if self.rung.replace(false) {
                return Poll::Ready(());
            }
            self.waker.replace(Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
    }
}

/// The event loop of a worker.
struct Browser {
    commands: Rc<RefCell<VecDeque<Command>>>,
    bell: Rc<Bell>,
    /// A message to oneself is the shortest way round the event loop; a timer is held back to 4 ms.
    port: Option<MessagePort>,
    /// The newest turn; an older one that was cut short by a command rings no bell.
    turn: Rc<Cell<f64>>,
    timer: Closure<dyn FnMut()>,
}

impl Browser {
    fn new() -> Self {
        let bell = Rc::new(Bell::default());
        let commands = Rc::new(RefCell::new(VecDeque::new()));
        let turn = Rc::new(Cell::new(0.0));
        listen(Rc::clone(&commands), Rc::clone(&bell));
        let port = MessageChannel::new().ok().map(|channel| {
            let (bell, turn) = (Rc::clone(&bell), Rc::clone(&turn));
            let turned = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
                if event.data().as_f64() == Some(turn.get()) {
                    bell.ring();
                }
            });
            channel.port1().set_onmessage(Some(turned.as_ref().unchecked_ref()));
            turned.forget();
            channel.port2()
        });
        let timer = {
            let bell = Rc::clone(&bell);
            Closure::<dyn FnMut()>::new(move || bell.ring())
        };
        Self {
            commands,
            bell,
            port,
            turn,
            timer,
        }
    }

    /// Whether the bell will be rung by the event loop's next turn.
    fn ask_for_turn(&self) -> bool {
        self.turn.set(self.turn.get() + 1.0);
        let number = JsValue::from_f64(self.turn.get());
        self.port
            .as_ref()
            .is_some_and(|port| port.post_message(&number).is_ok())
    }

    fn ask_for_timer(&self, ms: u32) -> Option<i32> {
        let ms = i32::try_from(ms).unwrap_or(i32::MAX);
        let callback = self.timer.as_ref().unchecked_ref();
        scope()
            .set_timeout_with_callback_and_timeout_and_arguments_0(callback, ms)
            .ok()
    }
}

fn listen(commands: Rc<RefCell<VecDeque<Command>>>, bell: Rc<Bell>) {
    let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        match read(&event) {
            Ok(command) => commands.borrow_mut().push_back(command),
            Err(fault) => post(&[Event::Fault { run: None, fault }]),
        }
        bell.ring();
    });
    scope().set_onmessage(Some(heard.as_ref().unchecked_ref()));
    heard.forget();
}

fn read(event: &MessageEvent) -> Result<Command, Fault> {
    let no_bytes = |_| Fault::Unreachable {
        message: "a command without bytes".to_owned(),
    };
    let buffer: ArrayBuffer = event.data().dyn_into().map_err(no_bytes)?;
    wire::decode_command(&Uint8Array::new(&buffer).to_vec())
}

impl World for Browser {
    fn now_ms(&self) -> f64 {
        scope()
            .performance()
            .map_or_else(js_sys::Date::now, |clock| clock.now())
    }

    fn post(&self, events: &[Event]) {
        post(events);
    }

    fn take(&self) -> Option<Command> {
        self.commands.borrow_mut().pop_front()
    }

    async fn wait(&self, ms: Option<u32>) -> bool {
        if !self.commands.borrow().is_empty() {
            // Came while something else was awaited, and its bell may be spent.
            return true;
        }
        self.bell.rung.set(false);
        let timer = match ms {
            Some(0) if self.ask_for_turn() => None,
            Some(ms) => self.ask_for_timer(ms),
            None => None,
        };
        self.bell.heard().await;
        if let Some(timer) = timer {
            scope().clear_timeout_with_handle(timer);
        }
        true
    }
}
