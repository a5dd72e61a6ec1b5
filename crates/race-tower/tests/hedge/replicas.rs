use std::task::{Context, Poll};

use race_core::test::VirtualClock;
use race_tower::{HedgeError, Replicas};
use tower::Service;

use crate::server::{HANGS, Server, ask, ms};

fn servers<const N: usize>(clock: &VirtualClock, latency: u64) -> [Server; N] {
    std::array::from_fn(|_| Server::with_clock(clock, [(latency, Ok("answer")); 20]))
}

#[test]
fn each_attempt_goes_to_another_replica() {
    let clock = VirtualClock::new();
    let all: [Server; 3] = servers(&clock, HANGS);
    let layer = all[0].layer(ms(50)).max_attempts(4).deadline(ms(500));
    let mut service = layer.over(Replicas::new(all.clone()));
    assert!(ask(&clock, &mut service, "a").is_err());
    // The fourth goes round.
    assert_eq!(
        all.each_ref().map(Server::calls),
        [vec![0, 150], vec![50], vec![100]]
    );
}

#[test]
fn start_rotates_over_requests_and_clones() {
    let clock = VirtualClock::new();
    let all: [Server; 3] = servers(&clock, 10);
    let mut service = all[0].layer(ms(50)).over(Replicas::new(all.clone()));
    for _ in 0..3 {
        ask(&clock, &mut service, "a").unwrap();
        ask(&clock, &mut service.clone(), "b").unwrap();
    }
    assert_eq!(all.each_ref().map(|it| it.calls().len()), [2, 2, 2]);
}

#[test]
fn hedge_of_the_last_replica_goes_to_the_first() {
    let clock = VirtualClock::new();
    let all: [Server; 2] = servers(&clock, 70);
    let mut service = all[0].layer(ms(50)).over(Replicas::new(all.clone()));
    ask(&clock, &mut service, "a").unwrap();
    ask(&clock, &mut service, "b").unwrap();
    assert_eq!(
        all.each_ref().map(Server::requests),
        [["a", "b"], ["a", "b"]]
    );
    assert_eq!(all[1].calls(), [50, 70]);
}

/// Whether it becomes ready, never, or fails.
#[derive(Clone)]
struct Gate(Server, Poll<Result<(), &'static str>>);

impl Service<String> for Gate {
    type Response = &'static str;
    type Error = &'static str;
    type Future = <Server as Service<String>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        self.1
    }

    fn call(&mut self, request: String) -> Self::Future {
        assert!(self.1.is_ready());
        self.0.call(request)
    }
}

#[test]
fn replica_that_is_not_ready_is_passed_over() {
    let clock = VirtualClock::new();
    let all: [Server; 3] = servers(&clock, 10);
    let states = [
        Poll::Pending,
        Poll::Ready(Err("closed")),
        Poll::Ready(Ok(())),
    ];
    let gates = [0, 1, 2].map(|index| Gate(all[index].clone(), states[index]));
    let mut service = all[0].layer(ms(50)).over(Replicas::new(gates));
    for _ in 0..4 {
        ask(&clock, &mut service, "a").unwrap();
    }
    assert_eq!(all.each_ref().map(|it| it.calls().len()), [0, 0, 4]);
}

#[test]
fn hedge_passes_over_replicas_that_are_not_ready() {
    for not_ready in [Poll::Pending, Poll::Ready(Err("closed"))] {
        let clock = VirtualClock::new();
        let all: [Server; 3] =
            [HANGS, 10, 10].map(|latency| Server::with_clock(&clock, [(latency, Ok("answer"))]));
        let states = [Poll::Ready(Ok(())), not_ready, Poll::Ready(Ok(()))];
        let gates = [0, 1, 2].map(|index| Gate(all[index].clone(), states[index]));
        let mut service = all[0].layer(ms(50)).over(Replicas::new(gates));
        ask(&clock, &mut service, "a").unwrap();
        assert_eq!(
            all.each_ref().map(Server::calls),
            [vec![0], vec![], vec![50]]
        );
    }
}

#[test]
fn readiness_fails_if_that_of_all_replicas_does() {
    let clock = VirtualClock::new();
    let all: [Server; 2] = servers(&clock, 10);
    let gates = all
        .clone()
        .map(|server| Gate(server, Poll::Ready(Err("closed"))));
    let mut service = all[0].layer(ms(50)).over(Replicas::new(gates));
    let error = ask(&clock, &mut service, "a").unwrap_err();
    assert!(matches!(error, HedgeError::Service("closed")));
}

#[test]
#[should_panic(expected = "needs at least one service")]
fn no_replicas_are_refused() {
    let _ = Replicas::<Server>::new([]);
}

#[test]
#[should_panic(expected = "comes after `poll_ready` returned `Ready`")]
fn call_without_readiness_panics() {
    let clock = VirtualClock::new();
    let all: [Server; 2] = servers(&clock, 10);
    let mut service = all[0].layer(ms(50)).over(Replicas::new(all.clone()));
    let _request = service.call("a".to_owned());
}
