use super::*;

#[test]
fn an_ack_goes_to_the_leader_of_the_day_which_first_hears_what_is_in_flight() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    world.delivers(0, ("r", "y", 4), 0);
    world.effects();
    world.leader_sends(0, "b", ToServing::Ended { epoch: 7 });
    world.asks(r#"{"kind":"ack","id":"x"}"#);
    world.up(0, "c", 8);
    let sent = world.sent();
    let [
        ToLeader::Opened(CLIENT),
        ToLeader::Adopted(CLIENT, adopted),
        ToLeader::Acked {
            revision,
            confirm: None,
            ..
        },
        ToLeader::Ready,
        // It has no route.
        ToLeader::Lent(CLIENT, 1),
        ToLeader::Recalled(CLIENT, 1),
    ] = &sent[..]
    else {
        panic!("{sent:?}");
    };
    assert_eq!(
        (&*adopted[0].id, adopted[0].seq, adopted.len()),
        ("y", 4, 1)
    );
    assert_eq!((&*revision.id, revision.seq), ("x", 3));
}

/// Whether the acks that a leader gets must be confirmed.
fn confirmed(sent: &[ToLeader]) -> Vec<bool> {
    let acks = sent.iter().filter_map(|message| match message {
        ToLeader::Acked { confirm, .. } => Some(confirm.is_some()),
        _ => None,
    });
    acks.collect()
}

#[test]
fn an_ack_whose_answer_is_lost_reaches_the_next_leader() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    world.effects();
    world.asks(r#"{"kind":"ack","id":"x","confirm":true}"#);
    assert_eq!(confirmed(&world.sent()), [true]);
    world.event(ForwarderEvent::Unlinked("b".into()));
    assert_eq!(world.replies(), ["unavailable"]);
    world.up(0, "c", 8);
    assert_eq!(confirmed(&world.sent()), [false]);
    // That one may not have taken it either.
    world.leader_sends(0, "c", ToServing::Ended { epoch: 8 });
    world.event(ForwarderEvent::Linked("b".into()));
    world.up(0, "b", 9);
    assert_eq!(confirmed(&world.sent()), [false]);
}

#[test]
fn an_ack_that_waits_too_long_for_a_leader_reaches_the_next_one() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    world.leader_sends(0, "b", ToServing::Ended { epoch: 7 });
    world.asks(r#"{"kind":"ack","id":"x","confirm":true}"#);
    world.effects();
    world.now += 2_001;
    assert_eq!(world.replies(), ["unavailable"]);
    world.up(0, "c", 8);
    assert_eq!(confirmed(&world.sent()), [false]);
}

#[test]
fn an_ack_without_an_answer_can_be_repeated() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    world.effects();
    let ack = r#"{"kind":"ack","id":"x","confirm":true}"#;
    world.asks(ack);
    world.event(ForwarderEvent::Unlinked("b".into()));
    assert_eq!(world.replies(), ["unavailable"]);
    world.asks(ack);
    world.up(0, "c", 8);
    assert_eq!(confirmed(&world.sent()), [false, true]);
    world.asks(ack);
    assert_eq!(world.replies(), ["acked"], "it is not known any more");
}

#[test]
fn an_answer_to_an_earlier_revision_is_not_taken_for_one_to_a_later_one() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    world.effects();
    // Its time is over; it was cancelled and scheduled anew, and another node leads.
    world.now += 31_000;
    world.leader_sends(0, "b", ToServing::Ended { epoch: 7 });
    world.up(0, "c", 8);
    world.effects();
    let revision = |world: &mut World, attempt| {
        world.delivers_round(0, ("r", "x", 9, attempt), 0);
        let effects = world.effects();
        let sent = effects.to_leaders.into_iter().map(|(_, _, sent)| sent);
        let sent: Vec<_> = sent
            .filter(|it| matches!(it, ToLeader::NotSent(..)))
            .collect();
        (sent, effects.messages.len())
    };
    let (sent, delivered) = revision(&mut world, 1);
    assert!(
        matches!(&sent[..], [ToLeader::NotSent(CLIENT, it)] if it.seq == 9),
        "{sent:?}"
    );
    assert_eq!(delivered, 0);
    let (sent, delivered) = revision(&mut world, 2);
    assert_eq!((sent.len(), delivered), (0, 1));
}

