//! Targets without a global scope.

/// Says what to use instead.
const MISSING: &str = "`race-web` runs on wasm32-unknown-unknown in a browser, a worker or Node; \
                       on this target use `race-thread` (in the `race` crate: `race::thread`)";

pub(crate) fn now() -> f64 {
    panic!("{MISSING}")
}

pub(crate) struct Callback;

impl Callback {
    pub(crate) fn new(_function: impl FnMut() + 'static) -> Self {
        panic!("{MISSING}")
    }
}

pub(crate) struct Timeout;

impl Timeout {
    pub(crate) fn set(_callback: &Callback, _millis: i32) -> Self {
        panic!("{MISSING}")
    }

    pub(crate) fn clear(self) {
        panic!("{MISSING}")
    }
}
