//! What the page offers to whoever drives the browser: `window.__bench(work, options)`, and `?own`, which tells its server what it measured.

use js_sys::{Array, Error, Object, Promise, Reflect};
use microbatch_lab::protocol::{DeviceKind, Fault, Fixture};
use wasm_bindgen::{JsValue, closure::Closure};
use wasm_bindgen_futures::{JsFuture, future_to_promise, spawn_local};

use crate::{
    own,
    training::{Training, now_ms},
    work::Work,
};

/// The page's event loop turns at least this often, in milliseconds, while something is made.
const TURN_MS: f64 = 8.0;

/// Puts `__bench` on the window; with `?own` in the address, measures at once.
pub(crate) fn offer() {
    let bench = Closure::<dyn FnMut(JsValue, JsValue) -> Promise>::new(|work: JsValue, options: JsValue| {
        future_to_promise(async move {
            let work = work.as_string().as_deref().and_then(Work::named);
            let work = work.ok_or_else(|| JsValue::from(Error::new("no work of that name")))?;
            train(work, &Options::of(&options)).await.map_err(|fault| error(&fault))
        })
    });
    set(&js_sys::global(), "__bench", bench.as_ref());
    // Called for as long as the page lives.
    bench.forget();
    let query = query();
    if query.split('&').any(|word| word == "own") {
        let quick = query.split('&').any(|word| word == "quick");
        spawn_local(async move {
            own::measure(quick, tell).await;
        });
    }
}

/// How much to train.
struct Options {
    updates: u32,
    warmup: u32,
    budget_ms: f64,
    min_updates: u32,
}

impl Options {
    fn of(value: &JsValue) -> Self {
        let number = |name: &str, default: f64| {
            let found = Reflect::get(value, &JsValue::from_str(name)).ok();
            found.and_then(|found| found.as_f64()).unwrap_or(default)
        };
        Self {
            updates: whole(number("updates", 12.0)),
            warmup: whole(number("warmup", 3.0)),
            budget_ms: number("budgetMs", 120_000.0),
            min_updates: whole(number("minUpdates", 3.0)),
        }
    }
}

async fn train(work: Work, options: &Options) -> Result<JsValue, Fault> {
    let began_ms = now_ms();
    let training = Training::start(device()).await?;
    let opened_ms = now_ms();
    let all = options.updates + options.warmup;
    training.load(given(work, all, "token_weighted").await?).await?;
    let loaded_ms = now_ms();
    let (times, losses) = (Array::new(), Array::new());
    let mut first_done_ms = f64::NAN;
    for u in 0..all {
        let handed_ms = now_ms();
        let ended = training.update().await?;
        if u == 0 {
            first_done_ms = ended.heard_ms;
        }
        times.push(&(ended.heard_ms - handed_ms).into());
        let loss = ended.row.lanes.first().and_then(|lane| lane.loss.token_weighted());
        losses.push(&loss.into());
        set(&js_sys::global(), "__progress", &object(&[("u", u.into())]));
        if now_ms() - began_ms > options.budget_ms && u >= options.min_updates {
            break;
        }
    }
    let info = object(&[
        ("device", name(device()).into()),
        ("openedMs", opened_ms.into()),
        ("loadedMs", loaded_ms.into()),
    ]);
    Ok(object(&[
        ("firstDoneMs", first_done_ms.into()),
        ("times", times.into()),
        ("losses", losses.into()),
        ("endMs", now_ms().into()),
        ("info", info),
    ]))
}

/// So many updates of a work, made a few milliseconds at a time.
pub(crate) async fn given(work: Work, updates: u32, lanes: &str) -> Result<Fixture, Fault> {
    let start = in_turns(work.start()).await;
    let examples = in_turns(work.batches(updates)).await;
    let fixture = work.fixture(start, examples, lanes).ok_or(Fault::NoSuchRun);
    turn().await;
    fixture
}

async fn in_turns<T>(parts: impl Iterator<Item = Vec<T>>) -> Vec<T> {
    let (mut all, mut turned_ms) = (Vec::new(), now_ms());
    for part in parts {
        all.extend(part);
        if now_ms() - turned_ms > TURN_MS {
            turn().await;
            turned_ms = now_ms();
        }
    }
    all
}

/// Lets the page's event loop turn.
async fn turn() {
    let turned = Promise::new(&mut |resolve, _| {
        if let Some(window) = web_sys::window() {
            // Fails only where there is no window.
            window.set_timeout_with_callback(&resolve).ok();
        }
    });
    JsFuture::from(turned).await.ok();
}

/// `?device=` in the address, else what the document says, else the CPU device.
fn device() -> DeviceKind {
    let query = query();
    let asked = query.split('&').find_map(|word| word.strip_prefix("device="));
    let written = web_sys::window()
        .and_then(|window| window.document())
        .and_then(|document| document.query_selector("meta[name=bench-device]").ok().flatten())
        .and_then(|meta| meta.get_attribute("content"));
    match asked.map(str::to_owned).or(written).as_deref() {
        Some("webgpu") => DeviceKind::WebGpu,
        _ => DeviceKind::Cpu,
    }
}

fn name(device: DeviceKind) -> &'static str {
    match device {
        DeviceKind::Cpu => "cpu",
        DeviceKind::WebGpu => "webgpu",
    }
}

fn query() -> String {
    let search = web_sys::window().and_then(|window| window.location().search().ok());
    search.unwrap_or_default().trim_start_matches('?').to_owned()
}

/// Says one line to the server that the page came from, in the address of a request.
async fn tell(line: String) {
    let Some(window) = web_sys::window() else { return };
    let encoded = String::from(js_sys::encode_uri_component(&line));
    let asked = window.fetch_with_str(&format!("told?{encoded}"));
    // The server answers that there is nothing; that it heard is enough.
    JsFuture::from(asked).await.ok();
}

fn object(entries: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (name, value) in entries {
        set(&object, name, value);
    }
    object.into()
}

fn set(target: &Object, name: &str, value: &JsValue) {
    // Fails only for what is frozen, and none of these is.
    Reflect::set(target, &JsValue::from_str(name), value).ok();
}

fn error(fault: &Fault) -> JsValue {
    Error::new(&fault.to_string()).into()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of a float saturates, and that is meant"
)]
fn whole(number: f64) -> u32 {
    number as u32
}
