//! The order of endpoints.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use race_connect::{
    Family,
    v3::{Network, Order},
};

use crate::client::{Client, preferences};

const HTTPS: &str = "example.com HTTPS";
const AAAA: &str = "example.com AAAA";
const A: &str = "example.com A";

/// Two services of two priorities, of which each has both transports.
const TWO: &str = "1 one alpn=h3,h2 | 2 two alpn=h3,h2";

fn two_services(client: &mut Client) {
    client.answer(HTTPS, TWO);
    client
        .answer("one AAAA", "2001:db8::1")
        .answer("one A", "192.0.2.1");
    client
        .answer("two AAAA", "2001:db8::2")
        .answer("two A", "192.0.2.2");
}

#[test]
fn families_are_interleaved() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "")
        .answer(AAAA, "2001:db8::1 2001:db8::2 2001:db8::3");
    client.answer(A, "192.0.2.1 192.0.2.2");
    let expected = [
        "2001:db8::1",
        "192.0.2.1",
        "2001:db8::2",
        "192.0.2.2",
        "2001:db8::3",
    ];
    assert_eq!(client.ips(), expected);
}

#[test]
fn first_family_count_puts_more_of_the_first_family_first() {
    let listed = |count| {
        let mut client = Client::with(preferences().first_family_count(count));
        client
            .answer(HTTPS, "")
            .answer(AAAA, "2001:db8::1 2001:db8::2 2001:db8::3");
        client.answer(A, "192.0.2.1 192.0.2.2");
        client.ips()
    };
    let expected = [
        "2001:db8::1",
        "2001:db8::2",
        "192.0.2.1",
        "2001:db8::3",
        "192.0.2.2",
    ];
    assert_eq!(listed(2), expected);
    assert_eq!(listed(0), listed(1));
    let expected = [
        "2001:db8::1",
        "2001:db8::2",
        "2001:db8::3",
        "192.0.2.1",
        "192.0.2.2",
    ];
    assert_eq!(listed(9), expected);
}

#[test]
fn preferred_family_is_first() {
    let mut client = Client::with(preferences().prefer(Some(Family::V4)));
    client
        .answer(HTTPS, "")
        .answer(AAAA, "2001:db8::1")
        .answer(A, "192.0.2.1 192.0.2.2");
    assert_eq!(client.ips(), ["192.0.2.1", "2001:db8::1", "192.0.2.2"]);
}

#[test]
fn quic_is_before_tcp_within_a_service_and_families_alternate_in_each() {
    let mut client = Client::dual_stack();
    two_services(&mut client);
    let expected = [
        "[2001:db8::1]:443 (QUIC)",
        "192.0.2.1:443 (QUIC)",
        "[2001:db8::1]:443",
        "192.0.2.1:443",
        "[2001:db8::2]:443 (QUIC)",
        "192.0.2.2:443 (QUIC)",
        "[2001:db8::2]:443",
        "192.0.2.2:443",
    ];
    assert_eq!(client.list(), expected);
}

#[test]
fn quic_of_all_services_is_first_if_the_client_needs_it() {
    let mut client = Client::with(preferences().order(Order::QuicFirst));
    two_services(&mut client);
    let expected = [
        "[2001:db8::1]:443 (QUIC)",
        "192.0.2.1:443 (QUIC)",
        "[2001:db8::2]:443 (QUIC)",
        "192.0.2.2:443 (QUIC)",
        "[2001:db8::1]:443",
        "192.0.2.1:443",
        "[2001:db8::2]:443",
        "192.0.2.2:443",
    ];
    assert_eq!(client.list(), expected);
}

#[test]
fn tcp_is_before_quic_where_quic_gets_no_answer() {
    let mut client = Client::with(preferences().tcp_first(true));
    two_services(&mut client);
    let list = client.list();
    assert_eq!(list[0], "[2001:db8::1]:443");
    assert_eq!(list[2], "[2001:db8::1]:443 (QUIC)");
    let preferences = preferences().tcp_first(true).order(Order::QuicFirst);
    let mut client = Client::with(preferences);
    two_services(&mut client);
    assert!(client.list()[..4].iter().all(|it| !it.ends_with("(QUIC)")));
}

#[test]
fn smaller_priority_is_first() {
    for records in ["7 one | 65535 two", "65535 two | 7 one"] {
        let mut client = Client::dual_stack();
        client.answer(HTTPS, records);
        client
            .answer("two AAAA", "2001:db8::2")
            .answer("one AAAA", "2001:db8::1");
        assert_eq!(client.ips(), ["2001:db8::1", "2001:db8::2"]);
    }
}

#[test]
fn all_endpoints_of_a_service_are_before_those_of_the_next() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, "1 one | 2 two");
    client
        .answer("one AAAA", "2001:db8::1 2001:db8::2")
        .answer("two A", "192.0.2.1");
    assert_eq!(client.ips(), ["2001:db8::1", "2001:db8::2", "192.0.2.1"]);
}

