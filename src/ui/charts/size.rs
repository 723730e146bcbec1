//! Following the size of an element.

use js_sys::{Array, Function, Reflect};
use leptos::prelude::*;
use wasm_bindgen::{JsCast as _, JsValue, closure::Closure};
use web_sys::Element;

/// Calls `changed` with width and height in CSS pixels, now and whenever they change, until the component goes.
/// By reflection, since ResizeObserver is all that is needed of it.
pub(super) fn follow_size(element: &Element, changed: impl Fn(f64, f64) + 'static) {
    let tell = {
        let element = element.clone();
        move || changed(f64::from(element.client_width()), f64::from(element.client_height()))
    };
    tell();
    let callback = Closure::<dyn FnMut()>::new(tell);
    let observer = new_observer(callback.as_ref());
    if let Some(observer) = &observer {
        call(observer, "observe", element);
    }
    let held = StoredValue::new_local((observer, callback));
    on_cleanup(move || {
        held.update_value(|(observer, _)| {
            if let Some(observer) = observer {
                call(observer, "disconnect", &JsValue::UNDEFINED);
            }
        });
    });
}

fn new_observer(callback: &JsValue) -> Option<JsValue> {
    let class: Function = Reflect::get(&js_sys::global(), &"ResizeObserver".into())
        .ok()?
        .dyn_into()
        .ok()?;
    Reflect::construct(&class, &Array::of1(callback)).ok()
}

fn call(object: &JsValue, method: &str, argument: &JsValue) {
    let method = Reflect::get(object, &method.into())
        .ok()
        .and_then(|method| method.dyn_into::<Function>().ok());
    if let Some(method) = method {
        // A browser that refuses leaves the chart at its first size.
        method.call1(object, argument).ok();
    }
}
