//! The scenarios of the tests of `tower::hedge`: a hedge after 10 ms, requests that begin with "No"
//! are not repeated, and the answer to others is delayed.

use race_core::Verdict;
use race_tower::FnRules;
use tower::Layer as _;

use crate::server::{Answer, Server, ask, millis, ms};

fn hedged(answers: [(u64, Answer); 2], request: &str) -> (Server, Answer) {
    let rules = FnRules::new(
        |request: &String| (!request.starts_with("No")).then(|| request.clone()),
        |answer: &Answer| match answer {
            Ok(_) => Verdict::Accept,
            Err(_) => Verdict::NoMoreStarts,
        },
    );
    let server = Server::new(answers);
    let mut service = server.layer(ms(10)).rules(rules).layer(server.clone());
    let answer = ask(&server.clock, &mut service, request);
    (
        server,
        answer.map_err(|error| error.into_service().unwrap()),
    )
}

#[test]
fn original_completes_first() {
    let (server, answer) = hedged([(11, Ok("orig-done")), (9, Ok("hedge-done"))], "Hello");
    assert_eq!((answer, millis(&server.clock)), (Ok("orig-done"), 11));
    assert_eq!(server.calls(), [0, 10]);
}

#[test]
fn hedge_completes_first() {
    let (server, answer) = hedged([(100, Ok("orig-done")), (1, Ok("hedge-done"))], "Hello");
    assert_eq!((answer, millis(&server.clock)), (Ok("hedge-done"), 11));
}

#[test]
fn original_completes_before_the_hedge() {
    let (server, answer) = hedged([(2, Ok("orig-done")), (1, Ok("hedge-done"))], "Hello");
    assert_eq!((answer, millis(&server.clock)), (Ok("orig-done"), 2));
    assert_eq!(server.calls(), [0]);
}

#[test]
fn request_that_is_not_retryable_or_not_cloneable_is_sent_once() {
    for request in ["NotRetryable", "NotCloneable"] {
        let (server, answer) = hedged([(30, Ok("orig-done")), (1, Ok("hedge-done"))], request);
        assert_eq!((answer, millis(&server.clock)), (Ok("orig-done"), 30));
        assert_eq!(server.calls(), [0]);
    }
}
