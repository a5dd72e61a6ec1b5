//! Registrations that end while they are made again.

use super::*;

const REGISTER: &str = r#"{"kind":"register","route_key":"r","mode":"exclusive"}"#;

fn registered(world: &mut World, number: u32) {
    let (route, credit) = ("r".into(), 0);
    let message = ToConnection::Reply(number, Reply::Registered { route, credit });
    world.leader_sends(0, "b", ToServing::Connection(CLIENT, message));
}

pub(super) fn unregistered(reason: Reason) -> Reply {
    let route = "r".into();
    Reply::Unregistered { route, reason }
}

/// The messages to a new leader about the route, and the credit that it is lent.
pub(super) fn introduced(world: &mut World) -> (usize, u16) {
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
    let taken = ToConnection::Notice(unregistered(Reason::Replaced));
    world.leader_sends(0, "b", ToServing::Connection(CLIENT, taken));
    assert!(
        world.sent().is_empty(),
        "its credit stays for the second one"
    );
    registered(&mut world, 2);
    assert!(world.sent().is_empty());
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
    let left = unregistered(Reason::Asked);
    world.leader_sends(
        0,
        "b",
        ToServing::Connection(CLIENT, ToConnection::Reply(2, left)),
    );
    assert_eq!(world.replies(), ["registered", "unregistered"]);
    assert_eq!(introduced(&mut world), (0, 0));
    assert!(world.forwarder.is_idle(CLIENT));
}

/// Registers a route at its leader, which takes it.
fn registers(world: &mut World, shard: u16, route: &str, credit: u16) {
    world.asks(&format!(
        r#"{{"kind":"register","route_key":"{route}","credit":{credit}}}"#
    ));
    let sent = world.sent();
    let number = sent.iter().find_map(|message| match message {
        ToLeader::Request(_, number, _) => Some(*number),
        _ => None,
    });
    let registered = Reply::Registered {
        route: route.into(),
        credit: 0,
    };
    let message = ToConnection::Reply(number.expect("it is asked"), registered);
    world.leader_sends(shard, "b", ToServing::Connection(CLIENT, message));
    world.effects();
}

#[test]
fn a_shard_without_a_route_gets_no_credit_when_its_session_begins_anew() {
    let [first, second] = routes();
    let mut world = World::new(2);
    world.up(0, "b", 7);
    world.up(1, "b", 8);
    registers(&mut world, 0, &first, 2);
    registers(&mut world, 1, &second, 2);
    world.delivers(0, (&first, "x", 3), 0);
    let leaves = format!(r#"{{"kind":"unregister","route_key":"{first}"}}"#);
    world.asks(&leaves);
    let reason = Reason::Asked;
    let gone = Reply::Unregistered {
        route: (*first).into(),
        reason,
    };
    world.leader_sends(
        0,
        "b",
        ToServing::Connection(CLIENT, ToConnection::Notice(gone)),
    );
    world.effects();
    world.leader_sends(0, "b", ToServing::Ended { epoch: 7 });
    world.effects();
    world.up(0, "c", 9);
    let sent = world.sent();
    let credit = sent.iter().filter_map(|message| match message {
        ToLeader::Lent(_, credit) => Some(i32::from(*credit)),
        ToLeader::Recalled(_, credit) => Some(-i32::from(*credit)),
        _ => None,
    });
    assert_eq!(Vec::from_iter(credit), [1, -1], "{sent:?}");
}

#[test]
fn a_new_leader_may_use_no_more_than_the_credit() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    registers(&mut world, 0, "r", 2);
    // The leader knows that some have ended: other consumers had copies, too.
    for (id, seq) in [("w", 3), ("x", 4), ("y", 5), ("z", 6)] {
        world.delivers(0, ("r", id, seq), 0);
    }
    world.leader_sends(0, "b", ToServing::Ended { epoch: 7 });
    world.effects();
    world.up(0, "c", 8);
    let sent = world.sent();
    let credit = sent
        .iter()
        .filter(|it| matches!(it, ToLeader::Lent(..) | ToLeader::Recalled(..)));
    let credit: Vec<_> = credit.collect();
    // It can use none of the four before it is to return two of them.
    let [ToLeader::Recalled(CLIENT, 2), ToLeader::Lent(CLIENT, 4)] = credit[..] else {
        panic!("{credit:?}");
    };
}

