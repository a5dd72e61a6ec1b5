//! Which answer a request gets, and when.

use std::sync::Arc;

use race_core::{Budget, OnFailure, RaceOptions, Steps, Verdict};
use race_tower::{FnRules, HedgeError};
use tower::Layer as _;

use crate::server::{Answer, HANGS, Server, ask, millis, ms};

#[test]
fn slow_request_is_sent_again_and_the_loser_is_dropped_at_once() {
    let server = Server::new([(500, Ok("slow")), (20, Ok("fast"))]);
    let mut service = server.layer(ms(50)).layer(server.clone());
    assert_eq!(ask(&server.clock, &mut service, "a").unwrap(), "fast");
    assert_eq!(server.calls(), [0, 50]);
    assert_eq!(server.requests(), ["a", "a"]);
    assert_eq!(server.dropped(), [(0, 70)]);
}

#[test]
fn fast_request_is_sent_once() {
    let server = Server::new([(50, Ok("in time"))]);
    let mut service = server.layer(ms(50)).layer(server.clone());
    assert_eq!(ask(&server.clock, &mut service, "a").unwrap(), "in time");
    assert_eq!(server.calls(), [0]);
}

#[test]
fn number_of_attempts_is_limited() {
    for (max, calls) in [(0, 1), (1, 1), (2, 2), (3, 3), (9, 5)] {
        let server = Server::new([(225, Ok("0")); 5]);
        let layer = server.layer(ms(50)).max_attempts(max);
        ask(&server.clock, &mut layer.layer(server.clone()), "a").unwrap();
        assert_eq!(server.calls().len(), calls, "{max}");

        let server = Server::new([(225, Ok("0")); 5]);
        let options = RaceOptions::new().max_attempts(max);
        let layer = server.layer(ms(50)).options(options);
        ask(&server.clock, &mut layer.layer(server.clone()), "a").unwrap();
        assert_eq!(server.calls().len(), calls, "{max} in a value");
    }
}

#[test]
fn failure_starts_the_next_attempt_and_the_last_error_is_returned() {
    let server = Server::new([(10, Err("first")), (10, Err("second"))]);
    let mut service = server.layer(ms(50)).layer(server.clone());
    let error = ask(&server.clock, &mut service, "a").unwrap_err();
    assert_eq!(error.to_string(), "second");
    assert!(matches!(error, HedgeError::Service("second")));
    assert_eq!(server.calls(), [0, 10]);

    let server = Server::new([(10, Err("first")), (10, Ok("second"))]);
    let waits = server.layer(ms(50)).on_failure(OnFailure::Wait);
    assert_eq!(
        ask(&server.clock, &mut waits.layer(server.clone()), "a").unwrap(),
        "second"
    );
    assert_eq!(server.calls(), [0, 50]);
}

#[test]
fn request_that_must_not_be_repeated_is_sent_once() {
    let rules = FnRules::new(
        |request: &String| (!request.starts_with("POST")).then(|| request.clone()),
        |answer: &Answer| match answer {
            Ok(_) => Verdict::Accept,
            Err(_) => Verdict::Retryable,
        },
    );
    let server = Server::new([
        (100, Ok("0")),
        (10, Err("failed")),
        (200, Ok("2")),
        (10, Ok("3")),
    ]);
    let mut service = server.layer(ms(50)).rules(rules).layer(server.clone());
    assert_eq!(ask(&server.clock, &mut service, "POST a").unwrap(), "0");
    assert!(ask(&server.clock, &mut service, "POST b").is_err());
    assert_eq!(ask(&server.clock, &mut service, "GET c").unwrap(), "3");
    assert_eq!(server.requests(), ["POST a", "POST b", "GET c", "GET c"]);
}

/// Accepts no answer that begins with "5".
fn overloaded()
-> FnRules<impl Fn(&String) -> Option<String> + Clone, impl Fn(&Answer) -> Verdict + Clone> {
    FnRules::new(
        |request: &String| Some(request.clone()),
        |answer: &Answer| match answer {
            Ok(answer) if answer.starts_with('5') => Verdict::Retryable,
            Ok(answer) if answer.starts_with('4') => Verdict::Fatal,
            Ok(_) => Verdict::Accept,
            Err(_) => Verdict::Retryable,
        },
    )
}

#[test]
fn answer_that_is_not_good_starts_the_next_attempt() {
    let server = Server::new([(10, Ok("503")), (10, Ok("200"))]);
    let mut service = server
        .layer(ms(50))
        .rules(overloaded())
        .layer(server.clone());
    assert_eq!(ask(&server.clock, &mut service, "a").unwrap(), "200");
    assert_eq!(millis(&server.clock), 20);
}

