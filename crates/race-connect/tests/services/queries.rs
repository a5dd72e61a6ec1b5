//! Which queries are sent, and when.

use std::{io, sync::Arc};

use race_connect::{
    ConnectFailure, HappyEyeballs,
    v3::{Discovery, Lookup, Network, Origin, Query, RecordType, Records, ServiceRecord},
};

use crate::host::{HANGS, Host, Reply, assert_log, h3, ms};

#[test]
fn queries_are_sent_at_once_https_first() {
    let host = Host::new(
        [
            ("a.test HTTPS", 30, h3()),
            ("a.test AAAA", 30, Reply::Aaaa("a")),
            ("a.test A", 30, Reply::A("a")),
        ],
        [("Q6a", 5, Ok(()))],
    );
    host.connect().unwrap();
    assert_log(
        &host.queries(),
        &[("a.test HTTPS", 0), ("a.test AAAA", 0), ("a.test A", 0)],
    );
    assert_log(&host.starts(), &[("Q6a", 30)]);
}

#[test]
fn queries_that_follow_from_an_answer_are_sent_when_it_arrives() {
    let host = Host::new(
        [
            (
                "a.test HTTPS",
                20,
                Reply::Https(vec![ServiceRecord::alias("b.test")]),
            ),
            ("a.test AAAA", HANGS, Reply::Aaaa("")),
            ("a.test A", HANGS, Reply::A("")),
            (
                "b.test. HTTPS",
                15,
                Reply::Https(vec![ServiceRecord::service(1, "c.test").port(8_443)]),
            ),
            ("b.test. AAAA", HANGS, Reply::Aaaa("")),
            ("b.test. A", HANGS, Reply::A("")),
            ("c.test. AAAA", 10, Reply::Aaaa("c")),
            ("c.test. A", HANGS, Reply::A("")),
        ],
        [("T6c:8443", 5, Ok(()))],
    );
    host.connect().unwrap();
    assert_log(
        &host.queries()[3..],
        &[
            ("b.test. HTTPS", 20),
            ("b.test. AAAA", 20),
            ("b.test. A", 20),
            ("c.test. AAAA", 35),
            ("c.test. A", 35),
        ],
    );
    assert_log(&host.starts(), &[("T6c:8443", 45)]);
}

/// Nothing wakes a task for what is ready in its first poll.
#[test]
fn answers_that_are_ready_at_once_lead_to_a_start_at_once() {
    struct Ready;
    impl Lookup for Ready {
        async fn lookup(&self, query: Query) -> io::Result<Records> {
            Ok(match (query.name.as_str(), query.kind) {
                ("a.test", RecordType::Https) => {
                    Records::Https(vec![ServiceRecord::alias("b.test")])
                }
                ("b.test", RecordType::Https) => {
                    Records::Https(vec![ServiceRecord::service(1, "c.test").alpn(["h3"])])
                }
                ("c.test", RecordType::A) => Records::A(vec![[192, 0, 2, b'c'].into()]),
                (_, kind) => kind.none(),
            })
        }
    }
    let host = Host::new([], [("Q4c", 0, Ok(()))]);
    let discovery = Discovery::new(Ready)
        .preferences(crate::host::preferences())
        .network(Network::dual_stack());
    let connected = host.connect_by(&HappyEyeballs::new(), &discovery);
    assert_eq!(connected.unwrap().elapsed, ms(0));
}

#[test]
fn origin_without_tls_has_no_https_query() {
    let host = Host::new(
        [
            ("a.test AAAA", 10, Reply::Aaaa("")),
            ("a.test A", 10, Reply::A("a")),
        ],
        [("T4a:80", 5, Ok(()))],
    );
    let origin = Origin::http("a.test", 80);
    host.connect_with(
        &HappyEyeballs::new(),
        &host.discovery(),
        &origin,
        |to| async move {
            assert!(to.endpoint.alpn.is_empty());
            Ok(())
        },
    )
    .unwrap();
    assert_log(&host.queries(), &[("a.test AAAA", 0), ("a.test A", 0)]);
    assert_log(&host.starts(), &[("T4a:80", 10)]);
}

#[test]
fn network_without_a_family_is_not_asked_for_it() {
    let host = Host::new(
        [
            ("a.test HTTPS", 10, Reply::Https(vec![])),
            ("a.test A", 10, Reply::A("a")),
        ],
        [("T4a", 5, Ok(()))],
    );
    let discovery = host.discovery().network(Network::ipv4_only());
    host.connect_by(&HappyEyeballs::new(), &discovery).unwrap();
    assert_log(&host.starts(), &[("T4a", 10)]);
}

#[test]
fn references_and_arcs_of_resolvers_are_resolvers() {
    let host = Host::new(
        [
            ("a.test HTTPS", 0, h3()),
            ("a.test AAAA", 0, Reply::Aaaa("a")),
            ("a.test A", 0, Reply::A("a")),
        ],
        [("Q6a", 5, Ok(()))],
    );
    let settings = HappyEyeballs::new();
    let by_reference = Discovery::new(&host).preferences(crate::host::preferences());
    let by_arc = Discovery::new(Arc::new(host.clone())).preferences(crate::host::preferences());
    let network = Network::dual_stack();
    host.connect_by(&settings, &by_reference.network(network.clone()))
        .unwrap();
    host.connect_by(&settings, &by_arc.network(network))
        .unwrap();
    assert_log(&host.starts(), &[("Q6a", 0), ("Q6a", 5)]);
}

/// The query would otherwise stay open, and the race wait for ever.
#[test]
fn answer_of_another_type_is_a_failure_of_its_query() {
    let host = Host::new(
        [
            ("a.test HTTPS", 0, Reply::Aaaa("a")),
            ("a.test AAAA", 0, Reply::A("a")),
            ("a.test A", 0, h3()),
        ],
        [],
    );
    let error = host.connect().err().unwrap();
    assert_eq!(error.reason(), ConnectFailure::NotResolved);
    assert_eq!(error.resolver_errors().len(), 3);
    let text = error.to_string();
    let wrong = "a.test AAAA: the resolver answered with records of another type";
    assert!(text.contains(wrong), "{text}");
}
