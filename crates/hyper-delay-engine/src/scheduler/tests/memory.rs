//! The memory is bounded, whatever is on disk.

use super::{World, world::START};
use hyper_delay_protocol::TaskRequest;
use hyper_delay_store::Space;

#[test]
fn overdue_tasks_without_a_consumer_leave_memory() {
    let mut world = World::new(60_000, 64, 16);
    for task in 0..500 {
        world.schedule(&format!("{task:03}"), START + task);
    }
    world.run(1000);
    assert_eq!(world.in_memory(), 0);
    assert_eq!(world.on_disk(Space::Parked), 500);
    assert_eq!(world.on_disk(Space::Waiting), 0);

    let consumer = world.connect(&["route"]);
    let mut most = 0;
    let mut acked = 0;
    while acked < 500 {
        world.settle();
        most = most.max(world.in_memory());
        let delivered = world.deliveries[acked].clone();
        assert_eq!(delivered.consumer, consumer);
        world.ack_delivery(&delivered);
        acked += 1;
    }
    world.settle();
    assert!(most <= 256 + 16 + 16, "{most} in memory");
    let order: Vec<String> = world
        .deliveries
        .iter()
        .map(|delivered| delivered.id.to_string())
        .collect();
    assert!(order.is_sorted(), "in order of time");
    assert_eq!(order.len(), 500);
    assert_eq!(world.on_disk(Space::Parked), 0);
    assert_eq!(world.on_disk(Space::Tasks), 0);
}

#[test]
fn a_consumer_without_room_keeps_no_more_than_the_ready_ones_in_memory() {
    let mut world = World::new(60_000, 64, 16);
    let consumer = world.connect(&[]);
    world.ask(
        consumer,
        TaskRequest::Register {
            route: "route".into(),
            credit: Some(1),
            mode: hyper_delay_protocol::RegisterMode::Shared,
            accept: None,
        },
    );
    for task in 0..500 {
        world.schedule(&format!("{task:03}"), START + task);
    }
    world.run(1000);
    assert!(world.in_memory() <= 17, "{}", world.in_memory());
    for acked in 0..500 {
        let delivered = world.deliveries[acked].clone();
        assert_eq!(*delivered.id, format!("{acked:03}"));
        world.ack_delivery(&delivered);
        world.settle();
    }
    assert_eq!(world.deliveries.len(), 500);
}

#[test]
fn a_new_consumer_gets_what_is_parked_behind_the_queue_of_a_busy_one() {
    let mut world = World::new(60_000, 64, 16);
    let register = |credit| TaskRequest::Register {
        route: "route".into(),
        credit,
        mode: hyper_delay_protocol::RegisterMode::Shared,
        accept: None,
    };
    let busy = world.connect(&[]);
    world.ask(busy, register(Some(1)));
    for task in 0..100 {
        world.schedule(&format!("{task:03}"), START + task);
    }
    world.run(1000);
    assert_eq!(world.deliveries.len(), 1);
    // Its credit is not named, and more than the queue holds. It answers nothing yet.
    world.connect(&["route"]);
    world.settle();
    assert_eq!(world.deliveries.len(), 100);
}

#[test]
fn a_restart_with_much_overdue_delivers_what_is_due_now_at_once() {
    let mut world = World::new(60_000, 64, 16);
    for task in 0..5000 {
        world.schedule(&format!("{task}"), START + 1000 + task % 100);
    }
    world.step(super::Step::Commit);
    world.restart();
    world.pass(500_000);
    world.connect(&["other"]);
    world.ask(
        0,
        TaskRequest::Schedule(hyper_delay_protocol::Schedule {
            id: None,
            route: Some("other".into()),
            due: hyper_delay_protocol::Due::At(0),
            compression: hyper_delay_protocol::Compression::None,
            payload: Box::default(),
            replace: false,
            headers: hyper_delay_protocol::Headers::default(),
            terms: None,
        }),
    );
    world.tick();
    world.step(super::Step::Commit);
    world.step(super::Step::Tell);
    assert_eq!(
        world.deliveries.len(),
        1,
        "before the overdue ones are read"
    );
    world.run(1000);
    assert_eq!(world.on_disk(Space::Parked), 5000);
    assert_eq!(world.in_memory(), 1);
}

