//! Addresses that are turned back into IPv4, and those that are synthesized.

use race_connect::{
    Family,
    v3::{Nat64Prefix, Network, Origin},
};

use crate::client::{Client, preferences};

const HTTPS: &str = "example.com HTTPS";
const AAAA: &str = "example.com AAAA";
const A: &str = "example.com A";

fn nat64() -> Network {
    Network::ipv6_only().nat64(Nat64Prefix::WELL_KNOWN)
}

fn client() -> Client {
    Client::on(nat64(), preferences())
}

/// What a client starts for an address, on such a network.
fn literal(host: &str, network: Network) -> Vec<String> {
    Client::new(Origin::https(host, 443), network, preferences()).start_all()
}

#[test]
fn a_is_asked_with_a_known_prefix_and_the_prefix_is_not() {
    assert_eq!(client().asks(), [HTTPS, AAAA, A]);
}

#[test]
fn a_records_are_reached_over_the_nat64() {
    let mut client = client();
    client
        .answer(HTTPS, "1 . alpn=h3,h2")
        .answer(AAAA, "")
        .answer(A, "192.0.2.1");
    let endpoint = client.start();
    assert_eq!(endpoint.to_string(), "[64:ff9b::c000:201]:443 (QUIC)");
    assert_eq!(endpoint.family(), Family::V4);
    assert_eq!(client.start_all(), ["[64:ff9b::c000:201]:443"]);
}

#[test]
fn ipv4_hints_are_reached_over_the_nat64() {
    let mut client = client();
    client.answer(HTTPS, "1 . alpn=h2 ipv4hint=192.0.2.1");
    assert_eq!(client.list(), ["[64:ff9b::c000:201]:443"]);
}

/// They count as IPv4, so a real IPv6 address is first and the families alternate.
#[test]
fn synthesized_answers_are_sorted_as_ipv4() {
    let mut client = client();
    let v6 = "64:ff9b::192.0.2.1 64:ff9b::192.0.2.2 2001:db8::1 2001:db8::2";
    client.answer(HTTPS, "").answer(AAAA, v6);
    let expected = [
        "2001:db8::1",
        "64:ff9b::c000:201",
        "2001:db8::2",
        "64:ff9b::c000:202",
    ];
    assert_eq!(client.ips(), expected);
    client.answer(A, "192.0.2.1 192.0.2.2");
    assert_eq!(
        client.ips(),
        expected,
        "the A records are the same addresses"
    );
}

#[test]
fn answer_of_a_dns64_is_merged_with_the_a_record() {
    let mut client = client();
    client
        .answer(HTTPS, "")
        .answer(AAAA, "64:ff9b::192.0.2.1")
        .answer(A, "192.0.2.1 192.0.2.2");
    assert_eq!(
        client.start_all(),
        ["[64:ff9b::c000:201]:443", "[64:ff9b::c000:202]:443"]
    );
    assert_eq!(client.next(), "over");
}

#[test]
fn private_and_scoped_a_records_are_not_reached() {
    let mut client = client();
    client.answer(HTTPS, "").answer(AAAA, "");
    client.answer(A, "127.0.0.1 169.254.0.1 0.0.0.0 255.255.255.255 10.0.0.1");
    assert_eq!(client.next(), "over");
}

#[test]
fn ipv4_literal_is_synthesized() {
    assert_eq!(literal("192.0.2.1", nat64()), ["[64:ff9b::c000:201]:443"]);
}

#[test]
fn scoped_ipv4_literals_are_never_synthesized() {
    for host in ["127.0.0.1", "169.254.0.1", "0.0.0.0", "255.255.255.255"] {
        assert_eq!(literal(host, nat64()), [format!("{host}:443")]);
    }
}

/// The application gave it, so no DNS64 has synthesized it.
#[test]
fn ipv6_literal_behind_the_prefix_stays_as_it_is() {
    for (host, expected) in [
        ("64:ff9b::10.0.0.1", "[64:ff9b::a00:1]:443"),
        ("64:ff9b::192.0.2.1", "[64:ff9b::c000:201]:443"),
    ] {
        for network in [
            nat64(),
            Network::dual_stack().nat64(Nat64Prefix::WELL_KNOWN),
        ] {
            assert_eq!(literal(host, network), [expected]);
        }
    }
}

#[test]
fn prefix_of_another_length_is_used() {
    let prefix = Nat64Prefix::new("2001:db8:122:344::".parse().unwrap(), 64).unwrap();
    let mut client = Client::on(Network::ipv6_only().nat64(prefix), preferences());
    client
        .answer(HTTPS, "")
        .answer(AAAA, "")
        .answer(A, "192.0.2.33");
    assert_eq!(client.ips(), ["2001:db8:122:344:c0:2:2100:0"]);
}

#[test]
fn second_prefix_serves_addresses_that_the_first_may_not() {
    let own = Nat64Prefix::new("2001:db8:64::".parse().unwrap(), 96).unwrap();
    let mut client = Client::on(nat64().nat64(own), preferences());
    client
        .answer(HTTPS, "")
        .answer(AAAA, "")
        .answer(A, "192.0.2.1 10.0.0.1");
    assert_eq!(client.ips(), ["64:ff9b::c000:201", "2001:db8:64::a00:1"]);
}
