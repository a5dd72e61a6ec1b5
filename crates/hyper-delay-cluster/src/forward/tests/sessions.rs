use super::*;

#[test]
fn a_request_waits_for_a_leader() {
    let mut world = World::new(1);
    world.asks(CANCEL);
    assert!(world.sent().is_empty());
    world.leads(0, "b", 7);
    assert!(matches!(
        world.sent()[..],
        [ToLeader::Begin { epoch: 7, .. }]
    ));
    world.accepts(0, "b", 7);
    let sent = world.sent();
    let [ToLeader::Request(CLIENT, 1, asked), ToLeader::Ready] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert!(matches!(
        **asked,
        ForwardedRequest::Request(RouteRequest::Cancel { .. })
    ));
    let reply = ToConnection::Reply(1, Reply::Pong);
    world.leader_sends(0, "b", ToServing::Connection(CLIENT, reply));
    assert_eq!(world.replies(), ["pong"]);
}

#[test]
fn without_a_leader_a_request_is_refused_after_a_lease() {
    let mut world = World::new(1);
    world.asks(CANCEL);
    world.now = 1_999;
    assert!(world.replies().is_empty());
    world.now = 2_000;
    assert_eq!(world.replies(), ["unavailable"]);
    assert!(world.forwarder.is_settled());
}

#[test]
fn another_process_with_the_name_of_this_node_is_the_reason() {
    let mut world = World::new(1);
    world.asks(CANCEL);
    world.event(ForwarderEvent::Rival(true));
    world.now = 2_000;
    let effects = world.effects();
    let [
        (
            _,
            ConsumerMessage::Reply {
                reply: Reply::Error(refusal),
                ..
            },
        ),
    ] = &effects.messages[..]
    else {
        panic!("{effects:?}");
    };
    let why = "another process has the name of this node (a): stop one of them";
    assert_eq!(&*refusal.message, why);
    assert_eq!(world.forwarder.is_ready().unwrap_err(), why);
    world.event(ForwarderEvent::Rival(false));
    let error = world.forwarder.is_ready().unwrap_err();
    assert!(error.starts_with("this node reaches no leader of shard 0: "));
}

#[test]
fn a_leader_that_refuses_is_asked_again_and_a_silent_one_too() {
    let mut world = World::new(1);
    world.leads(0, "b", 7);
    assert_eq!(world.sent().len(), 1);
    world.leader_sends(0, "b", ToServing::Refused { epoch: 7 });
    assert!(world.sent().is_empty(), "after a pause");
    world.now = 50;
    assert_eq!(world.sent().len(), 1);
    world.now = 600;
    assert_eq!(world.sent().len(), 1);
}

#[test]
fn an_answer_to_an_earlier_question_begins_no_session() {
    let mut world = World::new(1);
    world.leads(0, "b", 7);
    assert_eq!(world.sent().len(), 1);
    let late = ToServing::Accepted {
        epoch: 7,
        grant: world.holds(),
    };
    world.now = 600;
    assert_eq!(world.sent().len(), 1, "it is asked again");
    world.leader_sends(0, "b", late);
    assert!(world.sent().is_empty());
    world.accepts(0, "b", 7);
    assert!(matches!(world.sent()[..], [ToLeader::Ready]));
}

#[test]
fn what_was_asked_of_a_leader_that_is_gone_is_answered_before_anything_else() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.asks(CANCEL);
    world.asks(CANCEL);
    assert_eq!(world.sent().len(), 3, "with Ready");
    world.leads(0, "c", 8);
    world.asks(r#"{"kind":"ping"}"#);
    assert_eq!(world.replies(), ["unavailable", "unavailable", "pong"]);
}

#[test]
fn a_leader_that_says_nothing_any_more_is_given_up() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.asks(CANCEL);
    world.now = 1_990;
    assert!(world.replies().is_empty());
    world.now = 2_000;
    assert_eq!(world.replies(), ["unavailable"]);
}

#[test]
fn an_ended_leadership_is_released() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    let effects = world.effects();
    let [(_, ConsumerMessage::Deliver { authority, .. })] = &effects.messages[..] else {
        panic!("{effects:?}");
    };
    let authority = authority.clone().unwrap();
    assert!(authority.holds(at(999).monotonic) && !authority.holds(at(1_000).monotonic));
    world.leader_sends(0, "b", ToServing::Ended { epoch: 7 });
    assert!(!authority.holds(at(0).monotonic));
    let effects = world.effects();
    assert_eq!(effects.revoked.len(), 1);
    assert!(matches!(
        effects.to_leaders[..],
        [(_, _, ToLeader::Released { epoch: 7 })]
    ));
}

#[test]
fn every_leader_hears_that_the_node_ends_before_its_connections_close() {
    let mut world = World::new(2);
    world.up(0, "b", 7);
    world.asks(r#"{"kind":"register","route_key":"r"}"#);
    world.effects();
    world.event(ForwarderEvent::Input(FrontInput::ShuttingDown));
    assert!(matches!(world.sent()[..], [ToLeader::Ending]));
    world.up(1, "c", 8);
    let sent = world.sent();
    assert!(matches!(sent[..], [ToLeader::Ending, ..]), "{sent:?}");
}

#[test]
fn the_leader_of_a_route_says_whether_it_has_consumers() {
    let [first, second] = routes();
    for (number, route) in (0..).zip([first, second]) {
        let mut world = World::new(2);
        world.event(ForwarderEvent::HasConsumers(3, route.as_str().into()));
        assert_eq!(world.effects().has_consumers, []);
        world.up(number, "b", 7);
        let sent = world.sent();
        let [ToLeader::Request(_, asked, look), ToLeader::Ready] = &sent[..] else {
            panic!("{sent:?}");
        };
        let ForwardedRequest::Query(LeaderQuery::HasConsumers(of)) = &**look else {
            panic!("{look:?}");
        };
        assert_eq!(**of, *route);
        let looked = ToConnection::QueryAnswer(*asked, LeaderQueryAnswer::HasConsumers(true));
        world.leader_sends(number, "b", ToServing::Connection(0, looked));
        assert_eq!(world.effects().has_consumers, [(3, Ok(true))]);
    }
}

#[test]
fn without_a_leader_it_is_not_known_whether_a_route_has_consumers() {
    let mut world = World::new(1);
    world.event(ForwarderEvent::HasConsumers(3, "r".into()));
    world.now = 2_000;
    let known = world.effects().has_consumers;
    assert!(
        matches!(&known[..], [(3, Err(refusal))] if refusal.code == Code::Unavailable),
        "{known:?}"
    );
    assert!(world.forwarder.is_settled());
}

/// The sums are of all routes.
#[test]
fn counts_of_a_route_are_asked_of_all_leaders() {
    let mut world = World::new(2);
    world.up(0, "b", 7);
    world.up(1, "b", 8);
    world.effects();
    let selection = RouteSelection {
        route: Some("r".into()),
        after: None,
        grant: None,
    };
    let asked = StatsRequest {
        stats: Stats::default(),
        own: Default::default(),
        selection,
        reply_to: ReplyTo {
            consumer: CLIENT,
            tag: None,
            weight: 3,
        },
    };
    world.event(ForwarderEvent::Input(FrontInput::Stats(Box::new(asked))));
    assert_eq!(world.sent().len(), 2);
}
