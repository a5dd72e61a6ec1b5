//! What a client finds out about its network, and which queries it sends there.

use race_connect::v3::{Endpoints, Network, Origin, Preferences, RecordType};

use crate::namespace::within;

/// The first queries for a host on the network that is detected.
fn queries() -> Vec<String> {
    let origin = Origin::https("host.test", 443);
    let mut endpoints = Endpoints::new(origin, Network::detect(), Preferences::new());
    std::iter::from_fn(|| endpoints.next_query())
        .map(|query| match query.kind {
            RecordType::Https => format!("HTTPS {}", query.name),
            RecordType::Aaaa => format!("AAAA {}", query.name),
            RecordType::A => format!("A {}", query.name),
        })
        .collect()
}

fn assert_both() {
    let expected = ["HTTPS host.test", "AAAA host.test", "A host.test"];
    assert_eq!(queries(), expected);
}

#[test]
fn both_families_are_asked_for_if_both_have_routes() {
    within(
        "detect::both_families_are_asked_for_if_both_have_routes",
        "route v6; route v4",
        assert_both,
    );
}

#[test]
fn only_v4_is_asked_for_if_only_it_has_a_route() {
    within(
        "detect::only_v4_is_asked_for_if_only_it_has_a_route",
        "route v4",
        || assert_eq!(queries(), ["HTTPS host.test", "A host.test"]),
    );
}

#[test]
fn only_v6_and_the_nat64_are_asked_for_if_only_v6_has_a_route() {
    within(
        "detect::only_v6_and_the_nat64_are_asked_for_if_only_v6_has_a_route",
        "route v6",
        || {
            let expected = ["HTTPS host.test", "AAAA host.test", "AAAA ipv4only.arpa"];
            assert_eq!(queries(), expected);
        },
    );
}

#[test]
fn both_families_are_asked_for_if_neither_has_a_route() {
    within(
        "detect::both_families_are_asked_for_if_neither_has_a_route",
        "",
        assert_both,
    );
}

#[test]
fn private_network_without_a_default_route_counts() {
    within(
        "detect::private_network_without_a_default_route_counts",
        "ip addr add 10.1.2.3/8 dev lo",
        || assert_eq!(queries(), ["HTTPS host.test", "A host.test"]),
    );
}

#[test]
fn default_route_from_an_address_of_the_link_does_not_count() {
    within(
        "detect::default_route_from_an_address_of_the_link_does_not_count",
        "route v4; ip -6 addr flush dev lo; ip -6 addr add fe80::1/64 dev lo nodad; \
         ip -6 route add default dev lo",
        || assert_eq!(queries(), ["HTTPS host.test", "A host.test"]),
    );
}
