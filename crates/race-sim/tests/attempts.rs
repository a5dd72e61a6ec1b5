//! What becomes of single attempts.

use std::{
    cell::RefCell,
    future::{Future as _, poll_fn},
    panic,
    pin::pin,
    rc::Rc,
    task::Poll,
    time::Duration,
};

use race_sim::{Losers, Reply, Request, Service, Setup, Simulation};

const MS: Duration = Duration::from_millis(1);

/// One request, to servers that take 10 ms for each attempt.
fn one(servers: usize) -> Simulation {
    Simulation::new(Service::constant(10 * MS))
        .servers(servers)
        .requests(1, 0)
        .seeds(1)
}

fn latency(simulation: &Simulation, client: impl AsyncFn(Request) + Copy + Sync) -> Duration {
    let report = simulation.run("one", |_: &Setup| client);
    report.percentile(100.0)
}

/// Polls a reply once, so that a test can drop it later.
async fn polled(reply: &mut Reply) -> bool {
    let mut reply = pin!(reply);
    poll_fn(|cx| Poll::Ready(reply.as_mut().poll(cx).is_ready())).await
}

#[test]
fn attempts_wait_for_their_turn() {
    let took = latency(&one(1), async |request| {
        let (first, second, third) = (request.send(0), request.send(0), request.send(0));
        assert_eq!(request.in_flight(0), 3);
        third.await;
        assert_eq!(request.in_flight(0), 0);
        first.await;
        second.await;
    });
    assert_eq!(took, 30 * MS);
}

#[test]
fn cancelled_attempt_leaves_the_queue() {
    let took = latency(&one(1), async |request| {
        let (_first, second, third) = (request.send(0), request.send(0), request.send(0));
        drop(second);
        third.await;
    });
    assert_eq!(took, 20 * MS);
}

#[test]
fn cancelled_attempt_frees_its_server() {
    let took = latency(&one(1), async |request| {
        let (first, second) = (request.send(0), request.send(0));
        request.clock().sleep(4 * MS).await;
        drop(first);
        second.await;
    });
    assert_eq!(took, 14 * MS);
}

#[test]
fn cancellation_takes_the_delay_of_a_message() {
    let took = latency(&one(1).message_delay(3 * MS), async |request| {
        let (first, second) = (request.send(0), request.send(0));
        request.clock().sleep(4 * MS).await;
        drop(first);
        second.await;
    });
    assert_eq!(took, 17 * MS);
}

#[test]
fn late_cancellation_stops_nothing() {
    let took = latency(&one(1).message_delay(8 * MS), async |request| {
        let (first, second) = (request.send(0), request.send(0));
        request.clock().sleep(4 * MS).await;
        drop(first);
        second.await;
    });
    assert_eq!(took, 20 * MS);
}

#[test]
fn losers_run_on_if_so_set() {
    let took = latency(&one(1).losers(Losers::RunOn), async |request| {
        let (first, second) = (request.send(0), request.send(0));
        drop(first);
        second.await;
    });
    assert_eq!(took, 20 * MS);
}

#[test]
fn tied_attempt_is_removed_when_another_begins() {
    let took = latency(&one(2), async |request| {
        let before = request.send(1);
        let tied = request.send_tied(0);
        let mut other = request.send_tied(1);
        assert!(!polled(&mut other).await);
        let behind = request.send(1);
        tied.await;
        before.await;
        assert!(!polled(&mut other).await, "a removed attempt was answered");
        behind.await;
    });
    // Without the tie, the last one would begin at 20 ms.
    assert_eq!(took, 20 * MS);
}

#[test]
fn tied_attempts_that_begin_together_both_run() {
    let took = latency(&one(2).message_delay(2 * MS), async |request| {
        let (one, other) = (request.send_tied(0), request.send_tied(1));
        one.await;
        other.await;
    });
    assert_eq!(took, 10 * MS);
}

