//! Pauses and bulk operations.

use std::time::Duration;

use super::{Step, World, invariants, world::START};
use crate::front::FrontInput;
use crate::scheduler::SchedulerInput;
use hyper_delay_protocol::{AdminRequest, BulkAct, Code, Filter, Reply};
use hyper_delay_store::Space;

fn pause(world: &mut World, route: &str) {
    let route = route.into();
    world.operate(AdminRequest::Pause { route });
    world.settle();
}

fn resume(world: &mut World, route: &str) {
    let route = route.into();
    world.operate(AdminRequest::Resume { route });
    world.settle();
}

/// The number of the last bulk operation that was begun.
fn last_job(world: &World) -> u64 {
    let job = world
        .replies
        .iter()
        .rev()
        .find_map(|(_, reply)| match reply {
            Reply::Job(job) => Some(job.job),
            _ => None,
        });
    job.expect("one has begun")
}

/// A world whose tasks die in their first round, with `dead` dead letters of the route.
fn graves(dead: u64) -> World {
    let config = hyper_delay_config::Config {
        max_attempts: Some(1),
        ..hyper_delay_config::Config::default()
    };
    let mut world = World::with(config, 10_000, 1_000, 100);
    let consumer = world.connect(&["route"]);
    for id in 0..dead {
        world.schedule(&id.to_string(), START);
    }
    world.settle();
    for delivered in world.deliveries.clone() {
        world.nack_delivery(&delivered, None);
    }
    world.settle();
    world.input(FrontInput::Closed(consumer));
    world.settle();
    assert_eq!(world.on_disk(Space::Dead) as u64, dead);
    world.deliveries.clear();
    world
}

#[test]
fn a_paused_route_delivers_nothing_and_then_everything_in_order_of_time() {
    let mut world = World::new(10_000, 1_000, 4);
    world.connect(&["route", "other"]);
    pause(&mut world, "route");
    for id in 0..9 {
        world.schedule(&format!("{id}"), START + 100 - id);
    }
    world.schedule_on("other", "x", START, 0, false);
    world.run(1_000);
    invariants::check(&world);
    let ids: Vec<_> = world
        .deliveries
        .iter()
        .map(|it| it.id.to_string())
        .collect();
    assert_eq!(ids, ["x"]);
    assert_eq!(world.on_disk(Space::Parked), 9);
    world.acking = true;
    resume(&mut world, "route");
    world.run(1_000);
    let ids: Vec<_> = world.deliveries[1..]
        .iter()
        .map(|it| it.id.to_string())
        .collect();
    assert_eq!(ids, ["8", "7", "6", "5", "4", "3", "2", "1", "0"]);
    assert_eq!(world.on_disk(Space::Names), 0);
}

#[test]
fn a_pause_parks_what_waits_for_room_and_leaves_what_is_in_flight() {
    let mut world = World::new(10_000, 1_000, 4);
    let consumer = world.connect(&[]);
    world.register_with_credit(consumer, "route", 1);
    for id in 0..3 {
        world.schedule(&format!("{id}"), START + id);
    }
    world.run(10);
    assert_eq!(world.deliveries.len(), 1);
    pause(&mut world, "route");
    assert_eq!(world.on_disk(Space::Parked), 2);
    let first = world.deliveries[0].clone();
    world.ack_delivery(&first);
    world.run(10);
    invariants::check(&world);
    assert_eq!(
        (world.deliveries.len(), world.on_disk(Space::Names)),
        (1, 2)
    );
    assert_eq!(world.in_memory(), 0);
    // A consumer may come meanwhile.
    world.connect(&["route"]);
    world.run(10);
    assert_eq!(world.deliveries.len(), 1);
    resume(&mut world, "route");
    assert_eq!(world.deliveries.len(), 3);
}

#[test]
fn a_pause_and_a_bulk_operation_survive_a_restart() {
    let mut world = graves(20);
    pause(&mut world, "route");
    world.bulk(BulkAct::Kick, "route", Filter::default());
    // It begins, and one batch of it is on disk.
    for _ in 0..2 {
        world.tick();
        world.step(Step::Commit);
        world.step(Step::Tell);
    }
    assert!((1..20).contains(&world.on_disk(Space::Dead)));
    world.restart();
    world.connect(&["route"]);
    world.run(1_000);
    invariants::check(&world);
    assert_eq!((world.on_disk(Space::Dead), world.deliveries.len()), (0, 0));
    resume(&mut world, "route");
    assert_eq!(world.deliveries.len(), 20);
}

