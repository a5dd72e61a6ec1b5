//! The wall clock is set.

use super::{World, world::START};

const HOUR: u64 = 3_600_000;

fn deliveries(world: &World) -> Vec<(&str, u64)> {
    let deliveries = world.deliveries.iter();
    deliveries
        .map(|delivered| (&*delivered.id, delivered.at))
        .collect()
}

#[test]
fn a_clock_set_forward_makes_due_what_is_due_then_within_a_second() {
    let mut world = World::new(60_000, 1000, 100);
    world.acking = true;
    world.connect(&["route"]);
    world.schedule("in the window", START + 30_000);
    world.schedule("beyond it", START + HOUR / 2);
    world.schedule("after the step", START + HOUR + 10_000);
    world.run(500);
    world.set_clock(HOUR.cast_signed());
    let step = world.now.wall_millis();
    world.run(30_000);
    let deliveries = deliveries(&world);
    assert_eq!(deliveries.len(), 3);
    for (id, at) in &deliveries[..2] {
        assert!(*at >= step && *at <= step + 1000, "{id} at {at}");
    }
    assert_eq!(deliveries[2], ("after the step", START + HOUR + 10_000));
}

#[test]
fn a_clock_set_back_makes_nothing_early() {
    let mut world = World::new(60_000, 1000, 100);
    world.acking = true;
    world.connect(&["route"]);
    world.schedule("early", START + 1000);
    world.schedule("late", START + 30_000);
    world.run(2000);
    world.set_clock(-HOUR.cast_signed());
    world.run(HOUR);
    // What is scheduled while the horizon is an hour ahead of the clock.
    world.set_clock(-HOUR.cast_signed());
    let now = world.now.wall_millis();
    world.schedule("between", now + 90_000);
    world.run(2 * HOUR);
    assert_eq!(
        deliveries(&world),
        [
            ("early", START + 1000),
            ("between", now + 90_000),
            ("late", START + 30_000)
        ]
    );
}

#[test]
fn a_clock_that_goes_back_and_forth_delivers_each_task_once() {
    let mut world = World::new(60_000, 16, 100);
    world.acking = true;
    world.connect(&["route"]);
    for task in 0..200 {
        world.schedule(&format!("{task}"), START + task * 20_000);
    }
    for round in 0..200 {
        world.run(20_000);
        let by = HOUR.cast_signed() * if round % 2 == 0 { 1 } else { -1 };
        world.set_clock(by);
        for delivered in &world.deliveries {
            let due = START + delivered.id.parse::<u64>().unwrap() * 20_000;
            assert!(delivered.at >= due, "{delivered:?}");
        }
    }
    world.run(2 * HOUR);
    assert_eq!(world.delivered().len(), 200);
    assert!(world.delivered().values().all(|times| *times == 1));
}

#[test]
fn a_backoff_does_not_follow_the_wall_clock() {
    let mut world = World::new(60_000, 16, 100);
    let consumer = world.connect(&["route"]);
    world.schedule("task", START);
    world.settle();
    assert_eq!(world.deliveries.len(), 1);
    world.set_clock(-HOUR.cast_signed());
    let delivery = hyper_delay_protocol::DeliverySelector {
        id: "task".into(),
        route: None,
        attempt: None,
    };
    world.ask(
        consumer,
        hyper_delay_protocol::TaskRequest::Nack {
            delivery,
            delay_ms: Some(5000),
            reason: None,
            failed: true,
        },
    );
    world.settle();
    world.set_clock(-HOUR.cast_signed());
    world.run(4999);
    assert_eq!(world.deliveries.len(), 1);
    world.run(1);
    assert_eq!(world.deliveries.len(), 2);
}