#[test]
fn slowness_of_a_request_is_shared_by_correlation() {
    let service = Service::constant(MS).slow(0.5, 10.0);
    let both_slow = |correlation| {
        let simulation = Simulation::new(service.clone()).servers(2).load(0.001);
        let simulation = simulation
            .correlation(correlation)
            .requests(4_000, 0)
            .seeds(1);
        let report = simulation.run("both", |_| {
            async |request: Request| {
                let (one, other) = (request.send(0), request.send(1));
                one.await;
                let first_took = request.clock().now();
                other.await;
                // The latency of a request shows whether both attempts took as long.
                if request.clock().now() != first_took {
                    request.clock().sleep(100 * MS).await;
                }
            }
        });
        let different = report.percentile(100.0) > 50 * MS;
        let slow = (1..=100).filter(|percent| {
            let latency = report.percentile(f64::from(*percent));
            (10 * MS..50 * MS).contains(&latency)
        });
        (slow.count(), different)
    };
    let (all, different) = both_slow(1.0);
    assert!((46..=54).contains(&all) && !different, "{all}");
    // The second attempt is the slower one in a quarter of the requests without correlation.
    assert!(both_slow(0.0).1);
}

#[test]
fn value_is_held_until_the_attempt_is_over() {
    struct Noted(Rc<RefCell<Vec<&'static str>>>, &'static str);

    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.borrow_mut().push(self.1);
        }
    }

    let cancelled = ["lost", "dropped", "won", "answered"];
    let run_on = ["dropped", "won", "answered", "lost"];
    for (losers, expected) in [(Losers::Cancelled, cancelled), (Losers::RunOn, run_on)] {
        let took = latency(&one(2).losers(losers), async |request| {
            let notes = Rc::<RefCell<Vec<_>>>::default();
            let noted = |note| Noted(notes.clone(), note);
            let won = request.send(0).holding(noted("won"));
            request.clock().sleep(MS).await;
            let lost = request.send(1).holding(noted("lost"));
            drop(lost);
            drop(noted("dropped"));
            won.await;
            drop(noted("answered"));
            request.clock().sleep(10 * MS).await;
            assert_eq!(*notes.borrow(), expected);
        });
        assert_eq!(took, 20 * MS);
    }
}

#[test]
fn answer_of_a_probe_is_as_old_as_its_way() {
    let took = latency(&one(1).message_delay(2 * MS), async |request| {
        let first = request.send(0);
        request.clock().sleep(9 * MS).await;
        assert_eq!(request.probe(0).await, 1);
        assert_eq!(request.in_flight(0), 0);
        assert_eq!(request.probe(0).await, 0);
        first.await;
    });
    assert_eq!(took, 13 * MS);
}

#[test]
fn waste_and_extra_attempts_are_counted() {
    let report = one(2).run("one", |_: &Setup| {
        async |request: Request| {
            let first = request.send(0);
            request.clock().sleep(5 * MS).await;
            let second = request.send(1);
            first.await;
            drop(second);
            // The run ends with its last request, and cancellations are handled before that.
            request.clock().sleep(MS).await;
        }
    });
    assert_eq!(report.extra_load(), 100.0);
    assert!(
        (report.wasted() - 100.0 / 3.0).abs() < 1e-6,
        "{}",
        report.wasted()
    );
}

#[test]
fn request_without_an_answer_is_named() {
    // With several seeds, on several threads.
    let run = || {
        let slow = one(1).slow_periods(MS, MS, 2.0).seeds(4);
        latency(&slow, async |_| std::future::pending().await)
    };
    let error = panic::catch_unwind(run).unwrap_err();
    let message = error.downcast_ref::<String>().unwrap();
    assert!(
        message.starts_with("a request is never answered: deadlock at"),
        "{message}"
    );
}

#[test]
fn unknown_server_is_named() {
    let error = panic::catch_unwind(|| latency(&one(2), async |request| request.send(2).await));
    let message = error.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*message, "there is no server 2, only 0 to 1");
}

#[test]
fn each_client_is_set_up_once_with_its_own_seed() {
    let simulation = one(3).clients(4).seeds(1);
    thread_local!(static SEEDS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) });
    let report = simulation.run("four", |setup| {
        assert_eq!(setup.servers(), 3);
        SEEDS.with_borrow_mut(|seeds| {
            assert_eq!(seeds.len(), setup.client());
            seeds.push(setup.seed());
        });
        async |request: Request| request.send(0).await
    });
    assert_eq!(report.runs().len(), 1);
    // One seed runs on the thread of the caller.
    let mut seeds = SEEDS.take();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 4);
}
