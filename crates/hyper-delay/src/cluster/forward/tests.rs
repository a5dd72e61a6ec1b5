use std::sync::Arc;

use race_wheel::Tick;

use super::{
    wire::{Asked, Copy, Holds, ToLeader, ToServing, Told},
    *,
};
use crate::{
    cluster::log::Member,
    ledger::Subject,
    protocol::{Accept, Mode, Named, Request, parse},
    scheduler::{Ask, Credit},
};

const MILLI: u64 = 1_000_000;
const CLIENT: ConsumerId = 5;

fn at(millis: u64) -> Now {
    Now {
        wall_nanos: (1_000_000 + millis) * MILLI,
        monotonic: Tick::new((10_000 + millis) * MILLI),
    }
}

/// A forwarder of node `a` with a client, at a time in milliseconds.
struct World {
    forwarder: Forwarder,
    now: u64,
}

impl World {
    fn new(shards: u16) -> Self {
        let setup = Setup {
            node: "a".into(),
            shards,
            lease: Duration::from_millis(2_000),
            credit: 10,
            max_routes_per_connection: 3,
            max_routes: 5,
        };
        let mut world = Self {
            forwarder: Forwarder::new(setup, Arc::default(), at(0)),
            now: 0,
        };
        world.event(Event::Linked("b".into()));
        world.event(Event::Linked("c".into()));
        world.event(Event::Input(Input::Opened(CLIENT)));
        world
    }

    fn event(&mut self, event: Event) {
        self.forwarder.handle(event, at(self.now));
    }

    fn asks(&mut self, json: &str) {
        let line = parse(json.as_bytes()).unwrap();
        let ask = Ask {
            line,
            weight: 3,
            grant: None,
        };
        self.event(Event::Input(Input::Asked(CLIENT, vec![ask])));
    }

    fn effects(&mut self) -> Effects {
        self.forwarder.tick(at(self.now));
        self.forwarder.take_effects()
    }

    /// What leaders are told, without pings.
    fn sent(&mut self) -> Vec<ToLeader> {
        let sent = self.effects().to_leaders.into_iter();
        let sent = sent.map(|(_, _, message)| message);
        sent.filter(|it| !matches!(it, ToLeader::Ping { .. }))
            .collect()
    }

    /// What the client is told: the codes of errors, and the names of other replies.
    fn replies(&mut self) -> Vec<String> {
        let messages = self.effects().messages.into_iter();
        let replies = messages.map(|(_, message)| match message {
            Message::Reply {
                reply: Reply::Error(refusal),
                ..
            } => refusal.code.as_str().to_owned(),
            Message::Reply { reply, .. } => {
                let mut line = Vec::new();
                reply.encode(None, &mut line);
                let line = String::from_utf8(line).unwrap();
                line.split('"').nth(3).unwrap().to_owned()
            }
            Message::Deliver { id, route, .. } => format!("{id} of {route}"),
            other => format!("{other:?}"),
        });
        replies.collect()
    }

    fn leads(&mut self, shard: u16, node: &str, epoch: u64) {
        let leader = Leader {
            member: Member {
                node: node.into(),
                address: "there:1".into(),
            },
            epoch,
            lease: crate::cluster::log::LeaseId(1),
        };
        self.event(Event::Leader(ShardId(shard), Some(leader)));
    }

    fn told(&mut self, shard: u16, node: &str, told: ToServing) {
        self.event(Event::Told(node.into(), ShardId(shard), told));
    }

    fn holds(&self) -> Holds {
        Holds {
            asked: at(self.now).monotonic,
            at: Tick::new(77),
            until: Tick::new(77 + 1_000 * MILLI),
        }
    }

    /// The leader accepts the session that it was asked for.
    fn accepts(&mut self, shard: u16, node: &str, epoch: u64) {
        let holds = self.holds();
        self.told(shard, node, ToServing::Accepted { epoch, holds });
    }

    fn up(&mut self, shard: u16, node: &str, epoch: u64) {
        self.leads(shard, node, epoch);
        self.effects();
        self.accepts(shard, node, epoch);
    }

    fn delivers(&mut self, shard: u16, (route, id, seq): (&str, &str, u64), after: u64) {
        let copy = Copy {
            subject: Subject {
                route: route.into(),
                id: id.into(),
                seq,
                attempt: 1,
            },
            until: Tick::new(77 + 30_000 * MILLI),
            accept: Accept::default(),
            after,
        };
        let told = Told::Deliver(Box::new(copy));
        self.told(shard, "b", ToServing::Told(CLIENT, told));
    }
}

