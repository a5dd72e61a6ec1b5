//! A service with given latencies and answers, which records what happens to it.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll},
    time::Duration,
};

use race_core::test::{VirtualClock, VirtualTimer};
use race_tower::GenericHedgeLayer;
use tower::{Service, ServiceExt as _};

pub(crate) type Answer = Result<&'static str, &'static str>;

/// Never answers.
pub(crate) const HANGS: u64 = u64::MAX;

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A service that answers its calls one after the other with these. Clones share them.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) clock: VirtualClock,
    state: Arc<Mutex<State>>,
}

struct State {
    answers: Vec<(u64, Answer)>,
    /// When each call came, with which request.
    calls: Vec<(u64, String)>,
    /// When calls were dropped before they were answered, by their order.
    dropped: Vec<(usize, u64)>,
}

impl Server {
    pub(crate) fn new(answers: impl IntoIterator<Item = (u64, Answer)>) -> Self {
        Self::with_clock(&VirtualClock::new(), answers)
    }

    pub(crate) fn with_clock(
        clock: &VirtualClock,
        answers: impl IntoIterator<Item = (u64, Answer)>,
    ) -> Self {
        let state = State {
            answers: answers.into_iter().collect(),
            calls: vec![],
            dropped: vec![],
        };
        Self {
            clock: clock.clone(),
            state: Arc::new(Mutex::new(state)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// When it was called.
    pub(crate) fn calls(&self) -> Vec<u64> {
        self.state().calls.iter().map(|(at, _)| *at).collect()
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.state()
            .calls
            .iter()
            .map(|(_, it)| it.clone())
            .collect()
    }

    pub(crate) fn dropped(&self) -> Vec<(usize, u64)> {
        self.state().dropped.clone()
    }

    pub(crate) fn layer<D>(&self, delay: D) -> GenericHedgeLayer<VirtualTimer, D> {
        GenericHedgeLayer::with_timer(self.clock.timer(), delay)
    }
}

pub(crate) fn millis(clock: &VirtualClock) -> u64 {
    clock.elapsed().as_millis() as u64
}

/// Calls a service once it is ready, on the virtual clock.
pub(crate) fn ask<S: Service<String>>(
    clock: &VirtualClock,
    service: &mut S,
    request: &str,
) -> Result<S::Response, S::Error> {
    clock
        .run(async { service.ready().await?.call(request.to_owned()).await })
        .unwrap()
}

impl Service<String> for Server {
    type Response = &'static str;
    type Error = &'static str;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: String) -> Self::Future {
        let now = millis(&self.clock);
        let mut state = self.state();
        let number = state.calls.len();
        state.calls.push((now, request));
        let (latency, answer) = state.answers[number];
        drop(state);
        let sleep = (latency != HANGS).then(|| self.clock.sleep(ms(latency)));
        let mut unanswered = Unanswered(Some((self.clone(), number)));
        Box::pin(async move {
            match sleep {
                Some(sleep) => sleep.await,
                None => std::future::pending().await,
            }
            unanswered.forget();
            answer
        })
    }
}

/// Records the drop of a call.
struct Unanswered(Option<(Server, usize)>);

impl Unanswered {
    fn forget(&mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if let Some((server, number)) = self.0.take() {
            let now = millis(&server.clock);
            server.state().dropped.push((number, now));
        }
    }
}
