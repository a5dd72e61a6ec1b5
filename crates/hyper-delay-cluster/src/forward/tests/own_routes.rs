//! Routes that the server makes for connections.

use super::{
    registrations::{introduced, last_request_number, refusal, registered_with, replies},
    *,
};

#[test]
fn a_refused_schedule_does_not_register_the_own_route() {
    let scheduled = || Reply::Pong;
    // What becomes of the schedules, in the order of their replies, and whether the route stays.
    let refused = || refusal(Code::BadField);
    let cases: [(Vec<Reply>, bool); 6] = [
        (vec![refused()], false),
        // The journal of the leader is full.
        (vec![refusal(Code::Unavailable)], false),
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
        let registers = own_registrations(&mut world);
        assert_eq!(registers.len(), usize::from(stays), "{what}: {registers:?}");
        // What the leader says to that is no news of the client.
        for (number, own) in registers {
            replies(&mut world, number, registered_with(&own));
            assert_eq!(world.replies(), [""; 0], "{what}");
        }
        assert_eq!(!world.forwarder.is_idle(CLIENT), stays, "{what}");
    }
}

/// It cannot be delivered there, and would come again at once.
#[test]
fn a_connection_that_is_about_to_close_gets_no_copies_of_its_own_route() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.effects();
    world.asks(SCHEDULE);
    let number = last_request_number(&mut world);
    world.event(ForwarderEvent::Input(FrontInput::Closing(CLIENT)));
    replies(&mut world, number, Reply::Pong);
    let sent = world.sent();
    let expected = matches!(
        &sent[..],
        [
            ToLeader::Opened(CLIENT),
            ToLeader::Closing(CLIENT),
            ToLeader::Request(..)
        ]
    );
    assert!(expected, "{sent:?}");
}

#[test]
fn a_schedule_whose_leader_is_gone_may_need_the_own_route() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.asks(SCHEDULE);
    world.effects();
    world.up(0, "c", 8);
    assert_eq!(own_registrations(&mut world).len(), 1);
    // That has no answer either, and the next leader learns of it at once.
    world.leader_sends(0, "c", ToServing::Ended { epoch: 8 });
    world.up(0, "b", 9);
    let sent = world.sent();
    let bound = sent.iter().filter(|it| matches!(it, ToLeader::Bound(..)));
    assert_eq!(bound.count(), 1, "{sent:?}");
}

/// A schedule that waits too long for a leader has not taken effect.
#[test]
fn a_schedule_that_reaches_no_leader_does_not_need_the_own_route() {
    let mut world = World::new(1);
    world.asks(SCHEDULE);
    world.now += 2_001;
    assert_eq!(world.replies(), ["unavailable"]);
    assert!(world.forwarder.is_idle(CLIENT));
}

/// A leader takes no loan for a connection that it does not know.
#[test]
fn the_credit_for_an_own_route_follows_the_connection() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.effects();
    let numbers = [0; 2].map(|_| {
        world.asks(SCHEDULE);
        last_request_number(&mut world)
    });
    replies(&mut world, numbers[0], refusal(Code::Quota));
    assert_eq!(format!("{:?}", world.sent()), "[]");
    replies(&mut world, numbers[1], Reply::Pong);
    let sent = world.sent();
    let expected = matches!(
        &sent[..],
        [
            ToLeader::Opened(CLIENT),
            ToLeader::Lent(CLIENT, 1..),
            ToLeader::Request(..)
        ]
    );
    assert!(expected, "{sent:?}");
}

/// The requests of the leader to register own routes.
fn own_registrations(world: &mut World) -> Vec<(u32, Arc<str>)> {
    let sent = world.sent().into_iter();
    let registers = sent.filter_map(|message| match message {
        ToLeader::Request(_, number, asked) => match *asked {
            ForwardedRequest::Request(RouteRequest::Register { route, .. }) => {
                Some((number, route))
            }
            _ => None,
        },
        _ => None,
    });
    registers.collect()
}

/// Another connection has the route exclusively, and keeps it.
#[test]
fn before_its_schedule_is_accepted_no_leader_hears_of_the_own_route() {
    let mut world = World::new(1);
    world.up(0, "b", 7);
    world.effects();
    world.asks(SCHEDULE);
    let sent = world.sent();
    let [ToLeader::Request(_, number, _)] = sent[..] else {
        panic!("{sent:?}");
    };
    replies(&mut world, number, refusal(Code::Quota));
    assert_eq!(own_registrations(&mut world), []);
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
