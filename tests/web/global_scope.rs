//! A global scope whose clock and timeouts a test drives.

use std::ops::Deref;

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    pub(crate) type Scope;

    #[wasm_bindgen(method)]
    pub(crate) fn set_clock(this: &Scope, millis: f64);

    #[wasm_bindgen(method)]
    pub(crate) fn call_back(this: &Scope, at: f64);

    #[wasm_bindgen(method)]
    pub(crate) fn timeouts(this: &Scope) -> u32;

    #[wasm_bindgen(method)]
    pub(crate) fn take_delays(this: &Scope) -> Vec<f64>;

    #[wasm_bindgen(method)]
    fn restore(this: &Scope);
}

/// In place from its creation until it is dropped. For tests that do not await.
pub(crate) struct GlobalScope(Scope);

impl GlobalScope {
    pub(crate) fn simulated() -> Self {
        let scope = js_sys::eval(include_str!("global_scope.js"));
        Self(scope.expect("the script runs").unchecked_into())
    }
}

impl Deref for GlobalScope {
    type Target = Scope;

    fn deref(&self) -> &Scope {
        &self.0
    }
}

impl Drop for GlobalScope {
    fn drop(&mut self) {
        self.0.restore();
    }
}
