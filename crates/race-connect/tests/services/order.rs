//! Which endpoint starts when.

use race_connect::v3::{ServiceRecord, Transport};

use crate::host::{HANGS, Host, REFUSED, Reply, assert_log, h3};

/// Both families, HTTP/3, at once.
fn both(dials: impl IntoIterator<Item = crate::host::Dial>) -> Host {
    let answers = [
        ("a.test HTTPS", 0, h3()),
        ("a.test AAAA", 0, Reply::Aaaa("a")),
        ("a.test A", 0, Reply::A("a")),
    ];
    Host::new(answers, dials)
}

#[test]
fn quic_comes_first_and_tcp_after_the_attempt_delay() {
    let host = both([
        ("Q6a", HANGS, Ok(())),
        ("Q4a", HANGS, Ok(())),
        ("T6a", HANGS, Ok(())),
        ("T4a", 20, Ok(())),
    ]);
    let connected = host.connect().unwrap();
    assert_log(
        &host.starts(),
        &[("Q6a", 0), ("Q4a", 250), ("T6a", 500), ("T4a", 750)],
    );
    assert_eq!(connected.transport, Transport::Tcp);
    assert_eq!(connected.address, "192.0.2.97:443".parse().unwrap());
    assert_eq!(connected.elapsed.as_millis(), 770);
}

#[test]
fn failure_of_quic_starts_the_next_endpoint_after_the_minimum_delay() {
    let host = both([
        ("Q6a", 3, REFUSED),
        ("Q4a", 3, REFUSED),
        ("T6a", 30, REFUSED),
        ("T4a", 3, Ok(())),
    ]);
    host.connect().unwrap();
    assert_log(
        &host.starts(),
        &[("Q6a", 0), ("Q4a", 10), ("T6a", 20), ("T4a", 50)],
    );
}

#[test]
fn winner_drops_all_queries_and_attempts_at_once() {
    let host = Host::new(
        [
            ("a.test HTTPS", HANGS, h3()),
            ("a.test AAAA", 10, Reply::Aaaa("ab")),
            ("a.test A", HANGS, Reply::A("a")),
        ],
        [("T6a", HANGS, Ok(())), ("T6b", 40, Ok(()))],
    );
    let connected = host.connect().unwrap();
    assert_log(&host.starts(), &[("T6a", 60), ("T6b", 310)]);
    let mut dropped = host.dropped();
    dropped.sort();
    assert_log(
        &dropped,
        &[
            ("T6a", 350),
            ("a.test A", 350),
            ("a.test AAAA", 10),
            ("a.test HTTPS", 350),
        ],
    );
    drop(connected);
    assert_eq!(host.dropped().last().unwrap().0, "T6b");
}

#[test]
fn https_answer_within_the_resolution_delay_is_waited_for() {
    for (https, start) in [(49, ("Q6a", 59)), (60, ("T6a", 60))] {
        let host = Host::new(
            [
                ("a.test HTTPS", https + 10, h3()),
                ("a.test AAAA", 10, Reply::Aaaa("a")),
                ("a.test A", 10, Reply::A("")),
            ],
            [("Q6a", 5, Ok(())), ("T6a", 5, Ok(()))],
        );
        host.connect().unwrap();
        assert_log(&host.starts(), &[start]);
    }
}

#[test]
fn resolution_delay_begins_with_the_first_hint() {
    let hinted = ServiceRecord::service(1, ".").ipv4_hints([[192, 0, 2, b'a'].into()]);
    let host = Host::new(
        [
            ("a.test HTTPS", 20, Reply::Https(vec![hinted])),
            ("a.test AAAA", HANGS, Reply::Aaaa("")),
            ("a.test A", HANGS, Reply::A("")),
        ],
        [("T4a", 5, Ok(()))],
    );
    host.connect().unwrap();
    assert_log(&host.starts(), &[("T4a", 70)]);
}

/// The next candidate is drawn before its start is due.
#[test]
fn late_better_endpoint_replaces_one_that_waits_for_its_start() {
    let host = Host::new(
        [
            ("a.test HTTPS", 200, h3()),
            ("a.test AAAA", 0, Reply::Aaaa("ab")),
            ("a.test A", 0, Reply::A("")),
        ],
        [
            ("T6a", HANGS, Ok(())),
            ("Q6a", HANGS, Ok(())),
            ("Q6b", 5, Ok(())),
        ],
    );
    host.connect().unwrap();
    assert_log(&host.starts(), &[("T6a", 50), ("Q6a", 300), ("Q6b", 550)]);
}

#[test]
fn endpoint_that_an_answer_takes_away_does_not_start() {
    let hinted = ServiceRecord::service(1, ".").ipv6_hints([
        "2001:db8::61".parse().unwrap(),
        "2001:db8::62".parse().unwrap(),
    ]);
    let host = Host::new(
        [
            ("a.test HTTPS", 0, Reply::Https(vec![hinted])),
            ("a.test AAAA", 100, Reply::Aaaa("a")),
            ("a.test A", 300, Reply::A("a")),
        ],
        [("T6a", HANGS, Ok(())), ("T4a", 5, Ok(()))],
    );
    host.connect().unwrap();
    assert_log(&host.starts(), &[("T6a", 0), ("T4a", 300)]);
}

#[test]
fn attempt_whose_endpoint_an_answer_takes_away_runs_to_its_end() {
    let hinted = ServiceRecord::service(1, ".").ipv6_hints(["2001:db8::61".parse().unwrap()]);
    let host = Host::new(
        [
            ("a.test HTTPS", 0, Reply::Https(vec![hinted])),
            ("a.test AAAA", 100, Reply::Aaaa("b")),
            ("a.test A", 100, Reply::A("")),
        ],
        [("T6a", 200, Ok(())), ("T6b", HANGS, Ok(()))],
    );
    host.connect().unwrap();
    assert_log(&host.starts(), &[("T6a", 0)]);
}

#[test]
fn answer_after_all_attempts_have_failed_starts_at_once() {
    let host = Host::new(
        [
            ("a.test HTTPS", 0, Reply::Https(vec![])),
            ("a.test AAAA", 0, Reply::Aaaa("a")),
            ("a.test A", 400, Reply::A("a")),
        ],
        [("T6a", 5, REFUSED), ("T4a", 5, Ok(()))],
    );
    host.connect().unwrap();
    assert_log(&host.starts(), &[("T6a", 0), ("T4a", 400)]);
}
