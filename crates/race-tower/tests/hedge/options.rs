//! The options of a layer as a value.

use std::{
    pin::pin,
    task::{Context, Waker},
    time::Duration,
};

use race_core::{CatchUp, OnFailure, RaceOptions, test::VirtualTimer};
use race_tower::GenericHedgeLayer;
use tower::{Layer as _, Service as _, ServiceExt as _};

use crate::server::{HANGS, Server, millis, ms};

type Hedging = GenericHedgeLayer<VirtualTimer, Duration>;

/// The answer, when it came, and when the server was called.
type Seen = (String, u64, Vec<u64>);

/// Sends a request that is first polled 120 ms late. Each option changes it.
fn run(change: impl FnOnce(Hedging) -> Hedging) -> Seen {
    let answers = [
        (300, Ok("0")),
        (5, Err("1")),
        (HANGS, Ok("2")),
        (HANGS, Ok("3")),
    ];
    let server = Server::new(answers);
    let layer = change(server.layer(ms(50)).max_attempts(4));
    let mut service = layer.layer(server.clone());
    let answer = server.clock.run(async {
        let mut answer = pin!(service.ready().await.unwrap().call("a".to_owned()));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(answer.as_mut().poll(&mut cx).is_pending());
        server.clock.advance(ms(120));
        answer.await
    });
    let answer = format!("{:?}", answer.unwrap());
    (answer, millis(&server.clock), server.calls())
}

#[test]
fn value_equals_the_setters() {
    const NONE: RaceOptions = RaceOptions::new();
    macro_rules! check {
        ($($option:ident $argument:expr;)*) => {$(
            let setter = run(|layer| layer.$option($argument));
            let value = run(|layer| layer.options(NONE.$option($argument)));
            let kept = run(|layer| layer.$option($argument).options(NONE));
            assert_ne!(setter, run(|layer| layer), stringify!($option));
            assert_eq!(setter, value, stringify!($option));
            assert_eq!(setter, kept, "an option that is not set changes nothing");
        )*
            let setters = run(|layer| layer$(.$option($argument))*);
            let value = NONE$(.$option($argument))*;
            assert_eq!(setters, run(|layer| layer.options(value)));
        };
    }
    check! {
        max_attempts 2;
        max_in_flight 1;
        on_failure OnFailure::Wait;
        catch_up CatchUp::Burst;
        min_gap ms(20);
        attempt_timeout ms(130);
        deadline ms(140);
    }
}

#[test]
fn zero_in_a_value_means_one() {
    let zero = RaceOptions::new().max_attempts(0).max_in_flight(0);
    let (answer, at, calls) = run(|layer| layer.options(zero));
    assert_eq!((answer.as_str(), at), ("Ok(\"0\")", 300));
    assert_eq!(calls, [0]);
    let zero = RaceOptions::new().max_in_flight(0);
    assert_eq!(run(|layer| layer.options(zero)).2, [0]);
}

#[test]
fn value_without_a_maximum_leaves_the_default_of_two() {
    let server = Server::new([(225, Ok("0")); 5]);
    let layer = server.layer(ms(50));
    let layer = layer.options(RaceOptions::new().deadline(ms(900)));
    let mut service = layer.layer(server.clone());
    crate::server::ask(&server.clock, &mut service, "a").unwrap();
    assert_eq!(server.calls(), [0, 50]);
}