#[test]
fn credit_is_free_when_the_time_of_a_delivery_passes_without_a_link() {
    let [first, second] = routes();
    let mut world = World::new(2);
    world.up(0, "b", 7);
    world.up(1, "c", 8);
    registers(&mut world, 0, &first, 1);
    world.delivers(0, (&first, "x", 3), 0);
    world.effects();
    world.event(ForwarderEvent::Unlinked("b".into()));
    world.effects();
    world.asks(&format!(r#"{{"kind":"register","route_key":"{second}"}}"#));
    world.effects();
    let wanted = ToConnection::Credit(CreditChange::Wanted);
    world.leader_sends(1, "c", ToServing::Connection(CLIENT, wanted));
    let lent = |sent: &[ToLeader]| {
        let mut lent = sent.iter();
        lent.any(|message| matches!(message, ToLeader::Lent(CLIENT, 1)))
    };
    assert!(
        !lent(&world.sent()),
        "the client has as many as it can take"
    );
    world.now += 31_000;
    // A session that is silent for so long would end.
    world.leader_sends(
        1,
        "c",
        ToServing::Granted {
            epoch: 8,
            grant: world.holds(),
        },
    );
    assert!(lent(&world.sent()));
}

/// Its tasks are not orphaned, though the node takes no copies for it.
#[test]
fn a_leader_hears_of_own_routes_also_from_a_node_without_the_contents() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.asks(r#"{"kind":"schedule","fire_at":1}"#);
    let number = last_request_number(&mut world);
    replies(&mut world, number, Reply::Pong);
    registers(&mut world, 0, "r", 4);
    world.event(ForwarderEvent::ReplicaFollows(ShardId(0), false));
    world.effects();
    world.up(0, "c", 8);
    let sent = world.sent();
    let messages = sent.iter().filter_map(|message| match message {
        ToLeader::Closing(_) => Some("closing"),
        ToLeader::Bound(_, route, _) if route.starts_with("conn-") => Some("own"),
        ToLeader::Bound(..) => Some("other"),
        _ => None,
    });
    assert_eq!(messages.collect::<Vec<_>>(), ["closing", "own"], "{sent:?}");
}

/// The number of the request that the leader was asked last.
pub(super) fn last_request_number(world: &mut World) -> u32 {
    let sent = world.sent().into_iter().rev();
    let mut numbers = sent.filter_map(|message| match message {
        ToLeader::Request(_, number, _) => Some(number),
        _ => None,
    });
    numbers.next().expect("the leader was asked")
}

pub(super) fn replies(world: &mut World, number: u32, reply: Reply) {
    let message = ToConnection::Reply(number, reply);
    world.leader_sends(0, "b", ToServing::Connection(CLIENT, message));
}

pub(super) fn refusal(code: Code) -> Reply {
    Reply::Error(Refusal::new(code, String::new()))
}

pub(super) fn registered_with(route: &str) -> Reply {
    let route = route.into();
    Reply::Registered { route, credit: 0 }
}

/// The credit in the reply to a registration.
fn credit_of_reply(world: &mut World) -> u16 {
    let messages = world.effects().messages.into_iter();
    let mut credits = messages.filter_map(|(_, message)| match message {
        ConsumerMessage::Reply {
            reply: Reply::Registered { credit, .. },
            ..
        } => Some(credit),
        _ => None,
    });
    credits.next().expect("there is a reply")
}

#[test]
fn a_registration_that_fails_changes_neither_credit_nor_compressions() {
    let register = |fields: &str| format!(r#"{{"kind":"register","route_key":"r",{fields}}}"#);
    for failure in [Code::Unavailable, Code::TooManyRoutes] {
        let mut world = World::new(1);
        world.up(0, "b", 7);
        world.asks(&register(r#""credit":3,"accept":["none"]"#));
        let number = last_request_number(&mut world);
        replies(&mut world, number, refusal(failure));
        world.effects();
        world.asks(r#"{"kind":"register","route_key":"r"}"#);
        let number = last_request_number(&mut world);
        replies(&mut world, number, registered_with("r"));
        assert_eq!(credit_of_reply(&mut world), 10, "{failure:?}");
        assert_eq!(accepted(&mut world, "x", 1), Accept::default());
    }
    // Without a leader, too.
    let mut world = World::new(1);
    world.asks(&register(r#""credit":3"#));
    world.now = 3_000;
    assert_eq!(world.replies(), ["unavailable"]);
    world.asks(r#"{"kind":"register","route_key":"r"}"#);
    world.up(0, "b", 7);
    let number = last_request_number(&mut world);
    replies(&mut world, number, registered_with("r"));
    assert_eq!(credit_of_reply(&mut world), 10);
}

/// Lets a task be delivered. Returns what the connection accepts of it.
fn accepted(world: &mut World, id: &str, seq: u64) -> Accept {
    world.delivers(0, ("r", id, seq), 0);
    let messages = world.effects().messages.into_iter();
    let mut accepted = messages.filter_map(|(_, message)| match message {
        ConsumerMessage::Deliver { accept, .. } => Some(accept),
        _ => None,
    });
    accepted.next().expect("it is delivered")
}

#[test]
fn compressions_count_from_the_reply_on_whatever_the_leader_knew() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.asks(REGISTER);
    registered(&mut world, 1);
    world.effects();
    world.asks(r#"{"kind":"register","route_key":"r","accept":["none"]}"#);
    let number = last_request_number(&mut world);
    assert_eq!(accepted(&mut world, "before", 1), Accept::default());
    // This one waits for its turn beyond the reply.
    world.delivers(0, ("other", "before", 2), 0);
    replies(&mut world, number, registered_with("r"));
    world.effects();
    let none = accepted(&mut world, "after", 3);
    assert_ne!(none, Accept::default());
    world.asks(r#"{"kind":"ack","route_key":"r","id":"before"}"#);
    let messages = world.effects().messages.into_iter();
    let held = messages.filter_map(|(_, message)| match message {
        ConsumerMessage::Deliver { accept, .. } => Some(accept),
        _ => None,
    });
    assert_eq!(held.collect::<Vec<_>>(), [none]);
}
