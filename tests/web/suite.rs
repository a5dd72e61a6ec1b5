//! The suite that runs on every target.

use std::time::Duration;

use race::web::{Delay, WebTimer, sleep};
use race_suite::{ClockKind, Target, WakerKind};
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

struct Web;

impl Target for Web {
    type Timer = WebTimer;
    type Sleep = Delay;
    const CLOCK: ClockKind = ClockKind::Real;
    const WAKERS: WakerKind = WakerKind::Any;

    fn timer(&self) -> WebTimer {
        WebTimer::new()
    }

    fn sleep(&self, duration: Duration) -> Delay {
        sleep(duration)
    }
}

/// The name of the type of the global object, which tells a page from a worker.
fn global_object() -> String {
    js_sys::global().constructor().name().into()
}

#[wasm_bindgen_test]
async fn suite_passes() {
    let passed = race_suite::run(&Web, &mut |name| console_log!("{name}")).await;
    // The task `targets` reads this line.
    console_log!("suite in {}: {passed} passed", global_object());
    assert!(passed > 0);
}
