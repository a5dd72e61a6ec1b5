//! When the addresses arrive (RFC 8305, section 3).

use std::{
    error::Error as _,
    io,
    pin::pin,
    task::{Context, Poll, Waker},
};

use race_connect::{Answer, ConnectFailure, Family, HappyEyeballs, race_core::test::VirtualClock};

use crate::host::{HANGS, Host, address, addresses, failed, millis, ms};

#[test]
fn v6_answer_starts_at_once() {
    let host = Host::new([("6a", 30, Ok(()))]);
    let connected = host.connect(
        &HappyEyeballs::new(),
        [(20, addresses("6a")), (900, addresses("4a"))],
    );
    assert_eq!(connected.unwrap().address, address("6a"));
    assert_eq!(host.starts(), [("6a", 20)]);
    assert_eq!(millis(&host.clock), 50);
}

#[test]
fn v4_answer_waits_for_the_resolution_delay() {
    let host = Host::new([("4a", 30, Ok(()))]);
    host.connect(
        &HappyEyeballs::new(),
        [(20, addresses("4a")), (900, addresses("6a"))],
    )
    .unwrap();
    assert_eq!(host.starts(), [("4a", 70)]);

    let host = Host::new([("4a", 30, Ok(()))]);
    let settings = HappyEyeballs::new().resolution_delay(ms(0));
    host.connect(&settings, [(20, addresses("4a")), (900, addresses("6a"))])
        .unwrap();
    assert_eq!(host.starts(), [("4a", 20)]);
}

#[test]
fn v6_answer_within_the_resolution_delay_comes_first() {
    let host = Host::new([("6a", 30, Ok(())), ("4a", 1, Ok(()))]);
    host.connect(
        &HappyEyeballs::new(),
        [(20, addresses("4a")), (60, addresses("6a"))],
    )
    .unwrap();
    assert_eq!(host.starts(), [("6a", 60)]);
}

#[test]
fn negative_v6_answer_ends_the_resolution_delay() {
    for negative in [Answer::Ended(Family::V6), failed(Family::V6)] {
        let host = Host::new([("4a", 30, Ok(()))]);
        host.connect(
            &HappyEyeballs::new(),
            [(20, addresses("4a")), (33, negative)],
        )
        .unwrap();
        assert_eq!(host.starts(), [("4a", 33)]);
    }
}

#[test]
fn late_answer_is_inserted_among_those_that_have_not_started() {
    let host = Host::new([
        ("4a", HANGS, Ok(())),
        ("4b", HANGS, Ok(())),
        ("6a", 10, Ok(())),
    ]);
    host.connect(
        &HappyEyeballs::new(),
        [(0, addresses("4a 4b")), (200, addresses("6a"))],
    )
    .unwrap();
    assert_eq!(host.starts(), [("4a", 50), ("6a", 300)]);
}

#[test]
fn late_answer_after_all_have_failed_starts_at_once() {
    let refused = Err(io::ErrorKind::ConnectionRefused);
    let host = Host::new([("4a", 10, refused), ("6a", 10, Ok(()))]);
    host.connect(
        &HappyEyeballs::new(),
        [(0, addresses("4a")), (500, addresses("6a"))],
    )
    .unwrap();
    assert_eq!(host.starts(), [("4a", 50), ("6a", 500)]);
}

#[test]
fn withdrawn_address_does_not_start() {
    let host = Host::new([
        ("6a", HANGS, Ok(())),
        ("4a", 10, Ok(())),
        ("6b", 10, Ok(())),
    ]);
    let withdrawn = Answer::Withdrawn(vec![address("4a")]);
    host.connect(
        &HappyEyeballs::new(),
        [(0, addresses("6a 4a 6b")), (100, withdrawn)],
    )
    .unwrap();
    assert_eq!(host.starts(), [("6a", 0), ("6b", 250)]);
}