#[test]
fn overdue_tasks_are_read_while_many_others_wait() {
    let mut world = World::new(60_000, 64, 16);
    for task in 0..5000 {
        world.schedule(&format!("{task}"), START + 1000);
    }
    for task in 0..40 {
        world.schedule(&format!("near {task}"), START + 550_000);
    }
    world.step(super::Step::Commit);
    world.pass(500_000);
    world.restart();
    world.run(1000);
    assert_eq!(
        world.server.scheduler().tasks.waiting(),
        40,
        "more than half a window"
    );
    assert_eq!(world.on_disk(Space::Parked), 5000);
}

#[test]
fn reading_waits_for_the_committer() {
    let mut world = World::new(60_000, 64, 16);
    for task in 0..20_000 {
        world.schedule(&format!("{task}"), START + 1000);
    }
    world.step(super::Step::Commit);
    world.restart();
    world.pass(500_000);
    for _ in 0..100 {
        world.tick();
    }
    assert!(world.in_memory() < 10_000, "{}", world.in_memory());
    world.settle();
    assert_eq!(world.on_disk(Space::Parked), 20_000);
}

#[test]
fn an_idle_scheduler_waits_for_nothing() {
    let mut world = World::new(60_000, 64, 16);
    assert_eq!(world.settle(), super::super::NextCall::Never);
    let consumer = world.connect(&["route"]);
    world.schedule("task", START + 10);
    world.run(10);
    world.ack(consumer, &"task".into(), 1);
    // The wheel may still ask to be looked at for the answer that has come.
    world.run(31_000);
    assert_eq!(world.settle(), super::super::NextCall::Never);
}

#[test]
fn all_that_is_parked_comes_to_a_consumer_with_room_for_it() {
    let mut world = World::new(60_000, 64, 16);
    for task in 0..3000 {
        world.schedule(&format!("{task}"), START);
    }
    world.settle();
    let consumer = world.connect(&[]);
    world.ask(
        consumer,
        TaskRequest::Register {
            route: "route".into(),
            credit: Some(u16::MAX),
            mode: hyper_delay_protocol::RegisterMode::Shared,
            accept: None,
        },
    );
    world.settle();
    assert_eq!(world.deliveries.len(), 3000, "though none is acknowledged");
}

#[test]
fn busy_producers_do_not_keep_the_window_from_being_read() {
    let mut world = World::new(1000, 64, 16);
    world.connect(&["route"]);
    world.schedule("task", START + 1500);
    world.settle();
    for task in 0..10_000 {
        world.schedule(&format!("{task}"), START + 1_000_000);
    }
    for _ in 0..15 {
        world.pass(100);
        world.tick();
    }
    assert_eq!(world.deliveries.len(), 1);
}

/// The only queued task of a route cannot go to the only consumer, which has its id in flight. The
/// memory is full when the tasks behind it are to be read.
#[test]
fn a_route_reads_parked_tasks_once_acks_of_another_route_free_memory() {
    let mut world = World::new(60_000, 2, 4);
    let (held, other) = (world.connect(&["held"]), world.connect(&[]));
    world.register_with_credit(other, "other", 5);
    world.schedule_on("held", "same", START, 0, false);
    for id in ["a", "b", "c", "d"] {
        world.schedule_on("other", id, START, 0, false);
    }
    for id in ["same", "behind", "last"] {
        world.schedule_on("route", id, START, 0, false);
    }
    world.settle();
    assert_eq!(world.deliveries.len(), 5);
    world.register_with_credit(held, "route", 9);
    world.settle();
    assert_eq!(world.deliveries.len(), 5, "the memory is full");
    for place in 0..5 {
        let delivered = world.deliveries[place].clone();
        if delivered.consumer == other {
            world.ack_delivery(&delivered);
        }
    }
    world.settle();
    let ids = world.deliveries[5..].iter().map(|delivered| &*delivered.id);
    assert_eq!(ids.collect::<Vec<_>>(), ["behind", "last"]);
}
