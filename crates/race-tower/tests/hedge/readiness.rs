//! Backpressure: every attempt waits until its service is ready.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use race_core::test::{VirtualClock, VirtualSleep};
use race_tower::HedgeError;
use tower::{Layer as _, Service, ServiceExt as _, limit::ConcurrencyLimit};

use crate::server::{HANGS, Server, ask, millis, ms};

/// Must be ready before each call, and so must each clone. A clone takes this long to be ready.
struct Readied<S> {
    inner: S,
    clock: VirtualClock,
    takes: u64,
    state: Readiness,
    /// The number of clones.
    clones: Arc<AtomicUsize>,
}

enum Readiness {
    No,
    Waiting(VirtualSleep),
    Ready,
}

impl<S> Readied<S> {
    /// The first of all is ready at once.
    fn new(inner: S, clock: &VirtualClock, takes: u64) -> Self {
        Self {
            inner,
            clock: clock.clone(),
            takes,
            state: Readiness::Waiting(clock.sleep(ms(0))),
            clones: Arc::default(),
        }
    }
}

impl<S: Clone> Clone for Readied<S> {
    fn clone(&self) -> Self {
        self.clones.fetch_add(1, Ordering::Relaxed);
        Self {
            inner: self.inner.clone(),
            clock: self.clock.clone(),
            takes: self.takes,
            state: Readiness::No,
            clones: self.clones.clone(),
        }
    }
}

impl<S: Service<String>> Service<String> for Readied<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        loop {
            match &mut self.state {
                Readiness::No => self.state = Readiness::Waiting(self.clock.sleep(ms(self.takes))),
                Readiness::Waiting(sleep) => {
                    std::task::ready!(std::pin::Pin::new(sleep).poll(cx));
                    self.state = Readiness::Ready;
                }
                Readiness::Ready => return Poll::Ready(Ok(())),
            }
        }
    }

    fn call(&mut self, request: String) -> S::Future {
        assert!(
            matches!(self.state, Readiness::Ready),
            "called without having been ready"
        );
        self.state = Readiness::No;
        self.inner.call(request)
    }
}

/// The usual mistake is to call the clone, which is not ready.
#[test]
fn service_that_answered_ready_is_the_one_that_is_called() {
    let server = Server::new([(10, Ok("0")), (10, Ok("1"))]);
    let readied = Readied::new(server.clone(), &server.clock, 30);
    let mut service = server.layer(ms(50)).layer(readied);
    assert_eq!(ask(&server.clock, &mut service, "a").unwrap(), "0");
    assert_eq!(ask(&server.clock, &mut service, "b").unwrap(), "1");
    // The clone that stayed behind took 30 to become ready.
    assert_eq!(server.calls(), [0, 40]);
}

#[test]
fn hedge_waits_for_readiness_and_delays_no_other_attempt() {
    let server = Server::new([(70, Ok("first"))]);
    let readied = Readied::new(server.clone(), &server.clock, 30);
    let mut service = server.layer(ms(50)).layer(readied);
    assert_eq!(ask(&server.clock, &mut service, "a").unwrap(), "first");
    assert_eq!(
        millis(&server.clock),
        70,
        "the hedge was not ready before 80"
    );
    assert_eq!(server.calls(), [0]);

    let server = Server::new([(HANGS, Ok("first")), (5, Ok("hedge"))]);
    let readied = Readied::new(server.clone(), &server.clock, 30);
    let mut service = server.layer(ms(50)).layer(readied);
    assert_eq!(ask(&server.clock, &mut service, "a").unwrap(), "hedge");
    assert_eq!(server.calls(), [0, 80]);
}

#[test]
fn hedge_gets_no_place_beyond_a_concurrency_limit() {
    let server = Server::new([(100, Ok("0")), (10, Ok("1"))]);
    let limited = ConcurrencyLimit::new(server.clone(), 1);
    let mut service = server.layer(ms(50)).layer(limited);
    assert_eq!(ask(&server.clock, &mut service, "a").unwrap(), "0");
    assert_eq!(server.calls(), [0]);
    // What waited gave its place back.
    assert_eq!(ask(&server.clock, &mut service, "b").unwrap(), "1");
}

#[test]
fn deadline_limits_the_wait_for_readiness() {
    let server = Server::new([(HANGS, Ok(""))]);
    let readied = Readied::new(server.clone(), &server.clock, 10_000);
    let layer = server
        .layer(ms(50))
        .attempt_timeout(ms(100))
        .deadline(ms(400));
    let error = ask(&server.clock, &mut layer.layer(readied), "a").unwrap_err();
    assert!(matches!(error, HedgeError::Deadline(_)));
    assert_eq!((millis(&server.clock), server.calls()), (400, vec![0]));
}

#[test]
fn hedge_that_is_never_sent_is_neither_charged_nor_counted() {
    let server = Server::new([(100, Ok("0")); 3]);
    let budget = Arc::new(race_core::Budget::percent(0).reserve(5));
    let counters = Arc::new(race_core::observe::Counters::new());
    let layer = server
        .layer(ms(20))
        .budget(budget.clone())
        .observer(counters.clone());
    let mut service = layer.layer(ConcurrencyLimit::new(server.clone(), 1));
    for _ in 0..3 {
        ask(&server.clock, &mut service, "a").unwrap();
    }
    assert_eq!((budget.balance(), counters.counts().attempts), (5, 3));
}

/// Its clones fail to become ready.
struct Original(Server, bool);

impl Clone for Original {
    fn clone(&self) -> Self {
        Self(self.0.clone(), false)
    }
}

impl Service<String> for Original {
    type Response = &'static str;
    type Error = &'static str;
    type Future = <Server as Service<String>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(if self.1 { Ok(()) } else { Err("closed") })
    }

    fn call(&mut self, request: String) -> Self::Future {
        self.0.call(request)
    }
}

#[test]
fn failed_readiness_is_a_failure_of_its_attempt() {
    let server = Server::new([(100, Ok("first"))]);
    let mut service = server.layer(ms(50)).layer(Original(server.clone(), true));
    assert_eq!(ask(&server.clock, &mut service, "a").unwrap(), "first");
    let error = ask(&server.clock, &mut service, "b").unwrap_err();
    assert!(
        matches!(error, HedgeError::Service("closed")),
        "of `poll_ready`"
    );

    let server = Server::new([(100, Err("failed"))]);
    let mut service = server.layer(ms(50)).layer(Original(server.clone(), true));
    let error = ask(&server.clock, &mut service, "a").unwrap_err();
    assert!(matches!(error, HedgeError::Service("failed")));
}

#[tokio::test(start_paused = true)]
async fn service_that_is_no_clone_goes_behind_a_buffer() {
    use std::time::Duration;
    let mut calls = 0;
    let not_clone = tower::service_fn(move |(): ()| {
        calls += 1;
        let millis = if calls == 1 { 500 } else { 20 };
        async move {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            Ok::<_, std::io::Error>(millis)
        }
    });
    let buffer = tower::buffer::Buffer::new(not_clone, 8);
    let layer = race_tower::tokio::HedgeLayer::new(Duration::from_millis(50));
    let mut service = layer.layer(buffer);
    let answer = service.ready().await.unwrap().call(()).await;
    assert_eq!(answer.map_err(HedgeError::boxed).unwrap(), 20);
}