#[test]
fn last_answer_is_returned_although_none_is_good() {
    let server = Server::new([(10, Err("refused")), (10, Ok("503"))]);
    let mut service = server
        .layer(ms(50))
        .rules(overloaded())
        .layer(server.clone());
    assert_eq!(ask(&server.clock, &mut service, "a").unwrap(), "503");

    let server = Server::new([(10, Ok("404")), (10, Ok("200"))]);
    let mut service = server
        .layer(ms(50))
        .rules(overloaded())
        .layer(server.clone());
    assert_eq!(
        ask(&server.clock, &mut service, "a").unwrap(),
        "404",
        "it is fatal"
    );
    assert_eq!(server.calls(), [0]);

    // An answer is better than a timeout that comes after it.
    let server = Server::new([(10, Ok("503")), (HANGS, Ok(""))]);
    let layer = server
        .layer(ms(50))
        .rules(overloaded())
        .attempt_timeout(ms(100));
    assert_eq!(
        ask(&server.clock, &mut layer.layer(server.clone()), "a").unwrap(),
        "503"
    );
    assert_eq!(millis(&server.clock), 110);
}

#[test]
fn timeouts_name_their_length() {
    let server = Server::new([(HANGS, Ok("")); 2]);
    let layer = server.layer(ms(50)).attempt_timeout(ms(200));
    let error = ask(&server.clock, &mut layer.layer(server.clone()), "a").unwrap_err();
    assert_eq!(error.to_string(), "every attempt timed out after 200ms");
    assert_eq!(millis(&server.clock), 250);

    // An answer that came is better than the deadline.
    let server = Server::new([(10, Ok("503")), (HANGS, Ok(""))]);
    let layer = server.layer(ms(50)).rules(overloaded()).deadline(ms(120));
    assert_eq!(
        ask(&server.clock, &mut layer.layer(server.clone()), "a").unwrap(),
        "503"
    );
    assert_eq!(millis(&server.clock), 120);

    let server = Server::new([(HANGS, Ok("")); 2]);
    let layer = server.layer(ms(50)).deadline(ms(120));
    let error = ask(&server.clock, &mut layer.layer(server.clone()), "a").unwrap_err();
    assert_eq!(error.to_string(), "no answer within the deadline of 120ms");
    assert_eq!(server.dropped(), [(0, 120), (1, 120)]);
}

#[test]
fn budget_limits_the_hedges_of_all_requests() {
    let server = Server::new([(100, Ok("slow")); 12]);
    let budget = Arc::new(Budget::percent(0).reserve(2));
    let layer = server.layer(ms(50)).budget(budget);
    let mut service = layer.layer(server.clone());
    for _ in 0..5 {
        ask(&server.clock, &mut service.clone(), "a").unwrap();
        ask(&server.clock, &mut service, "b").unwrap();
    }
    assert_eq!(server.calls().len(), 12, "two hedges");
}

#[test]
fn limits_on_attempts_at_once_and_on_their_gap_apply() {
    let server = Server::new([(100, Ok("0")); 3]);
    let layer = server.layer(ms(10)).max_attempts(3).max_in_flight(1);
    ask(&server.clock, &mut layer.layer(server.clone()), "a").unwrap();
    assert_eq!(server.calls(), [0]);

    let server = Server::new([(5, Err("0")), (5, Err("1")), (5, Ok("2"))]);
    let layer = server.layer(ms(100)).max_attempts(3).min_gap(ms(20));
    ask(&server.clock, &mut layer.layer(server.clone()), "a").unwrap();
    assert_eq!(server.calls(), [0, 20, 40]);
}

#[test]
fn delay_is_any_policy() {
    let server = Server::new([(500, Ok("0")); 3]);
    let layer = server.layer(Steps::new([10, 30].map(ms))).max_attempts(3);
    ask(&server.clock, &mut layer.layer(server.clone()), "a").unwrap();
    assert_eq!(server.calls(), [0, 10, 40]);
}

#[test]
fn dropping_a_request_drops_its_attempts() {
    use futures::FutureExt as _;
    use tower::Service as _;
    let server = Server::new([(HANGS, Ok("")); 2]);
    let mut service = server.layer(ms(0)).layer(server.clone());
    let mut request = service.call("a".to_owned());
    assert!((&mut request).now_or_never().is_none());
    assert_eq!(server.calls(), [0, 0]);
    drop(request);
    assert_eq!(server.dropped().len(), 2);
}
