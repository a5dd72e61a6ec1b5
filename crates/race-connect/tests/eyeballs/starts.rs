//! When attempts start (RFC 8305, section 5).

use std::io;

use race_connect::HappyEyeballs;

use crate::host::{HANGS, Host, address, addresses, millis, ms};

const REFUSED: Result<(), io::ErrorKind> = Err(io::ErrorKind::ConnectionRefused);

#[test]
fn attempts_start_250_ms_apart_and_families_alternate() {
    let plans = [
        ("6a", HANGS, Ok(())),
        ("6b", HANGS, Ok(())),
        ("4a", HANGS, Ok(())),
        ("4b", 10, Ok(())),
    ];
    let host = Host::new(plans);
    host.connect(&HappyEyeballs::new(), [(0, addresses("6a 6b 4a 4b"))])
        .unwrap();
    assert_eq!(
        host.starts(),
        [("6a", 0), ("4a", 250), ("6b", 500), ("4b", 750)]
    );
    // The losers are closed when the winner connects.
    let mut closed = host.closed();
    closed.sort_unstable();
    assert_eq!(
        closed[..4],
        [("4a", 760), ("4b", 760), ("6a", 760), ("6b", 760)]
    );
}

#[test]
fn delay_is_kept_within_its_bounds() {
    for (delay, start) in [(0, 10), (100, 100), (9_000, 2_000)] {
        let host = Host::new([("6a", HANGS, Ok(())), ("4a", 10, Ok(()))]);
        let settings = HappyEyeballs::new().attempt_delay(ms(delay));
        host.connect(&settings, [(0, addresses("6a 4a"))]).unwrap();
        assert_eq!(host.starts(), [("6a", 0), ("4a", start)]);
    }
}

/// RFC 8305, section 5: an attempt must not start within 10 ms of the previous one.
#[test]
fn failures_start_attempts_no_faster_than_the_minimum_delay() {
    let plans = ["6a", "4a", "6b", "4b"].map(|name| (name, 1, REFUSED));
    let host = Host::new(plans);
    host.connect(&HappyEyeballs::new(), [(0, addresses("6a 6b 4a 4b"))])
        .unwrap_err();
    assert_eq!(
        host.starts(),
        [("6a", 0), ("4a", 10), ("6b", 20), ("4b", 30)]
    );
    assert_eq!(millis(&host.clock), 31);
}

#[test]
fn minimum_delay_is_kept_within_its_bounds() {
    for (minimum, start) in [(0, 10), (9, 10), (100, 100), (9_000, 2_000)] {
        let host = Host::new([("6a", 1, REFUSED), ("4a", 1, Ok(()))]);
        let settings = HappyEyeballs::new().minimum_attempt_delay(ms(minimum));
        host.connect(&settings, [(0, addresses("6a 4a"))]).unwrap();
        assert_eq!(host.starts(), [("6a", 0), ("4a", start)]);
    }
}

#[test]
fn minimum_delay_that_is_longer_than_the_attempt_delay_wins() {
    let host = Host::new([("6a", HANGS, Ok(())), ("4a", 1, Ok(()))]);
    let settings = HappyEyeballs::new()
        .attempt_delay(ms(20))
        .minimum_attempt_delay(ms(100));
    host.connect(&settings, [(0, addresses("6a 4a"))]).unwrap();
    assert_eq!(host.starts(), [("6a", 0), ("4a", 100)]);
}

#[test]
fn minimum_delay_counts_from_the_start_and_not_from_the_failure() {
    let host = Host::new([("6a", 8, REFUSED), ("4a", 40, REFUSED), ("6b", 1, Ok(()))]);
    host.connect(&HappyEyeballs::new(), [(0, addresses("6a 6b 4a"))])
        .unwrap();
    assert_eq!(host.starts(), [("6a", 0), ("4a", 10), ("6b", 50)]);
}

#[test]
fn failure_starts_an_attempt_to_a_loopback_address_at_once() {
    for (names, last) in [("6a L", "L"), ("4a M", "M"), ("4a N", "N")] {
        let first = names.split(' ').next().unwrap();
        let host = Host::new([(first, 1, REFUSED), (last, 1, Ok(()))]);
        host.connect(&HappyEyeballs::new(), [(0, addresses(names))])
            .unwrap();
        assert_eq!(host.starts(), [(first, 0), (last, 1)]);
    }
}

