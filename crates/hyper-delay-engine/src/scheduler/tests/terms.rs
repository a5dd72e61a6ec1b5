//! Terms of single tasks, and reasons, on the frozen clock.

use super::{World, invariants, world::START};
use crate::{
    front::FrontInput,
    ledger::Op,
    scheduler::{CopyId, UnsentReason},
};
use hyper_delay_config::Config;
use hyper_delay_protocol::{AdminRequest, BulkAct, Filter, Reply, Terms};
use hyper_delay_store::{Space, record};

const NONE: Terms = Terms {
    expires_at: None,
    ack_timeout_ms: None,
    max_attempts: None,
    retry_delay_ms: None,
    max_retry_delay_ms: None,
};

fn world() -> World {
    let config = Config {
        hedge: [("hedged".to_owned(), 100)].into(),
        ack_timeout_ms: 1_000,
        retry_delay_ms: 20,
        max_retry_delay_ms: 200,
        ..Config::default()
    };
    World::with(config, 60_000, 1000, 100)
}

/// A world with two consumers and a task that is in flight.
fn in_flight(route: &str, terms: Terms) -> World {
    let mut world = world();
    for _ in 0..2 {
        world.connect(&[route]);
    }
    world.schedule_with((route, "task"), START, 0, false, Some(terms));
    world.settle();
    assert_eq!(world.deliveries.len(), 1);
    world
}

fn nack_latest(world: &mut World, delay_ms: Option<u64>) {
    let delivery = world.deliveries.last().unwrap().clone();
    world.nack_delivery(&delivery, delay_ms);
    world.settle();
}

#[test]
fn kicked_task_keeps_its_terms() {
    for is_bulk in [false, true] {
        let once = Terms {
            max_attempts: Some(1),
            ..NONE
        };
        let mut world = in_flight("route", once);
        nack_latest(&mut world, Some(0));
        assert_eq!(world.on_disk(Space::Dead), 1);
        if is_bulk {
            world.bulk(BulkAct::Kick, "route", Filter::default());
        } else {
            let (route, id) = ("route".into(), "task".into());
            world.operate(AdminRequest::Kick { route, id });
        }
        world.settle();
        assert_eq!(world.deliveries.len(), 2);
        nack_latest(&mut world, Some(0));
        assert_eq!(world.on_disk(Space::Dead), 1, "after one failure again");
        world.run(1_000);
        assert_eq!(world.deliveries.len(), 2);
    }
}

#[test]
fn touch_without_a_time_extends_by_the_ack_timeout_of_the_task() {
    let slow = Terms {
        ack_timeout_ms: Some(5_000),
        ..NONE
    };
    let mut world = in_flight("route", slow);
    world.run(500);
    let delivery = world.deliveries[0].clone();
    world.touch(&delivery, None);
    let touched = world.replies.iter().find_map(|(_, reply)| match reply {
        Reply::Touched { deadline, .. } => *deadline,
        _ => None,
    });
    assert_eq!(touched, Some(START + 5_500));
    world.run(4_999);
    assert_eq!(world.deliveries.len(), 1);
    world.run(50);
    assert_eq!(world.deliveries.len(), 2);
}

#[test]
fn consumer_that_let_an_ack_timeout_pass_comes_last_for_that_time() {
    for (after, is_last) in [(2_900, true), (3_100, false)] {
        let slow = Terms {
            ack_timeout_ms: Some(3_000),
            ..NONE
        };
        let mut world = in_flight("route", slow);
        let first = world.deliveries[0].consumer;
        world.run(3_030);
        let again = world.deliveries[1].clone();
        assert_ne!(again.consumer, first);
        world.ack_delivery(&again);
        world.settle();
        world.run(after - 30);
        world.schedule("next", world.now.wall_millis());
        world.settle();
        // The other one was served last.
        assert_eq!(world.deliveries[2].consumer != first, is_last, "{after}");
    }
}

#[test]
fn first_wait_of_a_task_raises_the_longest_wait_of_the_server() {
    let patient = Terms {
        retry_delay_ms: Some(5_000),
        ..NONE
    };
    let mut world = in_flight("route", patient);
    nack_latest(&mut world, None);
    world.run(2_499);
    assert_eq!(world.deliveries.len(), 1);
    world.run(2_501);
    assert_eq!(world.deliveries.len(), 2);
}

#[test]
fn longest_wait_of_a_task_limits_the_first_wait_of_the_server() {
    let hasty = Terms {
        max_retry_delay_ms: Some(2),
        ..NONE
    };
    let mut world = in_flight("route", hasty);
    for round in 2..10 {
        nack_latest(&mut world, None);
        world.run(2);
        assert_eq!(world.deliveries.len(), round);
    }
}

