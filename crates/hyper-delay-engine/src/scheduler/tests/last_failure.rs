//! The last failure of a task, which is stored with it.

use super::{World, world::START};
use crate::{front::FrontInput, ledger::LedgerView};
use hyper_delay_config::Config;
use hyper_delay_protocol::{AdminRequest, FailureKind, LastFailure};
use hyper_delay_store::Space;

/// A world with a consumer that has a task in flight. Rounds that fail are due again after 50 to
/// 100 ms, and the third one is the last.
fn in_flight() -> World {
    let config = Config {
        ack_timeout_ms: 1_000,
        retry_delay_ms: 100,
        max_attempts: Some(3),
        ..Config::default()
    };
    let mut world = World::with(config, 60_000, 1_000, 100);
    world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    assert_eq!(world.deliveries.len(), 1);
    world
}

fn nack(world: &mut World, delay_ms: Option<u64>) {
    let delivery = world.deliveries.last().unwrap().clone();
    world.nack_delivery(&delivery, delay_ms);
    world.settle();
}

fn failure(world: &World) -> Option<(u64, FailureKind, Option<String>)> {
    let view = LedgerView::new(world.store.clone());
    let name = view.name("route", "task").unwrap().expect("it is stored");
    let failure = name.failure?;
    let LastFailure { at, kind, reason } = *failure;
    Some((at - START, kind, reason.map(|reason| reason.to_string())))
}

fn retrying(world: &World) -> u64 {
    let view = LedgerView::new(world.store.clone());
    assert_eq!(view.retrying("route").unwrap(), view.retrying("").unwrap());
    view.retrying("route").unwrap()
}

#[test]
fn a_nack_leaves_its_time_and_its_reason() {
    let mut world = in_flight();
    assert_eq!((failure(&world), retrying(&world)), (None, 0));
    world.run(30);
    nack(&mut world, Some(5_000));
    let no_disk = Some("no disk".to_owned());
    assert_eq!(failure(&world), Some((30, FailureKind::Nack, no_disk)));
    assert_eq!(retrying(&world), 1);
}

#[test]
fn an_ack_timeout_and_a_lost_connection_are_named() {
    let mut world = in_flight();
    world.run(1_020);
    let (at, kind, reason) = failure(&world).unwrap();
    assert_eq!((kind, reason), (FailureKind::AckTimeout, None));
    assert!((1_000..=1_020).contains(&at), "{at}");
    world.run(1_000);
    let consumer = world.deliveries.last().unwrap().consumer;
    world.input(FrontInput::Closed(consumer));
    world.settle();
    let (at, kind, _) = failure(&world).unwrap();
    assert_eq!((at, kind), (2_020, FailureKind::ConnectionLost));
}

#[test]
fn a_round_that_was_declined_keeps_the_failure_before() {
    let mut world = in_flight();
    nack(&mut world, Some(0));
    let before = failure(&world);
    world.run(200);
    let delivery = world.deliveries.last().unwrap().clone();
    assert_eq!(delivery.attempt, 2);
    world.give_back(&delivery, Some(5_000));
    world.settle();
    assert_eq!((failure(&world), retrying(&world)), (before, 1));
}

#[test]
fn a_dead_letter_has_its_last_failure_and_a_kick_takes_it_away() {
    let mut world = in_flight();
    for _ in 0..3 {
        nack(&mut world, Some(0));
        world.run(200);
    }
    assert_eq!(world.on_disk(Space::Dead), 1);
    assert_eq!(failure(&world).unwrap().1, FailureKind::Nack);
    assert_eq!(retrying(&world), 0, "it is not tried again");
    let (route, id) = ("route".into(), "task".into());
    world.operate(AdminRequest::Kick { route, id });
    world.settle();
    assert_eq!((failure(&world), retrying(&world)), (None, 0));
}

#[test]
fn a_replacement_has_no_failure_and_an_ack_removes_the_row() {
    let mut world = in_flight();
    nack(&mut world, Some(5_000));
    world.schedule_with(("route", "task"), START + 9_000, 1, true, None);
    world.settle();
    assert_eq!((failure(&world), retrying(&world)), (None, 0));
    let mut world = in_flight();
    nack(&mut world, Some(0));
    world.run(200);
    assert_eq!(retrying(&world), 1, "in flight again");
    let delivery = world.deliveries.last().unwrap().clone();
    world.ack_delivery(&delivery);
    world.settle();
    assert_eq!((world.on_disk(Space::Names), retrying(&world)), (0, 0));
}