/// Routes of two shards.
fn routes() -> [String; 2] {
    [0, 1].map(|shard| {
        let mut names = (0..).map(|number| format!("r{number}"));
        names.find(|name| shard_of(name, 2).0 == shard).unwrap()
    })
}

const CANCEL: &str = r#"{"kind":"cancel","route_key":"r","id":"x"}"#;

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
    let [ToLeader::Asked(CLIENT, 1, asked), ToLeader::Ready] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert!(matches!(
        **asked,
        Asked::Request(Request::Cancel { .. }, None)
    ));
    let reply = Told::Reply(1, Reply::Pong);
    world.told(0, "b", ToServing::Told(CLIENT, reply));
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
fn a_leader_that_refuses_is_asked_again_and_a_silent_one_too() {
    let mut world = World::new(1);
    world.leads(0, "b", 7);
    assert_eq!(world.sent().len(), 1);
    world.told(0, "b", ToServing::Refused { epoch: 7 });
    assert!(world.sent().is_empty(), "after a pause");
    world.now = 50;
    assert_eq!(world.sent().len(), 1);
    world.now = 600;
    assert_eq!(world.sent().len(), 1);
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
    let [(_, Message::Deliver { authority, .. })] = &effects.messages[..] else {
        panic!("{effects:?}");
    };
    let authority = authority.clone().unwrap();
    assert!(authority.holds(at(999).monotonic) && !authority.holds(at(1_000).monotonic));
    world.told(0, "b", ToServing::Ended { epoch: 7 });
    assert!(!authority.holds(at(0).monotonic));
    let effects = world.effects();
    assert_eq!(effects.revoked.len(), 1);
    assert!(matches!(
        effects.to_leaders[..],
        [(_, _, ToLeader::Released { epoch: 7 })]
    ));
}

#[test]
fn an_ack_goes_to_the_leader_of_the_day_which_first_hears_what_is_in_flight() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    world.delivers(0, ("r", "y", 4), 0);
    world.effects();
    world.told(0, "b", ToServing::Ended { epoch: 7 });
    world.asks(r#"{"kind":"ack","id":"x"}"#);
    world.up(0, "c", 8);
    let sent = world.sent();
    let [
        ToLeader::Opened(CLIENT),
        ToLeader::Adopted(CLIENT, adopted),
        ToLeader::Acked {
            subject,
            confirm: None,
            ..
        },
        ToLeader::Ready,
        ToLeader::Lent(CLIENT, 1),
        ToLeader::Lent(CLIENT, 9),
    ] = &sent[..]
    else {
        panic!("{sent:?}");
    };
    assert_eq!(
        (&*adopted[0].id, adopted[0].seq, adopted.len()),
        ("y", 4, 1)
    );
    assert_eq!((&*subject.id, subject.seq), ("x", 3));
}

#[test]
fn an_ack_without_an_answer_can_be_repeated() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    world.effects();
    let ack = r#"{"kind":"ack","id":"x","confirm":true}"#;
    world.asks(ack);
    world.event(Event::Unlinked("b".into()));
    assert_eq!(world.replies(), ["unavailable"]);
    world.asks(ack);
    world.up(0, "c", 8);
    let sent = world.sent();
    let mut acks = sent.iter();
    assert!(acks.any(|it| matches!(
        it,
        ToLeader::Acked {
            confirm: Some(_),
            ..
        }
    )));
    world.asks(ack);
    assert_eq!(world.replies(), ["acked"], "it is not known any more");
}

#[test]
fn a_nack_of_a_delivery_of_an_earlier_leader_is_not_sent() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    world.told(0, "b", ToServing::Ended { epoch: 7 });
    world.asks(r#"{"kind":"nack","id":"x"}"#);
    world.up(0, "c", 8);
    let sent = world.sent();
    assert!(!sent.iter().any(|it| matches!(it, ToLeader::Nacked { .. })));
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
    assert!(matches!(last, Message::Deliver { seq: 4, .. }));
}