#[test]
fn host_without_addresses_is_an_error() {
    let host = Host::new([]);
    let error = host.connect(&HappyEyeballs::new(), []).unwrap_err();
    assert_eq!(error.reason(), ConnectFailure::NoAddresses);

    let answers = [(5, failed(Family::V6)), (9, failed(Family::V4))];
    let error = host.connect(&HappyEyeballs::new(), answers).unwrap_err();
    assert_eq!(error.reason(), ConnectFailure::NotResolved);
    let text = "cannot resolve the host: resolver: SERVFAIL; resolver: SERVFAIL";
    assert_eq!(error.to_string(), text);
    assert_eq!(error.resolver_errors().len(), 2);
    assert_eq!(error.source().unwrap().to_string(), "SERVFAIL");
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::Other);
}

#[test]
fn failure_of_one_family_leaves_the_other() {
    let host = Host::new([("6a", 10, Ok(()))]);
    host.connect(
        &HappyEyeballs::new(),
        [(5, failed(Family::V4)), (9, addresses("6a"))],
    )
    .unwrap();
    assert_eq!(host.starts(), [("6a", 9)]);
}

#[test]
fn deadline_includes_the_resolution() {
    let host = Host::new([("6a", HANGS, Ok(()))]);
    let settings = HappyEyeballs::new().deadline(ms(300));
    let error = host
        .connect(&settings, [(200, addresses("6a"))])
        .unwrap_err();
    let text = "no connection to the host within 300ms: [2001:db8::61]:443: no answer";
    assert_eq!(error.to_string(), text);
    assert_eq!(error.unanswered().len(), 1);
    assert!(error.source().is_none());
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::TimedOut);
    assert_eq!(host.closed(), [("6a", 300)]);
    let error = Host::new([])
        .connect(&settings, [(900, addresses("6a"))])
        .unwrap_err();
    assert_eq!(error.reason(), ConnectFailure::Deadline(ms(300)));
}

#[test]
fn errors_of_the_resolver_are_reported_with_those_of_attempts() {
    let refused = Err(io::ErrorKind::ConnectionRefused);
    let host = Host::new([("6a", 10, refused)]);
    let answers = [(0, failed(Family::V4)), (5, addresses("6a"))];
    let error = host.connect(&HappyEyeballs::new(), answers).unwrap_err();
    let text =
        "cannot connect to the host: [2001:db8::61]:443: connection refused; resolver: SERVFAIL";
    assert_eq!(error.to_string(), text);
    assert_eq!(error.source().unwrap().to_string(), "connection refused");

    let host = Host::new([]);
    let settings = HappyEyeballs::new().deadline(ms(100));
    let never = (900, addresses("6a"));
    let answers = [(0, failed(Family::V4)), never];
    let error = host.connect(&settings, answers).unwrap_err();
    let text = "no connection to the host within 100ms: resolver: SERVFAIL";
    assert_eq!(error.to_string(), text);
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::TimedOut);
}

#[test]
fn lists_of_an_error_are_cut_off() {
    let names: Vec<String> = (b'a'..=b'z')
        .map(|it| format!("6{}", char::from(it)))
        .collect();
    let names = names.join(" ");
    let names: &'static str = names.leak();
    let refused = Err(io::ErrorKind::ConnectionRefused);
    let host = Host::new(names.split(' ').map(|name| (name, 1, refused)));
    let again = (0..100).map(|_| (0, failed(Family::V4)));
    let answers = again.chain([(0, addresses(names))]);
    let error = host.connect(&HappyEyeballs::new(), answers).unwrap_err();
    let text = error.to_string();
    assert_eq!(text.matches("connection refused").count(), 10, "{text}");
    assert!(
        text.ends_with("; and 16 more; resolver: SERVFAIL"),
        "{text}"
    );
    assert_eq!(
        (error.failed().len(), error.resolver_errors().len()),
        (26, 1)
    );
}

