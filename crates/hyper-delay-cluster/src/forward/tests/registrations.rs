//! Registrations that end while they are made again.

use super::*;

const REGISTER: &str = r#"{"kind":"register","route_key":"r","mode":"exclusive"}"#;

fn registered(world: &mut World, number: u32) {
    let (route, credit) = ("r".into(), 0);
    let message = ToConnection::Reply(number, Reply::Registered { route, credit });
    world.leader_sends(0, "b", ToServing::Connection(CLIENT, message));
}

fn unregistered(reason: Reason) -> Reply {
    let route = "r".into();
    Reply::Unregistered { route, reason }
}

/// The messages to a new leader about the route, and the credit that it is lent.
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
fn a_new_leader_is_lent_no_more_than_the_credit() {
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
    assert!(matches!(credit[..], [ToLeader::Lent(_, 2)]), "{credit:?}");
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
fn last_request_number(world: &mut World) -> u32 {
    let sent = world.sent().into_iter().rev();
    let mut numbers = sent.filter_map(|message| match message {
        ToLeader::Request(_, number, _) => Some(number),
        _ => None,
    });
    numbers.next().expect("the leader was asked")
}

fn replies(world: &mut World, number: u32, reply: Reply) {
    let message = ToConnection::Reply(number, reply);
    world.leader_sends(0, "b", ToServing::Connection(CLIENT, message));
}

fn refusal(code: Code) -> Reply {
    Reply::Error(Refusal::new(code, String::new()))
}

fn registered_with(route: &str) -> Reply {
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

#[test]
fn a_refused_schedule_does_not_register_the_own_route() {
    let scheduled = || Reply::Pong;
    // What becomes of the schedules, in the order of their replies, and whether the route stays.
    let refused = || refusal(Code::BadField);
    let cases: [(Vec<Reply>, bool); 6] = [
        (vec![refused()], false),
        (vec![refusal(Code::Unavailable)], true),
        (vec![scheduled()], true),
        (vec![refused(), scheduled()], true),
        (vec![scheduled(), refused()], true),
        (vec![refused(), refused()], false),
    ];
    for (answers, stays) in cases {
        let mut world = World::new(1);
        world.up(0, "b", 7);
        world.effects();
        let numbers: Vec<u32> = answers
            .iter()
            .map(|_| {
                world.asks(SCHEDULE);
                last_request_number(&mut world)
            })
            .collect();
        let what = format!("{answers:?}");
        for (number, answer) in numbers.into_iter().zip(answers) {
            replies(&mut world, number, answer);
        }
        assert_eq!(!world.forwarder.is_idle(CLIENT), stays, "{what}");
        let sent = world.sent();
        let unregisters = sent.iter().any(|it| {
            matches!(it, ToLeader::Request(_, _, asked)
                if matches!(&**asked, ForwardedRequest::Request(RouteRequest::Unregister { .. })))
        });
        assert_eq!(unregisters, !stays, "{what}: {sent:?}");
        // What the leader says to that is no news of the client.
        let gone = unregistered(Reason::Asked);
        replies(&mut world, wire::NO_ANSWER, gone);
        assert_eq!(world.replies(), [""; 0], "{what}");
    }
}

/// The number of the request of the leader to schedule on the own route, and the route.
fn own_route(world: &mut World) -> (u32, Arc<str>) {
    let sent = world.sent().into_iter();
    let mut schedules = sent.filter_map(|message| match message {
        ToLeader::Request(_, number, asked) => match *asked {
            ForwardedRequest::Request(RouteRequest::Schedule { schedule, .. }) => {
                Some((number, schedule.route?))
            }
            _ => None,
        },
        _ => None,
    });
    schedules.next().expect("it is asked for")
}

const SCHEDULE: &str = r#"{"kind":"schedule","fire_at":1}"#;

/// A connection whose own route has a task, and that leaves the route. Returns the route, and the
/// number of the request that has no answer yet.
fn left_with_a_task() -> (World, Arc<str>, u32) {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.asks(SCHEDULE);
    let (number, own) = own_route(&mut world);
    replies(&mut world, number, Reply::Pong);
    world.asks(&format!(r#"{{"kind":"unregister","route_key":"{own}"}}"#));
    let left = last_request_number(&mut world);
    (world, own, left)
}

#[test]
fn an_own_route_that_the_client_registers_stays_whatever_is_refused_on_it() {
    let (mut world, own, left) = left_with_a_task();
    world.asks(&format!(r#"{{"kind":"register","route_key":"{own}"}}"#));
    let joined = last_request_number(&mut world);
    let (route, reason) = (own.clone(), Reason::Asked);
    replies(&mut world, left, Reply::Unregistered { route, reason });
    replies(&mut world, joined, registered_with(&own));
    world.asks(SCHEDULE);
    let (number, _) = own_route(&mut world);
    replies(&mut world, number, refusal(Code::TooLong));
    assert!(!world.forwarder.is_idle(CLIENT), "it is registered");
}

#[test]
fn a_task_on_an_own_route_has_a_consumer_though_the_route_was_left_before() {
    let (mut world, own, left) = left_with_a_task();
    world.asks(SCHEDULE);
    let (number, _) = own_route(&mut world);
    let (route, reason) = (own, Reason::Asked);
    replies(&mut world, left, Reply::Unregistered { route, reason });
    replies(&mut world, number, Reply::Pong);
    world.effects();
    let (bound, lent) = introduced(&mut world);
    assert_eq!((bound, lent > 0), (1, true));
}
