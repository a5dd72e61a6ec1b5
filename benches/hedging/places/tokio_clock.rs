use std::{cell::Cell, future::poll_fn, pin::Pin};

use futures::FutureExt as _;
use race::{Moment, test::VirtualClock};
use tokio::{
    runtime::{Builder, Runtime},
    time,
};

/// The clock of tokio, which follows a virtual clock.
pub(super) struct TokioClock {
    runtime: Runtime,
    now: Cell<Moment>,
}

impl TokioClock {
    pub(super) fn new() -> Self {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        Self {
            runtime: runtime.expect("a runtime without threads and sockets is built"),
            now: Cell::new(Moment::ZERO),
        }
    }

    /// Calls code that reads the clock of tokio.
    pub(super) fn enter<T>(&self, code: impl FnOnce() -> T) -> T {
        let _entered = self.runtime.enter();
        code()
    }

    /// Polls a future in the runtime, whose clock shows the time of the other one.
    pub(super) async fn following<F: Future>(
        &self,
        clock: &VirtualClock,
        mut future: Pin<&mut F>,
    ) -> F::Output {
        poll_fn(|cx| {
            let _entered = self.runtime.enter();
            let now = clock.now();
            let passed = now.since(self.now.replace(now));
            if !passed.is_zero() {
                // Its first poll advances the clock.
                let _advanced = time::advance(passed).now_or_never();
            }
            future.as_mut().poll(cx)
        })
        .await
    }
}
