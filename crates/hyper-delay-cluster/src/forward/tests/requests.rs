use super::*;

#[test]
fn a_connection_registers_at_each_shard_with_credit_for_all() {
    let [first, second] = routes();
    let mut world = World::new(2);
    world.up(0, "b", 7);
    world.up(1, "b", 8);
    world.effects();
    world.asks(&format!(
        r#"{{"kind":"register","route_key":"{first}","credit":4}}"#
    ));
    let sent = world.sent();
    let [
        ToLeader::Opened(_),
        ToLeader::Lent(_, 4),
        ToLeader::Request(_, number, _),
    ] = &sent[..]
    else {
        panic!("{sent:?}");
    };
    let registered = Reply::Registered {
        route: (*first).into(),
        credit: 0,
    };
    world.leader_sends(
        0,
        "b",
        ToServing::Connection(CLIENT, ToConnection::Reply(*number, registered)),
    );
    let effects = world.effects();
    let [
        (
            _,
            ConsumerMessage::Reply {
                reply: Reply::Registered { credit: 4, .. },
                weight: 3,
                ..
            },
        ),
    ] = &effects.messages[..]
    else {
        panic!("{effects:?}");
    };
    world.asks(&format!(r#"{{"kind":"register","route_key":"{second}"}}"#));
    assert!(
        !world
            .sent()
            .iter()
            .any(|it| matches!(it, ToLeader::Lent(..)))
    );
    assert!(!world.forwarder.is_idle(CLIENT), "it has routes");
    world.leader_sends(
        1,
        "b",
        ToServing::Connection(CLIENT, ToConnection::Credit(CreditChange::Wanted)),
    );
    assert!(matches!(world.sent()[..], [ToLeader::Recalled(_, 2)]));
    let returned = ToConnection::Credit(CreditChange::Returned(2));
    world.leader_sends(0, "b", ToServing::Connection(CLIENT, returned));
    assert!(matches!(world.sent()[..], [ToLeader::Lent(_, 2)]));
}

#[test]
fn too_many_routes_are_refused() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    for number in 0..4 {
        let route: Arc<str> = format!("r{number}").into();
        world.asks(&format!(r#"{{"kind":"register","route_key":"{route}"}}"#));
        let registered = Reply::Registered { route, credit: 0 };
        let message = ToConnection::Reply(number + 1, registered);
        world.leader_sends(0, "b", ToServing::Connection(CLIENT, message));
    }
    let replies = world.replies();
    assert_eq!(
        replies,
        ["registered", "registered", "registered", "too_many_routes"]
    );
}

#[test]
fn the_connections_of_a_node_share_its_bound_of_routes() {
    const OTHER: ConsumerId = CLIENT + 1;
    let mut world = World::new(1);
    world.event(ForwarderEvent::Input(FrontInput::Opened(OTHER)));
    for (number, consumer) in (0..).zip([CLIENT, CLIENT, CLIENT, OTHER, OTHER]) {
        let register = format!(r#"{{"kind":"register","route_key":"r{number}"}}"#);
        world.asks_as(consumer, &register);
    }
    assert_eq!(world.replies(), [""; 0]);
    world.asks_as(OTHER, r#"{"kind":"register","route_key":"r5"}"#);
    assert_eq!(world.replies(), ["too_many_routes"]);
}

#[test]
fn a_schedule_without_a_route_gets_one_and_an_id() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.effects();
    world.asks(r#"{"kind":"schedule","fire_at":1}"#);
    let sent = world.sent();
    let [ToLeader::Request(_, 1, asked)] = &sent[..] else {
        panic!("{sent:?}");
    };
    let ForwardedRequest::Request(RouteRequest::Schedule { schedule, .. }) = &**asked else {
        panic!("{asked:?}");
    };
    assert!(schedule.id.is_some());
    let scheduled = ToConnection::Reply(1, Reply::Pong);
    world.leader_sends(0, "b", ToServing::Connection(CLIENT, scheduled));
    let sent = world.sent();
    let [
        ToLeader::Opened(_),
        ToLeader::Lent(..),
        ToLeader::Request(_, 2, asked),
    ] = &sent[..]
    else {
        panic!("{sent:?}");
    };
    let ForwardedRequest::Request(RouteRequest::Register { route, mode }) = &**asked else {
        panic!("{asked:?}");
    };
    assert_eq!(Some(route), schedule.route.as_ref());
    assert_eq!(*mode, RegisterMode::Shared);
    world.event(ForwarderEvent::Input(FrontInput::Closed(CLIENT)));
    assert!(matches!(world.sent()[..], [ToLeader::Closed(CLIENT)]));
}

/// Its full name is that of a late delivery.
#[test]
fn a_reply_about_no_delivery_has_the_names_that_the_request_gave() {
    let late = |kind: &str| {
        let mut world = World::new(1);
        world.up(0, "b", 7);
        world.delivers(0, ("r", "x", 1), 0);
        world.now += 31_000;
        world.leader_sends(0, "b", ToServing::Ended { epoch: 7 });
        world.up(0, "c", 8);
        world.effects();
        let confirm = if kind == "ack" {
            r#","confirm":true"#
        } else {
            ""
        };
        world.asks(&format!(r#"{{"kind":"{kind}","id":"x"{confirm}}}"#));
        let sent = world.sent();
        let number = sent.iter().find_map(|message| match message {
            ToLeader::Request(_, number, _) => Some(*number),
            ToLeader::Acked { confirm, .. } => *confirm,
            _ => None,
        });
        (world, number.expect("the leader is asked"))
    };
    let (route, attempt) = (Some("r".into()), Some(1));
    let touched = Reply::Touched {
        id: "x".into(),
        route: route.clone(),
        attempt,
        deadline: None,
    };
    let acked = Reply::Acked {
        id: "x".into(),
        route,
        removed: false,
    };
    for (kind, reply) in [("touch", touched), ("ack", acked)] {
        let (mut world, number) = late(kind);
        let message = ToConnection::Reply(number, reply);
        world.leader_sends(0, "c", ToServing::Connection(CLIENT, message));
        let effects = world.effects();
        let [(_, ConsumerMessage::Reply { reply, .. })] = &effects.messages[..] else {
            panic!("{:?}", effects.messages);
        };
        let mut line = Vec::new();
        reply.encode(None, &mut line);
        let line = String::from_utf8(line).unwrap();
        assert!(
            !line.contains("route_key") && !line.contains("attempt"),
            "{line}"
        );
    }
}

#[test]
fn the_tag_and_the_weight_of_a_request_come_back_with_the_reply() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.effects();
    world.asks(r#"{"kind":"cancel","route_key":"r","id":"x","tag":"t"}"#);
    world.sent();
    let message = ToConnection::Reply(1, Reply::Pong);
    world.leader_sends(0, "b", ToServing::Connection(CLIENT, message));
    let effects = world.effects();
    assert!(matches!(
        &effects.messages[..],
        [(CLIENT, ConsumerMessage::Reply { tag: Some(tag), weight: 3, .. })] if **tag == *"t"
    ));
}
