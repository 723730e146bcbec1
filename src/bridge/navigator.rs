//! What the browser tells of its WebGPU adapter, to a page or a worker. By reflection: web-sys keeps WebGPU behind an unstable flag.

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;

use crate::protocol::{AdapterInfo, Found};

/// Asks for an adapter.
pub async fn look() -> Found {
    // The global object has a navigator in pages and in workers.
    let Some(gpu) = field(&js_sys::global(), "navigator").and_then(|navigator| field(&navigator, "gpu")) else {
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
