//! What becomes of single attempts.

use std::{
    cell::{Cell, RefCell},
    future::{Future as _, poll_fn},
    panic,
    pin::pin,
    rc::Rc,
    task::Poll,
    time::Duration,
};

use futures_util::future::join;
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
fn tied_attempt_that_begins_removes_the_others_from_their_queues() {
    for (delay, expected) in [(0, 30), (9, 30), (11, 40)] {
        let took = latency(&one(2).message_delay(delay * MS), async |request| {
            // Server 0 is busy for 10 ms, and server 1 for 20 ms.
            let _busy = [0, 1, 1].map(|server| request.send(server));
            let (tied, _other) = (request.send_tied(0), request.send_tied(1));
            let behind = request.send(1);
            tied.await;
            behind.await;
        });
        assert_eq!(took, expected * MS, "news take {delay} ms");
    }
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
fn slowness_of_two_attempts_has_the_correlation() {
    const SHARE: f64 = 0.3;
    let service = Service::constant(MS).slow(SHARE, 10.0);
    for correlation in [0.0, 0.5, 1.0] {
        let simulation = Simulation::new(service.clone())
            .servers(2)
            .load(0.0001)
            .correlation(correlation)
            .requests(20_000, 0)
            .seeds(1);
        // It takes 20 ms if both attempts are slow.
        let report = simulation.run("both", |_| {
            async |request: Request| {
                let (one, other) = (request.send(0), request.send(1));
                let began = request.clock().now();
                let took = async |reply: Reply| {
                    reply.await;
                    request.clock().now().since(began)
                };
                let (one, other) = join(took(one), took(other)).await;
                if one == 10 * MS && other == 10 * MS {
                    request.clock().sleep(10 * MS).await;
                }
            }
        });
        let count = |latency| {
            (0..1_000)
                .filter(|it| report.percentile(0.1 * f64::from(*it)) >= latency)
                .count()
        };
        let both = count(20 * MS) as f64 / 1_000.0;
        let measured = (both - SHARE * SHARE) / (SHARE * (1.0 - SHARE));
        assert!(
            (measured - correlation).abs() < 0.04,
            "{measured} is not {correlation}"
        );
    }
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
fn value_for_an_attempt_that_is_over_is_dropped_at_once() {
    let took = latency(&one(2), async |request| {
        let value = Rc::new(());
        let before = request.send_tied(0);
        let removed = request.send_tied(0);
        before.await;
        let answered = request.send(1);
        request.clock().sleep(10 * MS).await;
        let (_removed, _answered) = (
            removed.holding(value.clone()),
            answered.holding(value.clone()),
        );
        assert_eq!(Rc::strong_count(&value), 1);
    });
    assert_eq!(took, 20 * MS);
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
fn losers_are_waste_also_after_the_last_answer() {
    for (losers, delay, wasted) in [
        (Losers::Cancelled, 0, 5.0 / 15.0),
        (Losers::Cancelled, 3, 8.0 / 18.0),
        (Losers::RunOn, 0, 10.0 / 20.0),
    ] {
        let simulation = one(2).losers(losers).message_delay(delay * MS);
        let report = simulation.run("one", |_: &Setup| {
            async |request: Request| {
                let first = request.send(0);
                request.clock().sleep(5 * MS).await;
                let _second = request.send(1);
                first.await;
            }
        });
        assert_eq!(report.extra_load(), 100.0);
        assert!(
            (report.wasted() - 100.0 * wasted).abs() < 1e-6,
            "{}",
            report.wasted()
        );
    }
}

#[test]
fn requests_without_an_attempt_do_not_lower_the_extra_load() {
    let simulation = one(2).requests(100, 0).load(0.01);
    let report = simulation.run("a cache", |_: &Setup| {
        let requests = Cell::new(0);
        async move |request: Request| {
            requests.set(requests.get() + 1);
            if requests.get() % 2 == 0 {
                let (one, _other) = (request.send(0), request.send(1));
                one.await;
            }
        }
    });
    assert_eq!(report.extra_load(), 50.0);
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
