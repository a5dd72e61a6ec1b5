//! When a request with a body is sent again, to the millisecond.

use std::time::Duration;

use http::Request;
use race_core::{RaceOptions, test::VirtualClock};
use race_tower::{
    GenericHedgeLayer,
    http::{HttpRules, ReplayLayer},
};
use tower::{ServiceBuilder, ServiceExt as _};

use crate::{
    body::{End, Script, Scripted, trailers},
    ms,
    server::{Plan, Seen, Server, Then},
};

/// What the attempts of a GET saw, with a delay of 50 ms and a limit of 100 bytes, and the status
/// of its answer.
fn sent(script: &Script, plans: &[Plan]) -> (Vec<Seen>, Option<u16>) {
    sent_by(HttpRules::new(), RaceOptions::new(), script, plans)
}

fn sent_by(
    rules: HttpRules,
    options: RaceOptions,
    script: &Script,
    plans: &[Plan],
) -> (Vec<Seen>, Option<u16>) {
    let clock = VirtualClock::new();
    let (body, progress) = Scripted::new(script, &clock);
    let server = Server::new(&clock, plans, progress);
    let hedge = GenericHedgeLayer::with_timer(clock.timer(), ms(50))
        .options(options)
        .rules(rules);
    let client = ServiceBuilder::new()
        .layer(ReplayLayer::new().limit(100))
        .layer(hedge)
        .service(server.clone());
    let request = Request::get("/").body(body).unwrap();
    let answer = clock.run(client.oneshot(request)).unwrap();
    let seen = server.world().seen.clone();
    (seen, answer.ok().map(|answer| answer.status().as_u16()))
}

fn starts(seen: &[Seen]) -> Vec<u64> {
    seen.iter().map(|it| it.at).collect()
}

#[test]
fn hedge_repeats_the_body_and_its_trailers() {
    let script = Script::of(&[(0, 30), (10, 0), (10, 40)], End::Trailers);
    let (seen, status) = sent(&script, &[Plan::answers(200, 500), Plan::answers(204, 20)]);
    assert_eq!((starts(&seen), status), (vec![0, 50], Some(204)));
    for seen in seen {
        assert_eq!(seen.bytes, script.bytes());
        assert_eq!(seen.trailers, Some(trailers()));
        assert!(seen.has_ended);
    }
}

#[test]
fn hedge_waits_for_the_end_of_the_body() {
    for hints in [true, false] {
        let mut script = Script::of(&[(0, 30), (120, 40)], End::Data);
        script.hints = hints;
        let (seen, status) = sent(&script, &[Plan::answers(200, 500), Plan::answers(204, 20)]);
        assert_eq!((starts(&seen), status), (vec![0, 120], Some(204)));
        assert_eq!(seen[1].bytes, script.bytes());
    }
}

#[test]
fn body_that_stays_open_is_not_hedged() {
    let script = Script::of(&[(0, 30), (10, 40)], End::Never);
    let answers = Plan {
        frames: 2,
        then: Then::Keep,
        ..Plan::answers(200, 500)
    };
    let (seen, status) = sent(&script, &[answers]);
    assert_eq!((starts(&seen), status), (vec![0], Some(200)));
}

#[test]
fn body_above_the_limit_is_not_sent_again() {
    for (len, end, expected) in [
        (100, End::Data, 2),
        (101, End::Data, 1),
        (91, End::Trailers, 2),
        (92, End::Trailers, 1),
    ] {
        let script = Script::of(&[(0, 60), (10, len - 60)], end);
        for first in [Plan::answers(200, 500), Plan::answers(503, 5)] {
            let (seen, _) = sent(&script, &[first, Plan::answers(204, 20)]);
            assert_eq!(seen.len(), expected, "{len} {end:?}");
            assert!(seen.iter().all(|it| it.bytes == script.bytes()));
        }
    }
}

#[test]
fn body_that_fails_is_not_sent_again() {
    let script = Script::of(&[(0, 30)], End::Error);
    let (seen, status) = sent(&script, &[Plan::answers(503, 20), Plan::answers(204, 20)]);
    assert_eq!((starts(&seen), status), (vec![0], Some(503)));
    assert_eq!(seen[0].error.as_deref(), Some("broken"));
}

#[test]
fn next_attempt_reads_on_where_a_failed_one_stopped() {
    for then in [Then::Drop, Then::Keep, Then::Leak] {
        for frames in 0..3 {
            let script = Script::of(&[(0, 30), (10, 40), (10, 20)], End::Trailers);
            let fails = Plan {
                frames,
                then,
                ..Plan::answers(503, 5)
            };
            let (seen, status) = sent(&script, &[fails, Plan::answers(204, 20)]);
            let failed = [5, 5, 15][frames];
            assert_eq!((starts(&seen), status), (vec![0, failed], Some(204)));
            assert_eq!(seen[1].bytes, script.bytes());
            assert_eq!(seen[1].trailers, Some(trailers()));
            let cut = (then == Then::Leak).then_some("the attempt is over");
            assert_eq!(seen[0].error.as_deref().map(|it| &it[..19]), cut);
        }
    }
}

#[test]
fn attempt_that_dropped_the_body_can_be_hedged() {
    let script = Script::of(&[(0, 30), (10, 40)], End::Data);
    let drops = Plan {
        frames: 1,
        ..Plan::answers(200, 500)
    };
    let (seen, status) = sent(&script, &[drops, Plan::answers(204, 20)]);
    assert_eq!((starts(&seen), status), (vec![0, 50], Some(204)));
    assert_eq!(seen[1].bytes, script.bytes());
}

#[test]
fn attempt_that_won_keeps_its_body() {
    let clock = VirtualClock::new();
    let script = Script::of(&[(0, 30), (100, 40)], End::Trailers);
    let (body, progress) = Scripted::new(&script, &clock);
    let wins = Plan {
        frames: 1,
        then: Then::Leak,
        ..Plan::answers(200, 5)
    };
    let server = Server::new(&clock, &[wins], progress);
    let client = ServiceBuilder::new()
        .layer(ReplayLayer::new())
        .layer(GenericHedgeLayer::with_timer(clock.timer(), ms(50)).rules(HttpRules::new()))
        .service(server.clone());
    let request = Request::get("/").body(body).unwrap();
    clock.run(client.oneshot(request)).unwrap().unwrap();
    clock.run(server.finish_leaked()).unwrap();
    let seen = server.world().seen.clone();
    assert_eq!(seen[0].bytes, script.bytes());
    assert_eq!((&seen[0].trailers, seen.len()), (&Some(trailers()), 1));
}

#[test]
fn requests_carry_the_time_that_is_left() {
    let none = RaceOptions::new();
    let deadline = none.clone().deadline(ms(300));
    let both = deadline.clone().attempt_timeout(ms(270));
    let script = Script::of(&[], End::Data);
    let plans = [Plan::answers(200, 500), Plan::answers(204, 20)];
    for (options, expected) in [
        (none, [None, None]),
        (deadline, [300, 250].map(|left| Some(ms(left)))),
        (both, [270, 250].map(|left| Some(ms(left)))),
    ] {
        let (seen, _) = sent_by(HttpRules::new(), options, &script, &plans);
        let left: Vec<Option<Duration>> = seen.iter().map(|it| it.time_left).collect();
        assert_eq!(left, expected);
    }
}
