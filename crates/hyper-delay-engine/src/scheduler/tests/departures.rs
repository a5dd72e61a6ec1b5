//! The routes of closed connections.

use super::World;
use crate::front::FrontInput;
use crate::scheduler::{ConsumerId, NextCall};
use hyper_delay_protocol::{RegisterMode, Reply, TaskRequest};

/// The routes that a closed connection leaves in one go.
const CHUNK: usize = 1024;

fn register(world: &mut World, consumer: ConsumerId, route: usize) {
    let request = TaskRequest::Register {
        route: format!("{route:09}").into(),
        credit: None,
        mode: RegisterMode::Shared,
        accept: None,
    };
    world.ask(consumer, request);
}

fn registrations(world: &World) -> usize {
    world.registrations()
}

#[test]
fn a_closed_connection_leaves_a_bounded_number_of_routes_at_a_time() {
    let mut world = World::new(60_000, 64, 16);
    let consumer = world.connect(&[]);
    // As many as a connection may have.
    let routes = world
        .server
        .scheduler()
        .settings
        .config()
        .max_routes_per_connection;
    for route in 0..routes {
        register(&mut world, consumer, route);
    }
    world.settle();
    assert_eq!(registrations(&world), routes);
    world.input(FrontInput::Closed(consumer));
    let mut left = routes.saturating_sub(CHUNK);
    while left > 0 {
        assert_eq!(registrations(&world), left);
        let after = left.saturating_sub(CHUNK);
        // The scheduler asks to be called again at once.
        assert_eq!(world.tick() == NextCall::Now, after > 0);
        left = after;
    }
    assert_eq!(registrations(&world), 0);
    assert_eq!(world.server.scheduler().routes.iter().count(), 0);
}

#[test]
fn a_route_that_is_registered_again_meanwhile_is_kept_for_its_new_consumer() {
    let mut world = World::new(60_000, 64, 16);
    let [first, second] = [0; 2].map(|_| world.connect(&[]));
    for route in 0..=CHUNK {
        register(&mut world, first, route);
    }
    world.input(FrontInput::Closed(first));
    assert_eq!(registrations(&world), 1, "the last route is not left yet");
    register(&mut world, second, CHUNK);
    world.settle();
    assert_eq!(registrations(&world), 1);
    let (name, route) = world.server.scheduler().routes.iter().next().unwrap();
    assert_eq!(**name, format!("{CHUNK:09}"));
    assert_eq!(route.consumers(), [second]);
}

#[test]
fn a_route_too_many_is_refused_and_one_that_is_registered_is_not() {
    let mut world = World::new(60_000, 64, 16);
    let consumer = world.connect(&[]);
    let most = world
        .server
        .scheduler()
        .settings
        .config()
        .max_routes_per_connection;
    for route in 0..=most {
        register(&mut world, consumer, route);
    }
    register(&mut world, consumer, 0);
    let refused = |(_, reply): &&(ConsumerId, Reply)| matches!(reply, Reply::Error(_));
    assert_eq!(world.replies.iter().filter(refused).count(), 1);
    assert_eq!(registrations(&world), most);
}