/// The exemption depends on the address that starts, not on the one that failed.
#[test]
fn minimum_delay_holds_after_a_loopback_address() {
    let host = Host::new([("L", 1, REFUSED), ("6a", 1, Ok(()))]);
    host.connect(&HappyEyeballs::new(), [(0, addresses("L 6a"))])
        .unwrap();
    assert_eq!(host.starts(), [("L", 0), ("6a", 10)]);
}

/// While the minimum delay runs, a loopback address arrives, and it is its family's turn.
#[test]
fn loopback_address_that_arrives_late_does_not_wait_for_another_address() {
    let host = Host::new([("6a", 1, REFUSED), ("L", 1, Ok(())), ("6b", HANGS, Ok(()))]);
    let settings = HappyEyeballs::new().minimum_attempt_delay(ms(100));
    host.connect(&settings, [(0, addresses("6a 6b")), (40, addresses("L"))])
        .unwrap();
    assert_eq!(host.starts(), [("6a", 0), ("L", 40)]);
}

#[test]
fn every_failure_starts_the_next_attempt() {
    let plans = [
        ("6a", 300, REFUSED),
        ("4a", 20, REFUSED),
        ("6b", HANGS, Ok(())),
        ("4b", 10, Ok(())),
    ];
    let host = Host::new(plans);
    host.connect(&HappyEyeballs::new(), [(0, addresses("6a 6b 4a 4b"))])
        .unwrap();
    assert_eq!(
        host.starts(),
        [("6a", 0), ("4a", 250), ("6b", 270), ("4b", 300)]
    );
}

#[test]
fn all_failures_are_listed() {
    let host = Host::new([
        ("6a", 10, REFUSED),
        ("4a", 20, Err(io::ErrorKind::HostUnreachable)),
    ]);
    let error = host
        .connect(&HappyEyeballs::new(), [(0, addresses("6a 4a"))])
        .unwrap_err();
    let text = "cannot connect to the host: [2001:db8::61]:443: connection refused; \
                192.0.2.97:443: host unreachable";
    assert_eq!(error.to_string(), text);
    assert_eq!(error.failed().len(), 2);
    assert_eq!(
        io::Error::from(error).kind(),
        io::ErrorKind::HostUnreachable
    );
}

#[test]
fn attempt_timeout_is_a_failure() {
    let host = Host::new([("6a", HANGS, Ok(())), ("4a", HANGS, Ok(()))]);
    let settings = HappyEyeballs::new().attempt_timeout(ms(100));
    let error = host
        .connect(&settings, [(0, addresses("6a 4a"))])
        .unwrap_err();
    assert_eq!(host.starts(), [("6a", 0), ("4a", 100)]);
    assert_eq!(error.failed()[1].1.kind(), io::ErrorKind::TimedOut);
    assert_eq!(millis(&host.clock), 200);
}

#[test]
fn attempt_that_timed_out_before_the_deadline_is_listed_once() {
    let host = Host::new([("6a", HANGS, Ok(())), ("4a", HANGS, Ok(()))]);
    let settings = HappyEyeballs::new()
        .attempt_timeout(ms(100))
        .deadline(ms(150));
    let error = host
        .connect(&settings, [(0, addresses("6a 4a"))])
        .unwrap_err();
    let failed: Vec<_> = error.failed().iter().map(|(it, _)| it.address).collect();
    assert_eq!(failed, [address("6a")]);
    let unanswered: Vec<_> = error.unanswered().iter().map(|it| it.address).collect();
    assert_eq!(unanswered, [address("4a")]);
}

#[test]
fn handshake_that_is_under_way_holds_the_next_attempt() {
    let host = Host::new([("6a", 200, Ok(())), ("4a", 10, Ok(()))]);
    let clock = host.clock.clone();
    host.connect_with(
        &HappyEyeballs::new(),
        [(0, addresses("6a 4a"))],
        |_, attempt| {
            let clock = clock.clone();
            async move {
                let _hold = attempt.hold(); // connected at 200, the handshake takes 300
                clock.sleep(ms(300)).await;
            }
        },
    )
    .unwrap();
    assert_eq!(host.starts(), [("6a", 0)]);
}

#[test]
fn progress_puts_the_next_attempt_off() {
    let host = Host::new([("6a", 200, Ok(())), ("4a", 10, Ok(()))]);
    let clock = host.clock.clone();
    host.connect_with(
        &HappyEyeballs::new(),
        [(0, addresses("6a 4a"))],
        |_, attempt| {
            let clock = clock.clone();
            async move {
                attempt.progress(); // at 200
                clock.sleep(ms(300)).await;
            }
        },
    )
    .unwrap();
    assert_eq!(host.starts(), [("6a", 0), ("4a", 450)]);
}