#[test]
fn an_id_is_delivered_once_at_a_time() {
    let [first, second] = routes();
    let mut world = World::new(2);
    world.up(0, "b", 7);
    world.up(1, "b", 8);
    world.effects();
    world.delivers(0, (&first, "x", 3), 0);
    world.delivers(1, (&second, "x", 4), 0);
    assert_eq!(world.replies(), [format!("x of {first}")]);
    world.asks(r#"{"kind":"ack","id":"x"}"#);
    let mut effects = world.effects();
    let acked = effects.to_leaders.iter().find_map(|(_, shard, message)| {
        matches!(message, ToLeader::Acked { .. }).then_some(*shard)
    });
    assert_eq!(acked, Some(ShardId(0)));
    let last = effects.messages.pop().unwrap().1;
    // The time when the round was due comes from the leader.
    let is_last = matches!(last, ConsumerMessage::Deliver { seq: 4, due: 3, .. });
    assert!(is_last, "{last:?}");
}

#[test]
fn a_delivery_waits_for_its_content() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.event(ForwarderEvent::Applied(ShardId(0), 11));
    world.delivers(0, ("r", "x", 3), 12);
    world.delivers(0, ("r", "y", 2), 10);
    assert_eq!(world.replies(), ["y of r"]);
    world.event(ForwarderEvent::Applied(ShardId(0), 12));
    assert_eq!(world.replies(), ["x of r"]);
}

/// Deliveries that are given back, and connections that close, as the leader sees it.
fn given_back(sent: &[ToLeader]) -> (Vec<u64>, usize) {
    let not_sent = sent.iter().filter_map(|message| match message {
        ToLeader::NotSent(
            CLIENT,
            UnsentDelivery {
                seq,
                why: UnsentReason::Void { attempt: 1 },
                ..
            },
        ) => Some(*seq),
        _ => None,
    });
    let closing = |message: &&ToLeader| matches!(message, ToLeader::Closing(CLIENT));
    (not_sent.collect(), sent.iter().filter(closing).count())
}

#[test]
fn a_node_whose_replica_stands_still_gives_deliveries_back_until_it_goes_on() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.asks(r#"{"kind":"register","route_key":"r"}"#);
    world.effects();
    let (route, credit) = ("r".into(), 0);
    let registered = ToConnection::Reply(1, Reply::Registered { route, credit });
    world.leader_sends(0, "b", ToServing::Connection(CLIENT, registered));
    world.event(ForwarderEvent::Applied(ShardId(0), 11));
    world.delivers(0, ("r", "x", 3), 12);
    world.effects();
    world.now = 999;
    assert_eq!(given_back(&world.sent()), (vec![], 0));
    world.now = 1_000;
    assert_eq!(given_back(&world.sent()), (vec![3], 1));
    world.delivers(0, ("r", "y", 4), 0);
    assert_eq!(given_back(&world.sent()), (vec![4], 0));
    world.event(ForwarderEvent::Applied(ShardId(0), 12));
    let sent = world.sent();
    assert!(
        matches!(sent[..], [ToLeader::Begin { epoch: 7, .. }]),
        "{sent:?}"
    );
    world.accepts(0, "b", 7);
    let sent = world.sent();
    let is_lent = |message: &ToLeader| matches!(message, ToLeader::Lent(CLIENT, _));
    assert!(sent.iter().any(is_lent), "{sent:?}");
}