#[test]
fn a_delivery_waits_for_its_content() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.event(Event::Applied(ShardId(0), 11));
    world.delivers(0, ("r", "x", 3), 12);
    world.delivers(0, ("r", "y", 2), 10);
    assert_eq!(world.replies(), ["y of r"]);
    world.event(Event::Applied(ShardId(0), 12));
    assert_eq!(world.replies(), ["x of r"]);
}

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
        ToLeader::Asked(_, number, _),
    ] = &sent[..]
    else {
        panic!("{sent:?}");
    };
    let registered = Reply::Registered {
        route: (*first).into(),
        credit: 0,
    };
    world.told(
        0,
        "b",
        ToServing::Told(CLIENT, Told::Reply(*number, registered)),
    );
    let effects = world.effects();
    let [
        (
            _,
            Message::Reply {
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
    world.told(
        1,
        "b",
        ToServing::Told(CLIENT, Told::Credit(Credit::Wanted)),
    );
    assert!(matches!(world.sent()[..], [ToLeader::Recalled(_, 2)]));
    let returned = Told::Credit(Credit::Returned(2));
    world.told(0, "b", ToServing::Told(CLIENT, returned));
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
        let told = Told::Reply(number + 1, registered);
        world.told(0, "b", ToServing::Told(CLIENT, told));
    }
    let replies = world.replies();
    assert_eq!(
        replies,
        ["registered", "registered", "registered", "too_many_routes"]
    );
}

#[test]
fn a_schedule_without_a_route_gets_one_and_an_id() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.effects();
    world.asks(r#"{"kind":"schedule","fire_at":1}"#);
    let sent = world.sent();
    let [
        ToLeader::Opened(_),
        ToLeader::Lent(..),
        ToLeader::Bound(_, bound, Mode::Shared),
        ToLeader::Asked(_, _, asked),
    ] = &sent[..]
    else {
        panic!("{sent:?}");
    };
    let Asked::Request(Request::Schedule(schedule), _) = &**asked else {
        panic!("{asked:?}");
    };
    assert_eq!(schedule.route.as_ref(), Some(bound));
    assert!(schedule.id.is_some());
    world.event(Event::Input(Input::Closed(CLIENT)));
    assert!(matches!(world.sent()[..], [ToLeader::Closed(CLIENT)]));
}

#[test]
fn a_delivery_that_was_not_written_goes_back_to_its_leader() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.delivers(0, ("r", "x", 3), 0);
    world.effects();
    let copy = crate::scheduler::CopyOf {
        consumer: CLIENT,
        seq: 3,
        id: "x".into(),
    };
    world.event(Event::Input(Input::Unsent(copy)));
    let sent = world.sent();
    assert!(matches!(&sent[..], [ToLeader::NotSent(CLIENT, not_sent)] if not_sent.seq == 3));
    world.asks(r#"{"kind":"ack","id":"x","confirm":true}"#);
    assert_eq!(world.replies(), ["acked"], "there is no such delivery");
}

#[test]
fn a_named_answer_takes_the_delivery_it_names() {
    let mut deliveries = deliveries::Deliveries::default();
    let named = |id: &str, attempt| Named {
        id: id.into(),
        route: None,
        attempt,
    };
    assert!(deliveries.answered(&named("x", None)).is_none());
    let authority = Arc::new(Authority::new(0, Tick::new(10)));
    let delivered = deliveries::Delivered {
        shard: ShardId(0),
        route: "r".into(),
        seq: 1,
        attempt: 2,
        epoch: 1,
        until: Tick::new(5),
        until_there: Tick::new(5),
        authority,
    };
    let held = deliveries::Held {
        delivered,
        accept: Accept::default(),
    };
    assert!(deliveries.add(&"x".into(), held, Tick::ZERO).is_some());
    assert!(deliveries.answered(&named("x", Some(1))).is_none());
    deliveries.prune(Tick::new(5));
    assert_eq!(deliveries.len(), 0);
    let late = deliveries.answered(&named("x", Some(2))).unwrap();
    assert_eq!((late.seq, &*late.route), (1, "r"));
}

#[test]
fn the_tag_and_the_weight_of_a_request_come_back_with_the_reply() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.effects();
    world.asks(r#"{"kind":"cancel","route_key":"r","id":"x","tag":"t"}"#);
    world.sent();
    let told = Told::Reply(1, Reply::Pong);
    world.told(0, "b", ToServing::Told(CLIENT, told));
    let effects = world.effects();
    assert!(matches!(
        &effects.messages[..],
        [(CLIENT, Message::Reply { tag: Some(tag), weight: 3, .. })] if **tag == *"t"
    ));
}
