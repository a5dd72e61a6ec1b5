//! When the addresses arrive (RFC 8305, section 3).

use std::io;

use race_connect::{Answer, ConnectError, Family, HappyEyeballs};

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
    assert!(matches!(error, ConnectError::NoAddresses), "{error:?}");

    let answers = [(5, failed(Family::V6)), (9, failed(Family::V4))];
    let error = host.connect(&HappyEyeballs::new(), answers).unwrap_err();
    assert_eq!(error.to_string(), "cannot resolve the host: SERVFAIL");
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
    assert_eq!(error.to_string(), "no connection within 300ms");
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::TimedOut);
    assert_eq!(host.closed(), [("6a", 300)]);
    let error = Host::new([])
        .connect(&settings, [(900, addresses("6a"))])
        .unwrap_err();
    assert!(matches!(error, ConnectError::Deadline { .. }));
}