#[test]
fn a_node_whose_replica_has_stopped_takes_deliveries_again_when_it_is_replaced() {
    let mut world = World::new(1);
    world.event(ForwarderEvent::ReplicaFollows(ShardId(0), false));
    world.up(0, "b", 7);
    world.asks(r#"{"kind":"register","route_key":"r"}"#);
    let (back, closing) = given_back(&world.sent());
    assert_eq!((back, closing), (vec![], 1));
    world.delivers(0, ("r", "x", 3), 0);
    assert_eq!(given_back(&world.sent()), (vec![3], 0));
    world.event(ForwarderEvent::ReplicaFollows(ShardId(0), true));
    assert!(matches!(world.sent()[..], [ToLeader::Begin { .. }]));
}

#[test]
fn a_delivery_that_was_not_written_goes_back_to_its_leader() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    world.effects();
    let copy = CopyId {
        consumer: CLIENT,
        seq: 3,
        id: "x".into(),
    };
    world.event(ForwarderEvent::Input(FrontInput::NotSent(
        copy,
        UnsentReason::Gone,
    )));
    let sent = world.sent();
    assert!(matches!(&sent[..], [ToLeader::NotSent(CLIENT, not_sent)] if not_sent.seq == 3));
    world.asks(r#"{"kind":"ack","id":"x","confirm":true}"#);
    assert_eq!(world.replies(), ["acked"], "there is no such delivery");
}

#[test]
fn late_acks_of_as_many_deliveries_as_the_highest_credit_count() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    for (number, credit) in [(1, 5_000), (2, 1)] {
        let register = format!(r#"{{"kind":"register","route_key":"r","credit":{credit}}}"#);
        world.asks(&register);
        let (route, credit) = ("r".into(), 0);
        let message = ToConnection::Reply(number, Reply::Registered { route, credit });
        world.leader_sends(0, "b", ToServing::Connection(CLIENT, message));
    }
    for seq in 0..5_000 {
        world.delivers(0, ("r", &format!("task-{seq}"), seq), 0);
    }
    world.effects();
    world.now = 900;
    let grant = world.holds();
    world.leader_sends(0, "b", ToServing::Granted { epoch: 7, grant });
    world.now = 31_000;
    world.asks(r#"{"kind":"ack","id":"task-0","confirm":true}"#);
    let sent = world.sent();
    let is_acked =
        |it: &ToLeader| matches!(it, ToLeader::Acked { revision, .. } if revision.seq == 0);
    assert!(sent.iter().any(is_acked), "{sent:?}");
}

#[test]
fn a_copy_that_was_not_passed_on_when_the_link_broke_has_not_failed() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.event(ForwarderEvent::Applied(ShardId(0), 11));
    world.delivers(0, ("r", "x", 3), 11);
    world.delivers(0, ("other", "x", 4), 11);
    world.delivers(0, ("r", "y", 5), 12);
    assert_eq!(world.replies(), ["x of r"], "the others wait");
    // The first new link breaks before the leader has read anything.
    let mut said = Vec::new();
    for _ in 0..2 {
        world.event(ForwarderEvent::Unlinked("b".into()));
        world.event(ForwarderEvent::Linked("b".into()));
        let sent = world.sent();
        let last = matches!(
            sent[..],
            [ToLeader::Begin {
                last_copy: Some(5),
                ..
            }]
        );
        assert!(last, "{sent:?}");
        world.accepts(0, "b", 7);
        said = world.sent();
    }
    let adopted = said.iter().filter_map(|message| match message {
        ToLeader::Adopted(CLIENT, adopted) => Some(adopted),
        _ => None,
    });
    let mut adopted: Vec<u64> = adopted.flatten().map(|copy| copy.seq).collect();
    assert_eq!(
        adopted.last(),
        Some(&3),
        "its id is delivered once at a time"
    );
    adopted.sort_unstable();
    assert_eq!(adopted, [3, 4, 5]);
    let (mut back, _) = given_back(&said);
    back.sort_unstable();
    assert_eq!(back, [4, 5]);
    world.asks(r#"{"kind":"ack","id":"x"}"#);
    assert!(world.replies().iter().all(|it| !it.starts_with("x of")));
}

#[test]
fn a_leadership_hears_how_many_of_its_copies_have_arrived() {
    let mut world = World::new(1);
    world.leads(0, "b", 7);
    let sent = world.sent();
    assert!(
        matches!(
            sent[..],
            [ToLeader::Begin {
                last_copy: None,
                ..
            }]
        ),
        "{sent:?}"
    );
    world.accepts(0, "b", 7);
    world.effects();
    world.delivers(0, ("r", "x", 3), 0);
    world.now = 250;
    let sent = world.effects().to_leaders;
    let ping = matches!(sent[..], [(_, _, ToLeader::Ping { last_copy: 3, .. })]);
    assert!(ping, "{sent:?}");
    world.leads(0, "c", 8);
    let sent = world.sent();
    assert!(
        matches!(
            sent[..],
            [ToLeader::Begin {
                epoch: 8,
                last_copy: None,
                ..
            }]
        ),
        "{sent:?}"
    );
}

#[test]
fn a_touch_extends_a_delivery_whatever_the_wall_clock_of_the_node_says() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    world.effects();
    world.asks(r#"{"kind":"touch","id":"x"}"#);
    world.effects();
    let (named, until) = ("x", Tick::new(77 + 50_000 * MILLI));
    let touched = Reply::Touched {
        id: named.into(),
        route: Some("r".into()),
        attempt: Some(1),
        // An hour ahead of the clock of this node.
        deadline: Some(at(3_600_000).wall_millis()),
    };
    world.leader_sends(
        0,
        "b",
        ToServing::Connection(CLIENT, ToConnection::Touched(1, touched, until)),
    );
    assert_eq!(world.replies(), ["touched"]);
    world.leader_sends(0, "b", ToServing::Ended { epoch: 7 });
    world.effects();
    world.up(0, "c", 8);
    let sent = world.sent();
    let left = sent.iter().find_map(|message| match message {
        ToLeader::Adopted(CLIENT, adopted) => Some(adopted[0].left),
        _ => None,
    });
    assert_eq!(left, Some(Duration::from_secs(50)));
}
