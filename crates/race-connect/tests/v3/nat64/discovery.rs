//! Prefixes that the resolver shows (RFC 7050).

use race_connect::v3::{Nat64Prefix, Network, Origin};

use crate::client::{Client, preferences};

const HTTPS: &str = "example.com HTTPS";
const AAAA: &str = "example.com AAAA";
const A: &str = "example.com A";
const NAT64: &str = "ipv4only.arpa AAAA";
const WELL_KNOWN: &str = "64:ff9b::192.0.0.170 64:ff9b::192.0.0.171";

fn client() -> Client {
    let mut client = Client::on(Network::ipv6_only(), preferences());
    assert_eq!(client.asks(), [HTTPS, AAAA, NAT64]);
    client
}

fn literal(host: &str) -> Client {
    let origin = Origin::https(host, 443);
    Client::new(origin, Network::ipv6_only(), preferences())
}

#[test]
fn prefix_is_asked_for_only_without_ipv4() {
    for network in [Network::dual_stack(), Network::ipv4_only()] {
        let asked = Client::on(network, preferences()).asks();
        assert!(!asked.contains(&NAT64.to_owned()));
    }
}

#[test]
fn a_is_asked_once_a_prefix_is_discovered() {
    let mut client = client();
    client.answer(HTTPS, "1 svc").answer(NAT64, WELL_KNOWN);
    assert_eq!(client.asks(), ["svc AAAA", A, "svc A"]);
    let prefixes: Vec<_> = client.endpoints.nat64().collect();
    assert_eq!(prefixes, [Nat64Prefix::WELL_KNOWN]);
    client.answer("svc AAAA", "").answer("svc A", "192.0.2.1");
    assert_eq!(client.next(), "[64:ff9b::c000:201]:443");
}

#[test]
fn network_without_a_nat64_has_ipv6_only() {
    let mut client = client();
    client.answer(HTTPS, "").answer(AAAA, "").answer(NAT64, "");
    assert!(client.asks().is_empty());
    assert_eq!(client.next(), "over");
}

#[test]
fn host_without_ipv6_waits_for_the_prefix() {
    let mut client = client();
    client.at(30).answer(HTTPS, "").answer(AAAA, "");
    assert_eq!(client.next(), "wait");
    client.at(90).answer(NAT64, WELL_KNOWN);
    assert_eq!(client.asks(), [A]);
    client.at(100).answer(A, "192.0.2.1");
    assert_eq!(client.next(), "[64:ff9b::c000:201]:443");
}

#[test]
fn ipv6_address_does_not_wait_for_the_prefix() {
    let mut client = client();
    client.at(30).answer(HTTPS, "").answer(AAAA, "2001:db8::1");
    assert_eq!(client.next(), "[2001:db8::1]:443");
}

/// An address of a DNS64 starts before it is known to be one; it does not start again.
#[test]
fn prefix_that_is_discovered_late_changes_the_order_and_repeats_nothing() {
    let mut client = client();
    client
        .answer(HTTPS, "")
        .answer(AAAA, "64:ff9b::192.0.2.1 2001:db8::1 2001:db8::2");
    assert_eq!(client.start().to_string(), "[64:ff9b::c000:201]:443");
    client.answer(NAT64, WELL_KNOWN);
    let expected = ["2001:db8::1", "64:ff9b::c000:201", "2001:db8::2"];
    assert_eq!(client.ips(), expected);
    client.answer(A, "192.0.2.1");
    assert_eq!(
        client.start_all(),
        ["[2001:db8::1]:443", "[2001:db8::2]:443"]
    );
    assert_eq!(client.next(), "over");
}

#[test]
fn hints_are_used_once_the_prefix_is_known() {
    let mut client = client();
    client.answer(HTTPS, "1 . alpn=h3 ipv4hint=192.0.2.1");
    assert_eq!(client.next(), "wait");
    client.at(60).answer(NAT64, WELL_KNOWN);
    assert_eq!(
        client.next(),
        "[64:ff9b::c000:201]:443 (QUIC)",
        "the delay is over"
    );
}

#[test]
fn ipv4_literal_waits_for_the_prefix() {
    let mut client = literal("192.0.2.1");
    assert_eq!(client.asks(), [NAT64]);
    assert_eq!(client.next(), "wait");
    client.at(20).answer(NAT64, WELL_KNOWN);
    assert_eq!(client.start_all(), ["[64:ff9b::c000:201]:443"]);
    assert_eq!(client.next(), "over");
}

/// The system says why.
#[test]
fn ipv4_literal_is_tried_as_it_is_without_a_prefix() {
    let mut client = literal("192.0.2.1");
    client.fail(NAT64);
    assert_eq!(client.start_all(), ["192.0.2.1:443"]);
    let mut client = literal("192.0.2.1");
    client.answer(NAT64, "");
    assert_eq!(client.start_all(), ["192.0.2.1:443"]);
}

#[test]
fn scoped_ipv4_literal_asks_for_no_prefix() {
    for host in ["127.0.0.1", "169.254.0.1"] {
        let mut client = literal(host);
        assert!(client.asks().is_empty());
        assert_eq!(client.start_all(), [format!("{host}:443")]);
    }
}

#[test]
fn ipv6_literal_asks_for_no_prefix() {
    for host in ["2001:db8::1", "64:ff9b::192.0.2.1"] {
        let mut client = literal(host);
        assert!(client.asks().is_empty());
        assert_eq!(client.start_all().len(), 1);
    }
}
