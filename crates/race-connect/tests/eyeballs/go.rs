//! The scenarios of Go's `TestDialParallel`, as far as RFC 8305 has them: the families alternate
//! instead of running in two lanes.

use std::io;

use race_connect::HappyEyeballs;

use crate::host::{HANGS, Host, addresses, millis, ms};

const REFUSED: Result<(), io::ErrorKind> = Err(io::ErrorKind::ConnectionRefused);

fn settings() -> HappyEyeballs {
    HappyEyeballs::new().attempt_delay(ms(200))
}

#[test]
fn one_good_address_connects_at_once() {
    let host = Host::new([("6a", 0, Ok(()))]);
    host.connect(&settings(), [(0, addresses("6a"))]).unwrap();
    assert_eq!(millis(&host.clock), 0);
}

#[test]
fn slow_first_address_does_not_delay_beyond_the_delay() {
    let host = Host::new([("4a", HANGS, Ok(())), ("6a", 0, Ok(()))]);
    host.connect(&settings(), [(0, addresses("4a 6a"))])
        .unwrap();
    assert_eq!(millis(&host.clock), 200);
}

#[test]
fn refused_address_gives_way_after_the_minimum_delay() {
    for names in ["6a 6b", "6a 4b"] {
        let host = Host::new([("6a", 7, REFUSED), ("6b", 0, Ok(())), ("4b", 0, Ok(()))]);
        host.connect(&settings(), [(0, addresses(names))]).unwrap();
        assert_eq!(millis(&host.clock), 10);
    }
}

#[test]
fn only_refused_addresses_are_an_error_at_once() {
    let host = Host::new([("6a", 7, REFUSED)]);
    assert!(host.connect(&settings(), [(0, addresses("6a"))]).is_err());
    assert_eq!(millis(&host.clock), 7);
}

#[test]
fn slow_addresses_and_a_refused_one_take_the_delays() {
    let plans = [
        ("4a", HANGS, Ok(())),
        ("6a", 7, REFUSED),
        ("4b", HANGS, Ok(())),
        ("6b", 0, Ok(())),
    ];
    let host = Host::new(plans);
    host.connect(&settings(), [(0, addresses("4a 6a 4b 6b"))])
        .unwrap();
    assert_eq!(
        host.starts(),
        [("4a", 0), ("6a", 200), ("4b", 210), ("6b", 410)]
    );
}

#[test]
fn loser_that_connects_at_the_same_instant_is_closed() {
    let host = Host::new([("6a", 300, Ok(())), ("4a", 100, Ok(()))]);
    let connected = host
        .connect(&settings(), [(0, addresses("6a 4a"))])
        .unwrap();
    assert_eq!(host.starts().len(), 2);
    assert_eq!(host.closed(), [("4a", 300)]);
    drop(connected);
    assert_eq!(host.closed().len(), 2);
}
