//! Deliveries that have come to this node, and not to their client.

use super::*;

/// Lets a delivery of an id wait for another one of that id.
fn held(world: &mut World, expires: Option<u64>) {
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 1), 0);
    let copy = ForwardedCopy {
        number: 2,
        revision: TaskRevision {
            route: "other".into(),
            id: "x".into(),
            seq: 2,
            attempt: 1,
        },
        due: 3,
        until: Tick::new(77 + 30_000 * MILLI),
        write_by: Tick::new(77 + 29_000 * MILLI),
        expires: expires.map(|millis| 77 + millis * MILLI),
        after: 0,
    };
    let message = ToConnection::Deliver(Box::new(copy));
    world.leader_sends(0, "b", ToServing::Connection(CLIENT, message));
    assert_eq!(world.replies(), ["x of r"]);
}

#[test]
fn a_delivery_that_expires_while_it_waits_goes_back_to_its_leader() {
    let ack = r#"{"kind":"ack","route_key":"r","id":"x"}"#;
    for (expires, is_sent) in [(None, true), (Some(2_000), true), (Some(900), false)] {
        let mut world = World::new(1);
        held(&mut world, expires);
        world.now = 901;
        world.asks(ack);
        let effects = world.effects();
        let sent = effects.messages.iter();
        let delivered =
            sent.filter(|(_, it)| matches!(it, ConsumerMessage::Deliver { seq: 2, .. }));
        assert_eq!(delivered.count(), usize::from(is_sent), "{expires:?}");
        let back = effects.to_leaders.iter().filter(|(_, _, message)| {
            let ToLeader::NotSent(_, not_sent) = message else {
                return false;
            };
            not_sent.seq == 2 && matches!(not_sent.why, UnsentReason::Void { attempt: 1 })
        });
        assert_eq!(back.count(), usize::from(!is_sent), "{expires:?}");
    }
    // One that waits for nothing is a matter of its leader.
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.now = 901;
    world.delivers(0, ("r", "x", 1), 0);
    assert_eq!(world.replies(), ["x of r"]);
}

/// The revisions of the deliveries that the leader gets back, and whether each one is void.
fn not_sent(messages: &[ToLeader]) -> Vec<(u64, bool)> {
    let not_sent = messages.iter().filter_map(|message| match message {
        ToLeader::NotSent(CLIENT, UnsentDelivery { seq, why, .. }) => match why {
            UnsentReason::Void { attempt: 1 } => Some((*seq, true)),
            UnsentReason::Unwritten { attempt: 1 } => Some((*seq, false)),
            why => panic!("{seq}: {why:?}"),
        },
        _ => None,
    });
    not_sent.collect()
}

#[test]
fn what_waits_on_a_connection_that_closes_goes_back_before_its_end() {
    let mut world = World::new(1);
    held(&mut world, None);
    // Its content is not here yet.
    world.delivers(0, ("r", "y", 3), 8);
    world.sent();
    world.event(ForwarderEvent::Input(FrontInput::Closing(CLIENT)));
    let copy = CopyId {
        consumer: CLIENT,
        seq: 1,
        id: "x".into(),
    };
    let why = UnsentReason::Unwritten { attempt: 1 };
    world.event(ForwarderEvent::Input(FrontInput::NotSent(copy, why)));
    world.event(ForwarderEvent::Input(FrontInput::Closed(CLIENT)));
    assert_eq!(not_sent(&world.sent()), [(1, false), (2, true), (3, true)]);
}

#[test]
fn after_the_end_of_a_registration_no_delivery_of_the_route_comes() {
    let mut world = World::new(1);
    held(&mut world, None);
    world.asks(r#"{"kind":"unregister","route_key":"other"}"#);
    // The leader has not read that yet.
    world.delivers(0, ("other", "y", 3), 8);
    world.delivers(0, ("r", "z", 4), 8);
    world.sent();
    let reply = Reply::Unregistered {
        route: "other".into(),
        reason: Reason::Asked,
    };
    world.leader_sends(
        0,
        "b",
        ToServing::Connection(CLIENT, ToConnection::Reply(1, reply)),
    );
    assert_eq!(not_sent(&world.sent()), [(3, true), (2, true)]);
    world.event(ForwarderEvent::Applied(ShardId(0), 8));
    world.asks(r#"{"kind":"ack","id":"x"}"#);
    assert_eq!(world.replies(), ["z of r", "Done(3)"]);
}

#[test]
fn what_has_waited_for_nearly_all_of_its_time_goes_back_in_time() {
    let mut world = World::new(1);
    held(&mut world, None);
    world.delivers(0, ("r", "y", 3), 8);
    // An ack timeout of 30 s; copies without contents here go back earlier by another rule.
    for (now, back) in [(900, vec![]), (1_000, vec![(3, true)])] {
        world.now = now;
        assert_eq!(not_sent(&world.sent()), back, "{now}");
    }
    world.now = 28_000;
    // The leader answers a ping of the beginning: its clock is where it was.
    let grant = LeadershipGrant {
        asked_at: at(0).monotonic,
        ..world.holds()
    };
    world.leader_sends(0, "b", ToServing::Granted { epoch: 7, grant });
    assert_eq!(not_sent(&world.sent()), []);
    world.now = 29_000;
    assert_eq!(not_sent(&world.sent()), [(2, false)]);
    world.asks(r#"{"kind":"ack","id":"x"}"#);
    assert_eq!(world.replies(), ["Done(3)"]);
}

#[test]
fn a_leader_hears_whether_a_delivery_that_was_given_back_has_failed() {
    let mut world = World::new(1);
    held(&mut world, None);
    world.sent();
    for (field, expected) in [("", true), (r#","failed":false"#, false)] {
        world.asks(&format!(r#"{{"kind":"nack","id":"x"{field}}}"#));
        let sent = world.sent();
        let failed = sent.iter().find_map(|message| match message {
            ToLeader::Nacked { failed, .. } => Some(*failed),
            _ => None,
        });
        assert_eq!(failed, Some(expected), "{field}");
    }
}
