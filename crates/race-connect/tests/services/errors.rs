//! Why no connection was made.

use std::io;

use race_connect::{
    ConnectFailure, HappyEyeballs,
    v3::{Peer, ServiceRecord, Transport},
};

use crate::host::{HANGS, Host, REFUSED, Reply, address, assert_log, h3, ms, name};

const SERVFAIL: Reply = Reply::Fails(io::ErrorKind::Other);

#[test]
fn deadline_lists_the_peers_that_gave_no_answer() {
    let host = Host::new(
        [
            ("a.test HTTPS", 0, h3()),
            ("a.test AAAA", 0, Reply::Aaaa("a")),
            ("a.test A", HANGS, Reply::A("")),
        ],
        [("Q6a", HANGS, Ok(())), ("T6a", HANGS, Ok(()))],
    );
    let settings = HappyEyeballs::new().deadline(ms(400));
    let error = host.connect_by(&settings, &host.discovery()).err().unwrap();
    assert_eq!(host.millis(), 400);
    assert_eq!(error.reason(), ConnectFailure::Deadline(ms(400)));
    let unanswered: Vec<_> = error.unanswered().iter().map(|it| name(*it)).collect();
    assert_eq!(unanswered, ["Q6a", "T6a"]);
    assert_eq!(
        error.to_string(),
        "no connection to a.test:443 within 400ms: \
         [2001:db8::61]:443 (QUIC): no answer; [2001:db8::61]:443: no answer"
    );
}

#[test]
fn failures_are_listed_in_their_order_with_their_transport() {
    let host = Host::new(
        [
            ("a.test HTTPS", 0, h3()),
            ("a.test AAAA", 0, Reply::Aaaa("a")),
            ("a.test A", 0, Reply::A("a")),
        ],
        [
            ("Q6a", 2_000, REFUSED),
            ("Q4a", HANGS, Ok(())),
            ("T6a", 5, Err(io::ErrorKind::ConnectionReset)),
            ("T4a", 5, REFUSED),
        ],
    );
    let settings = HappyEyeballs::new().attempt_timeout(ms(3_000));
    let error = host.connect_by(&settings, &host.discovery()).err().unwrap();
    assert_eq!(error.reason(), ConnectFailure::AllFailed);
    let failed = error.failed().iter();
    let failed: Vec<_> = failed.map(|(peer, it)| (name(*peer), it.kind())).collect();
    let expected = [
        ("T6a", io::ErrorKind::ConnectionReset),
        ("T4a", io::ErrorKind::ConnectionRefused),
        ("Q6a", io::ErrorKind::ConnectionRefused),
        ("Q4a", io::ErrorKind::TimedOut),
    ];
    assert_eq!(failed, expected.map(|(name, kind)| (name.to_owned(), kind)));
    assert!(error.unanswered().is_empty());
    assert!(error.to_string().contains("(QUIC): connection refused"));
}

#[test]
fn errors_of_the_resolver_are_named_by_their_query() {
    let host = Host::new(
        [
            ("a.test HTTPS", 5, SERVFAIL),
            ("a.test AAAA", 9, Reply::Aaaa("")),
            ("a.test A", 7, Reply::Fails(io::ErrorKind::TimedOut)),
        ],
        [],
    );
    let error = host.connect().err().unwrap();
    assert_eq!(error.reason(), ConnectFailure::NotResolved);
    assert_eq!(
        error.to_string(),
        "cannot resolve a.test:443: resolver: a.test HTTPS: SERVFAIL; resolver: a.test A: SERVFAIL"
    );
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::TimedOut);
}

#[test]
fn host_without_records_has_no_addresses() {
    let host = Host::new(
        [
            ("a.test HTTPS", 5, Reply::Https(vec![])),
            ("a.test AAAA", 5, Reply::Aaaa("")),
            ("a.test A", 5, Reply::A("")),
        ],
        [],
    );
    let error = host.connect().err().unwrap();
    assert_eq!(error.reason(), ConnectFailure::NoAddresses);
    assert_eq!(error.to_string(), "a.test:443 has no addresses");
}

#[test]
fn failing_https_query_leaves_the_addresses() {
    let host = Host::new(
        [
            ("a.test HTTPS", 20, SERVFAIL),
            ("a.test AAAA", 10, Reply::Aaaa("a")),
            ("a.test A", 10, Reply::A("a")),
        ],
        [("T6a", 5, Ok(()))],
    );
    host.connect().unwrap();
    assert_log(&host.starts(), &[("T6a", 20)]);
}

#[test]
fn alias_to_the_root_ends_the_race_at_once() {
    let host = Host::new(
        [
            (
                "a.test HTTPS",
                400,
                Reply::Https(vec![ServiceRecord::alias(".")]),
            ),
            ("a.test AAAA", 0, Reply::Aaaa("ab")),
            ("a.test A", HANGS, Reply::A("")),
        ],
        [("T6a", 10, REFUSED), ("T6b", HANGS, Ok(()))],
    );
    let error = host.connect().err().unwrap();
    assert_eq!(host.millis(), 400);
    assert_eq!(error.reason(), ConnectFailure::NoService);
    // The error has what happened before, too.
    let peer = |name| Peer {
        address: address(name),
        transport: Transport::Tcp,
    };
    assert_eq!(error.failed()[0].0, peer("6a"));
    assert_eq!(error.unanswered(), [peer("6b")]);
    assert_eq!(
        error.to_string(),
        "a.test:443 offers no service (HTTPS 0 .): [2001:db8::61]:443: connection refused; \
         [2001:db8::62]:443: no answer"
    );
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::NotFound);
    let mut dropped = host.dropped();
    dropped.retain(|(_, at)| *at == 400);
    dropped.sort();
    assert_log(
        &dropped,
        &[("T6b", 400), ("a.test A", 400), ("a.test HTTPS", 400)],
    );
}
