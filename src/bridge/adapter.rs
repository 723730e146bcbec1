//! Asking the browser for an adapter, before any worker is loaded: which worker to load depends on the answer.

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;

use crate::protocol::{AdapterInfo, Chosen, DeviceChoice, DeviceKind, Found};

/// Which device to use, and why. Asks for an adapter only under [`DeviceChoice::Auto`].
pub async fn choose(choice: DeviceChoice) -> Chosen {
    match choice {
        DeviceChoice::Auto => Chosen::auto(&look().await),
        DeviceChoice::Cpu => Chosen::asked(DeviceKind::Cpu),
        DeviceChoice::WebGpu => Chosen::asked(DeviceKind::WebGpu),
    }
}

/// What the browser offers. By reflection: web-sys keeps WebGPU behind an unstable flag.
async fn look() -> Found {
    let Some(gpu) = web_sys::window().and_then(|window| field(&window.navigator(), "gpu")) else {
        return Found::NoWebGpu;
    };
    match request(&gpu).await {
        Some(adapter) => Found::Adapter(info(&adapter)),
        None => Found::NoAdapter,
    }
}

async fn request(gpu: &JsValue) -> Option<JsValue> {
    let request: Function = field(gpu, "requestAdapter")?.dyn_into().ok()?;
    let promise: Promise = request.call0(gpu).ok()?.dyn_into().ok()?;
    JsFuture::from(promise)
        .await
        .ok()
        .filter(|adapter| !adapter.is_null() && !adapter.is_undefined())
}

fn info(adapter: &JsValue) -> AdapterInfo {
    let info = field(adapter, "info").unwrap_or(JsValue::UNDEFINED);
    let text = |name| {
        field(&info, name)
            .and_then(|value| value.as_string())
            .unwrap_or_default()
    };
    let flag = |object, name| {
        field(object, name)
            .and_then(|value| value.as_bool())
            .unwrap_or_default()
    };
    AdapterInfo {
        vendor: text("vendor"),
        architecture: text("architecture"),
        device: text("device"),
        description: text("description"),
        // It moved from the adapter to its info; browsers have one or the other.
        fallback: flag(&info, "isFallbackAdapter") || flag(adapter, "isFallbackAdapter"),
    }
}

/// A property that is there and neither null nor undefined.
fn field(object: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(object, &JsValue::from_str(name))
        .ok()
        .filter(|value| !value.is_null() && !value.is_undefined())
}
