//! Registrations that end while they are made again.

use super::*;

const REGISTER: &str = r#"{"kind":"register","route_key":"r","mode":"exclusive"}"#;

fn registered(world: &mut World, number: u32) {
    let (route, credit) = ("r".into(), 0);
    let told = Told::Reply(number, Reply::Registered { route, credit });
    world.told(0, "b", ToServing::Told(CLIENT, told));
}

fn unregistered(reason: crate::protocol::Reason) -> Reply {
    let route = "r".into();
    Reply::Unregistered { route, reason }
}

/// What a new leader hears of the route, and the credit that it is lent.
fn introduced(world: &mut World) -> (usize, u16) {
    world.up(0, "c", 8);
    let sent = world.sent();
    let bound = sent.iter().filter(|it| matches!(it, ToLeader::Bound(..)));
    let lent = sent.iter().filter_map(|message| match message {
        ToLeader::Lent(_, credit) => Some(*credit),
        _ => None,
    });
    (bound.count(), lent.sum())
}

#[test]
fn a_route_that_is_taken_and_registered_again_at_once_has_credit_and_a_next_leader() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.asks(REGISTER);
    registered(&mut world, 1);
    world.asks(REGISTER);
    world.effects();
    // Another connection has taken the route before the second request came.
    let taken = Told::News(unregistered(crate::protocol::Reason::Replaced));
    world.told(0, "b", ToServing::Told(CLIENT, taken));
    let sent = world.sent();
    assert!(matches!(sent[..], [ToLeader::Recalled(_, 10)]), "{sent:?}");
    registered(&mut world, 2);
    let returned = Told::Credit(Credit::Returned(10));
    world.told(0, "b", ToServing::Told(CLIENT, returned));
    let sent = world.sent();
    assert!(matches!(sent[..], [ToLeader::Lent(_, 10)]), "{sent:?}");
    assert_eq!(introduced(&mut world), (1, 10));
}

#[test]
fn a_registration_after_one_that_was_given_up_has_a_next_leader() {
    let mut world = World::new(1);
    world.asks(REGISTER);
    world.now = 1_000;
    world.asks(REGISTER);
    world.now = 2_000;
    assert_eq!(world.replies(), ["unavailable"]);
    world.up(0, "b", 7);
    world.effects();
    registered(&mut world, 1);
    assert_eq!(world.replies(), ["registered"]);
    assert_eq!(introduced(&mut world), (1, 10));
}

#[test]
fn a_route_that_is_left_before_its_registration_is_answered_is_left() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.asks(REGISTER);
    world.asks(r#"{"kind":"unregister","route_key":"r"}"#);
    world.effects();
    registered(&mut world, 1);
    let left = unregistered(crate::protocol::Reason::Asked);
    world.told(0, "b", ToServing::Told(CLIENT, Told::Reply(2, left)));
    assert_eq!(world.replies(), ["registered", "unregistered"]);
    assert_eq!(introduced(&mut world), (0, 0));
    assert!(world.forwarder.is_idle(CLIENT));
}