#[test]
fn reason_and_delay_of_a_hedged_round_are_those_of_its_latest_nack() {
    for most in [None, Some(1)] {
        let terms = Terms {
            max_attempts: most,
            ack_timeout_ms: Some(60_000),
            ..NONE
        };
        let mut world = in_flight("hedged", terms);
        world.run(100);
        assert_eq!(world.deliveries.len(), 2);
        let [first, second] = [0, 1].map(|copy| world.deliveries[copy].clone());
        world.nack_delivery(&first, Some(5));
        world.nack_delivery(&second, Some(700));
        world.settle();
        if most.is_some() {
            let (_, letter) = world.store.all(Space::Dead).remove(0);
            let (_, reason) = record::decode_dead(&letter).unwrap();
            assert_eq!(reason, Some("no disk"));
        } else {
            world.run(699);
            assert_eq!(world.deliveries.len(), 2);
            world.run(1);
            assert_eq!(world.deliveries.len(), 3);
        }
    }
}

/// A world with a task in flight that has expired: its time passes 500 ms after it was sent.
fn expired_in_flight(terms: Terms) -> World {
    let expires = Terms {
        expires_at: Some(START + 500),
        ..terms
    };
    let mut world = in_flight("route", expires);
    world.run(600);
    assert_eq!(world.on_disk(Space::Names), 1);
    world
}

/// The content of the task cannot be read: the writer of the connection reports it late.
fn becomes_unreadable(world: &mut World) {
    let copy = CopyId {
        consumer: world.deliveries[0].consumer,
        seq: world.deliveries[0].seq,
        id: "task".into(),
    };
    let reason = "a flipped bit".into();
    world.input(FrontInput::NotSent(
        copy,
        UnsentReason::Undeliverable(reason),
    ));
}

#[test]
fn task_that_expired_in_flight_is_removed_without_a_retry_or_a_dead_letter() {
    for max_attempts in [None, Some(1)] {
        for is_unreadable in [false, true] {
            let mut world = expired_in_flight(Terms {
                max_attempts,
                ..NONE
            });
            if is_unreadable {
                becomes_unreadable(&mut world);
            } else {
                let delivery = world.deliveries[0].clone();
                world.nack_delivery(&delivery, None);
            }
            let is_expire = |op: &Op| matches!(op, Op::Expire { .. });
            let ops: Vec<_> = world.committer.jobs.iter().map(|job| &job.op).collect();
            assert!(ops.len() == 1 && is_expire(ops[0]), "{ops:?}");
            invariants::check(&world);
            world.settle();
            assert_eq!(world.on_disk(Space::Names), 0);
            let metrics = world.server.scheduler().metrics();
            assert_eq!(
                (metrics.expired.value(), metrics.dead_letters.value()),
                (1, 0)
            );
        }
    }
}

#[test]
fn dead_letter_expires_if_the_clock_was_set_back_while_it_was_in_flight() {
    for is_unreadable in [false, true] {
        let mut world = expired_in_flight(Terms {
            max_attempts: Some(1),
            ..NONE
        });
        world.set_clock(-400);
        if is_unreadable {
            becomes_unreadable(&mut world);
        } else {
            let delivery = world.deliveries[0].clone();
            world.nack_delivery(&delivery, None);
        }
        world.run(299);
        assert_eq!(world.on_disk(Space::Dead), 1);
        world.run(1);
        assert_eq!(world.on_disk(Space::Names), 0, "{is_unreadable}");
    }
}

#[test]
fn no_copy_of_a_hedged_round_is_sent_after_the_task_has_expired() {
    for (expires, copies) in [(99, 1), (100, 1), (101, 2)] {
        let terms = Terms {
            expires_at: Some(START + expires),
            ..NONE
        };
        let mut world = in_flight("hedged", terms);
        world.run(500);
        assert_eq!(world.deliveries.len(), copies, "{expires}");
    }
}

#[test]
fn what_expired_before_a_restart_is_removed_without_a_consumer() {
    let mut world = world();
    let terms = Terms {
        expires_at: Some(START + 500),
        ..NONE
    };
    world.schedule_with(("route", "task"), START, 0, false, Some(terms));
    world.settle();
    world.pass(600);
    world.restart();
    world.settle();
    assert_eq!(world.on_disk(Space::Names), 0);
}

#[test]
fn task_that_is_acknowledged_when_it_expires_is_not_counted_as_expired() {
    let terms = Terms {
        expires_at: Some(START + 500),
        ..NONE
    };
    let mut world = in_flight("route", terms);
    world.run(499);
    let delivery = world.deliveries[0].clone();
    world.ack_delivery(&delivery);
    world.pass(1);
    world.tick();
    let ops: Vec<_> = world.committer.jobs.iter().map(|job| &job.op).collect();
    assert!(
        matches!(ops[..], [Op::Finish(_), Op::Expire { .. }]),
        "{ops:?}"
    );
    world.settle();
    assert_eq!(world.on_disk(Space::Names), 0);
    assert_eq!(world.server.scheduler().metrics().expired.value(), 0);
}