#[test]
fn services_of_one_priority_are_shuffled() {
    let first = |seed| {
        let mut client = Client::with(preferences().seed(seed));
        client.answer(HTTPS, "1 one | 1 two");
        client
            .answer("one AAAA", "2001:db8::1")
            .answer("two AAAA", "2001:db8::2");
        let ips = client.ips();
        client.answer(AAAA, "2001:db8::3");
        assert_eq!(client.ips()[..2], ips, "later answers do not shuffle again");
        ips[0].clone()
    };
    let all: Vec<_> = (0..64).map(first).collect();
    for ip in ["2001:db8::1", "2001:db8::2"] {
        assert!(all.iter().filter(|it| *it == ip).count() > 16);
    }
    assert_eq!(first(3), first(3));
}

/// Without a seed, clients differ.
#[test]
fn services_of_one_priority_are_shuffled_by_default() {
    let asked: std::collections::HashSet<_> = (0..64)
        .map(|_| {
            let preferences = race_connect::v3::Preferences::new();
            let mut client = Client::with(preferences);
            client.asks();
            client.answer(HTTPS, "1 one | 1 two");
            client.asks().remove(0)
        })
        .collect();
    assert_eq!(asked.len(), 2);
}

/// Routes from one address of each family, but for some destinations.
pub(crate) fn routes(network: Network, without: &'static [&'static str]) -> Network {
    network.sources(move |destination: SocketAddr| {
        let ip = destination.ip().to_string();
        let source: IpAddr = match destination.ip() {
            IpAddr::V4(ip) if ip.is_loopback() => ip.into(),
            IpAddr::V4(_) => [198, 51, 100, 7].into(),
            IpAddr::V6(_) => "2001:db8:ffff::7".parse().unwrap(),
        };
        (!without.contains(&&*ip)).then_some(source)
    })
}

/// Rule 1: destinations without a route are last.
#[test]
fn addresses_are_sorted_by_rfc_6724() {
    let network = routes(Network::dual_stack(), &["2001:db8::1", "192.0.2.1"]);
    let mut client = Client::on(network, preferences());
    client
        .answer(HTTPS, "")
        .answer(AAAA, "2001:db8::1 2001:db8::2");
    client.answer(A, "192.0.2.1 192.0.2.2");
    assert_eq!(
        client.ips(),
        ["2001:db8::2", "192.0.2.2", "2001:db8::1", "192.0.2.1"]
    );
}

/// Rules 5, 6 and 9: a unique local address is reached from a global one only, and a longer common
/// prefix is better.
#[test]
fn labels_and_prefixes_count() {
    let network = routes(Network::dual_stack(), &[]);
    let mut client = Client::on(network, preferences());
    client
        .answer(HTTPS, "")
        .answer(AAAA, "fd00::1 2001:db9::1 2001:db8:fff0::1");
    client.answer(A, "192.0.2.1");
    let expected = ["2001:db8:fff0::1", "192.0.2.1", "2001:db9::1", "fd00::1"];
    assert_eq!(client.ips(), expected);
}

/// Then the other family follows, and the families alternate from there.
#[test]
fn family_of_the_best_address_is_first() {
    let network = routes(Network::dual_stack(), &["2001:db8::1"]);
    let mut client = Client::on(network, preferences());
    client
        .answer(HTTPS, "")
        .answer(AAAA, "2001:db8::1")
        .answer(A, "192.0.2.1 192.0.2.2");
    assert_eq!(client.ips(), ["192.0.2.1", "2001:db8::1", "192.0.2.2"]);
}

/// RFC 6724 sorts within a service only.
#[test]
fn priority_is_above_rfc_6724() {
    let network = routes(Network::dual_stack(), &["2001:db8::1"]);
    let mut client = Client::on(network, preferences());
    client.answer(HTTPS, "1 one | 2 two");
    client
        .answer("one AAAA", "2001:db8::1")
        .answer("two AAAA", "2001:db8::2");
    assert_eq!(client.ips(), ["2001:db8::1", "2001:db8::2"]);
}

#[test]
fn order_of_the_resolver_is_kept_without_routes() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "")
        .answer(AAAA, "2001:db8::9 2001:db8::1")
        .answer(A, "192.0.2.9 192.0.2.1");
    assert_eq!(
        client.ips(),
        ["2001:db8::9", "192.0.2.9", "2001:db8::1", "192.0.2.1"]
    );
}

/// The system is asked for each address once, however many records and answers name it.
#[test]
fn route_of_an_address_is_asked_for_once() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let asks = asked.clone();
    let network = Network::dual_stack().sources(move |to| {
        asks.lock().unwrap().push(to.ip());
        Some([192, 0, 2, 1].into())
    });
    let mut client = Client::on(network, preferences());
    client
        .answer(HTTPS, "1 . port=8443 | 2 . port=9443 | 3 one")
        .answer(AAAA, "2001:db8::1")
        .answer("one AAAA", "2001:db8::1 2001:db8::2")
        .answer(A, "192.0.2.1");
    assert!(!client.start_all().is_empty());
    let mut asked = asked.lock().unwrap().clone();
    asked.sort_unstable();
    let expected = ["192.0.2.1", "2001:db8::1", "2001:db8::2"];
    assert_eq!(asked, expected.map(|it| it.parse::<IpAddr>().unwrap()));
}
