//! IPv4 addresses with a route beside a NAT64.

use race_connect::{
    Family,
    v3::{Nat64Prefix, Network, Origin},
};

use crate::{
    client::{Client, preferences},
    order::routes,
};

const HTTPS: &str = "example.com HTTPS";
const AAAA: &str = "example.com AAAA";
const A: &str = "example.com A";

fn dual_stack() -> Network {
    Network::dual_stack().nat64(Nat64Prefix::WELL_KNOWN)
}

#[test]
fn ipv4_address_with_a_route_stays_native() {
    for network in [dual_stack(), routes(dual_stack(), &[])] {
        let mut client = Client::on(network, preferences());
        client
            .answer(HTTPS, "")
            .answer(AAAA, "")
            .answer(A, "192.0.2.1");
        assert_eq!(client.ips(), ["192.0.2.1"]);
    }
}

#[test]
fn synthesized_answer_is_reached_as_ipv4_where_that_has_a_route() {
    let mut client = Client::on(dual_stack(), preferences());
    client
        .answer(HTTPS, "")
        .answer(AAAA, "64:ff9b::192.0.2.1 2001:db8::1")
        .answer(A, "192.0.2.1");
    assert_eq!(client.ips(), ["2001:db8::1", "192.0.2.1"]);
}

#[test]
fn ipv4_address_without_a_route_is_synthesized() {
    let network = routes(dual_stack(), &["192.0.2.1"]);
    let mut client = Client::on(network, preferences());
    client
        .answer(HTTPS, "")
        .answer(AAAA, "")
        .answer(A, "192.0.2.1 192.0.2.2");
    assert_eq!(client.ips(), ["192.0.2.2", "64:ff9b::c000:201"]);
    let families = client.endpoints.list().iter().map(|it| it.family());
    assert!(families.into_iter().all(|it| it == Family::V4));
}

#[test]
fn ipv4_literal_without_a_route_is_synthesized() {
    let network = || routes(dual_stack(), &["192.0.2.1"]);
    for (host, expected) in [
        ("192.0.2.1", "[64:ff9b::c000:201]:443"),
        ("192.0.2.2", "192.0.2.2:443"),
    ] {
        let origin = Origin::https(host, 443);
        let mut client = Client::new(origin, network(), preferences());
        assert_eq!(client.start_all(), [expected]);
    }
}

/// A name can have an address of the host itself, for which no network is needed.
#[test]
fn loopback_address_of_a_name_is_reached_where_it_has_a_route() {
    let network = Network::ipv6_only().nat64(Nat64Prefix::WELL_KNOWN);
    let mut client = Client::on(routes(network, &[]), preferences());
    client
        .answer(HTTPS, "")
        .answer(AAAA, "")
        .answer(A, "127.0.0.1 192.0.2.1");
    let mut ips = client.ips();
    ips.sort();
    assert_eq!(ips, ["127.0.0.1", "64:ff9b::c000:201"]);
}