#[test]
fn bulk_operations_change_what_matches_and_only_that() {
    let mut world = graves(10);
    let until = |until| Filter {
        until: Some(until),
        ..Filter::default()
    };
    world.bulk(BulkAct::Delete, "route", until(START));
    world.settle();
    assert_eq!(world.on_disk(Space::Dead), 10, "all died at the start");
    world.bulk(BulkAct::Delete, "other", Filter::default());
    world.settle();
    assert_eq!(world.on_disk(Space::Dead), 10);
    world.bulk(BulkAct::Delete, "route", until(START + 1));
    world.settle();
    assert_eq!(
        (world.on_disk(Space::Dead), world.on_disk(Space::Tasks)),
        (0, 0)
    );
}

#[test]
fn a_purge_leaves_what_is_in_flight_and_what_comes_later() {
    let mut world = graves(5);
    for id in 10..15 {
        world.schedule(&format!("{id}"), START + 100);
    }
    world.schedule_on("other", "x", START + 5_000, 0, false);
    world.schedule("in flight", START);
    let consumer = world.connect(&[]);
    world.register_with_credit(consumer, "route", 1);
    world.settle();
    assert_eq!(world.deliveries.len(), 1);
    world.bulk(BulkAct::Purge, "route", Filter::default());
    world.schedule("later", START + 100);
    world.settle();
    invariants::check(&world);
    assert_eq!(world.on_disk(Space::Names), 3);
    world.acking = true;
    world.run(10_000);
    let ids: Vec<_> = world
        .deliveries
        .iter()
        .map(|it| it.id.to_string())
        .collect();
    assert_eq!(ids, ["in flight", "later"]);
}

#[test]
fn a_purge_removes_a_dead_letter_that_an_earlier_leader_has_delivered() {
    let mut world = graves(2);
    let is_long = Duration::from_secs(60);
    let all = (1..100).map(|seq| (seq, is_long)).collect();
    world.lead(SchedulerInput::Withheld(all));
    world.bulk(BulkAct::Purge, "route", Filter::default());
    world.settle();
    assert_eq!(world.on_disk(Space::Dead), 0);
}

#[test]
fn a_stopped_job_ends_before_its_next_batch() {
    let mut world = graves(30);
    world.bulk(BulkAct::Delete, "route", Filter::default());
    world.step(Step::Commit);
    world.step(Step::Tell);
    let job = last_job(&world);
    world.operate(AdminRequest::Stop { job });
    world.settle();
    assert_eq!(world.on_disk(Space::Dead), 30);
    world.operate(AdminRequest::Stop { job });
    let (_, last) = world.replies.last().expect("it is answered");
    assert_eq!(*last, Reply::Stopped { job, found: false });
}

/// The replies of this code since the last look at them.
fn refused(world: &mut World, code: Code) -> usize {
    let replies = std::mem::take(&mut world.replies).into_iter();
    let is_code = |reply: &Reply| matches!(reply, Reply::Error(refusal) if refusal.code == code);
    replies.filter(|(_, reply)| is_code(reply)).count()
}

#[test]
fn limits_hold_for_requests_that_come_together() {
    let mut world = World::new(10_000, 1_000, 4);
    for route in 0..8 {
        let route = format!("r{route}").into();
        world.operate(AdminRequest::Pause { route });
    }
    // A route that will be paused counts once.
    let route = "r0".into();
    world.operate(AdminRequest::Pause { route });
    world.settle();
    assert_eq!(refused(&mut world, Code::TooManyRoutes), 3);
    resume(&mut world, "r0");
    pause(&mut world, "r5");
    assert_eq!(refused(&mut world, Code::TooManyRoutes), 0);

    for _ in 0..20 {
        world.bulk(BulkAct::Kick, "route", Filter::default());
    }
    world.settle();
    assert_eq!(refused(&mut world, Code::Busy), 4);
    world.bulk(BulkAct::Kick, "route", Filter::default());
    world.settle();
    assert_eq!(refused(&mut world, Code::Busy), 0);
}