/// A lookup may follow aliases or ask other servers.
#[test]
fn resolver_goes_on_while_an_address_waits_for_its_start() {
    let plans = ["4a", "4b", "4c"].map(|name| (name, HANGS, Ok(())));
    let host = Host::new(plans.into_iter().chain([("6a", 10, Ok(()))]));
    let nothing = (1..=8).map(|step| (step * 20, addresses("")));
    let answers = [(0, addresses("4a 4b 4c"))].into_iter().chain(nothing);
    let answers = answers.chain([(170, addresses("6a"))]);
    host.connect(&HappyEyeballs::new(), answers).unwrap();
    assert_eq!(host.starts(), [("4a", 50), ("6a", 300)]);
}

#[test]
fn failure_of_both_families_at_once_is_an_error() {
    let host = Host::new([]);
    let failed = Answer::FailedForBoth(io::Error::other("no such name"));
    let never = (900, addresses("6a"));
    let error = host
        .connect(&HappyEyeballs::new(), [(5, failed), never])
        .unwrap_err();
    assert_eq!(error.resolver_errors().len(), 1);
    assert_eq!(millis(&host.clock), 5);
}

#[test]
fn resolver_that_always_answers_does_not_outlive_the_deadline() {
    let clock = VirtualClock::new();
    let settings = HappyEyeballs::new().deadline(ms(600));
    let again = std::iter::repeat_with(|| addresses("6a"));
    let dial = |_, _| std::future::pending::<io::Result<()>>();
    let race = settings.race(clock.timer(), futures::stream::iter(again), dial);
    let mut race = pin!(race);
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..10 {
        assert!(race.as_mut().poll(&mut cx).is_pending());
    }
    clock.advance(ms(600));
    let ended = (0..10).find_map(|_| match race.as_mut().poll(&mut cx) {
        Poll::Ready(ended) => Some(ended),
        Poll::Pending => None,
    });
    let reason = ended.unwrap().unwrap_err().reason();
    assert_eq!(reason, ConnectFailure::Deadline(ms(600)));
}

#[test]
fn answers_that_one_poll_does_not_take_are_taken_by_the_next() {
    let host = Host::new([("6a", 10, Ok(()))]);
    let none = std::iter::repeat_with(|| (0, addresses(""))).take(99);
    let answers = none.chain([(0, addresses("6a"))]);
    host.connect(&HappyEyeballs::new(), answers).unwrap();
    assert_eq!(host.starts(), [("6a", 0)]);
}

#[test]
fn preferred_family_and_its_count_decide_the_order() {
    let all = "6a 6b 6c 4a 4b 4c";
    let plans = all.split(' ').map(|name| (name, HANGS, Ok(())));
    let host = Host::new(plans);
    let settings = HappyEyeballs::new()
        .prefer(Family::V4)
        .first_family_count(2)
        .attempt_delay(ms(10))
        .deadline(ms(55));
    host.connect(&settings, [(0, addresses(all))]).unwrap_err();
    let order: Vec<_> = host.starts().into_iter().map(|(name, _)| name).collect();
    assert_eq!(order, ["4a", "4b", "6a", "4c", "6b", "6c"]);
}

#[test]
fn attempts_in_flight_are_limited() {
    let host = Host::new([
        ("6a", 700, Err(io::ErrorKind::TimedOut)),
        ("4a", 10, Ok(())),
    ]);
    let settings = HappyEyeballs::new().max_in_flight(1);
    host.connect(&settings, [(0, addresses("6a 4a"))]).unwrap();
    assert_eq!(host.starts(), [("6a", 0), ("4a", 700)]);
}

#[test]
fn elapsed_includes_the_resolution() {
    let host = Host::new([("6a", 30, Ok(()))]);
    let connected = host.connect(&HappyEyeballs::new(), [(20, addresses("6a"))]);
    assert_eq!(connected.unwrap().elapsed, ms(50));
}
