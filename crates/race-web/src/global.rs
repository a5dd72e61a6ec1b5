//! The clock and the timeouts of the global scope, which windows, workers and Node have.

use alloc::boxed::Box;

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;

    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &JsValue, millis: i32) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(id: &JsValue);
}

/// The milliseconds since the page, the worker or the process started.
pub(crate) fn now() -> f64 {
    performance_now()
}

/// A function that JavaScript can call until it is dropped.
pub(crate) struct Callback(Closure<dyn FnMut()>);

impl Callback {
    pub(crate) fn new(function: impl FnMut() + 'static) -> Self {
        Self(Closure::wrap(Box::new(function)))
    }
}

/// A timeout that was set: a number in browsers, an object in Node.
pub(crate) struct Timeout(JsValue);

impl Timeout {
    pub(crate) fn set(callback: &Callback, millis: i32) -> Self {
        Self(set_timeout(callback.0.as_ref(), millis))
    }

    pub(crate) fn clear(self) {
        clear_timeout(&self.0);
    }
}
