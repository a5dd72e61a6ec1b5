//! Which queries are sent, and for which names.

use race_connect::v3::{Network, Origin, Preferences};

use crate::client::{Client, preferences};

fn asked(origin: Origin, network: Network) -> Vec<String> {
    Client::new(origin, network, preferences()).asks()
}

fn https() -> Origin {
    Origin::https("example.com", 443)
}

#[test]
fn https_aaaa_and_a_are_asked_in_this_order() {
    let expected = ["example.com HTTPS", "example.com AAAA", "example.com A"];
    assert_eq!(asked(https(), Network::dual_stack()), expected);
}

#[test]
fn aaaa_is_not_asked_without_ipv6() {
    let expected = ["example.com HTTPS", "example.com A"];
    assert_eq!(asked(https(), Network::ipv4_only()), expected);
}

#[test]
fn a_is_not_asked_without_ipv4_and_nat64() {
    let expected = [
        "example.com HTTPS",
        "example.com AAAA",
        "ipv4only.arpa AAAA",
    ];
    assert_eq!(asked(https(), Network::ipv6_only()), expected);
}

#[test]
fn https_is_asked_even_if_only_http_1_is_spoken() {
    let client = &mut Client::with(Preferences::new());
    assert_eq!(client.asks()[0], "example.com HTTPS");
}

#[test]
fn https_of_another_port_has_a_prefix_and_addresses_do_not() {
    let origin = Origin::https("example.com", 8443);
    let expected = [
        "_8443._https.example.com HTTPS",
        "example.com AAAA",
        "example.com A",
    ];
    assert_eq!(asked(origin, Network::dual_stack()), expected);
}

/// A target of `.` is the owner of the record, which has the prefix.
#[test]
fn dot_in_a_record_of_another_port_is_the_name_with_the_prefix() {
    let origin = Origin::https("example.com", 8443);
    let mut client = Client::new(origin, Network::dual_stack(), preferences());
    client.asks();
    client.answer("_8443._https.example.com HTTPS", "1 . alpn=h3");
    let expected = [
        "_8443._https.example.com AAAA",
        "_8443._https.example.com A",
    ];
    assert_eq!(client.asks(), expected);
}

#[test]
fn https_is_not_asked_for_plain_http() {
    for port in [80, 443, 8080] {
        let expected = ["example.com AAAA", "example.com A"];
        let origin = Origin::http("example.com", port);
        assert_eq!(asked(origin, Network::dual_stack()), expected);
    }
}

#[test]
fn plain_http_starts_over_tcp_without_alpn() {
    let origin = Origin::http("example.com", 80);
    let mut client = Client::new(origin, Network::dual_stack(), preferences());
    client.asks();
    client.answer("example.com AAAA", "2001:db8::1");
    let endpoint = client.start();
    assert_eq!(endpoint.to_string(), "[2001:db8::1]:80");
    assert!(endpoint.alpn.is_empty());
}

#[test]
fn nothing_is_asked_for_an_address() {
    for (host, expected) in [
        ("192.0.2.1", "192.0.2.1:443"),
        ("2001:db8::1", "[2001:db8::1]:443"),
        ("[2001:db8::1]", "[2001:db8::1]:443"),
    ] {
        let origin = Origin::https(host, 443);
        let mut client = Client::new(origin, Network::dual_stack(), preferences());
        assert!(client.asks().is_empty());
        assert_eq!(client.start_all(), [expected]);
        assert_eq!(client.next(), "over");
    }
}

#[test]
fn address_of_an_absent_family_is_tried_all_the_same() {
    let origin = Origin::https("2001:db8::1", 443);
    let mut client = Client::new(origin, Network::ipv4_only(), preferences());
    assert_eq!(client.start_all(), ["[2001:db8::1]:443"]);
}

/// As soon as their names are known, not when an endpoint starts.
#[test]
fn addresses_of_targets_are_asked_at_once_and_once() {
    let mut client = Client::dual_stack();
    client.asks();
    let records = "1 svc.example.com alpn=h3 | 2 SVC.example.com. alpn=h2 | 3 example.com";
    client.answer("example.com HTTPS", records);
    let expected = ["svc.example.com AAAA", "svc.example.com A"];
    assert_eq!(client.asks(), expected);
    client.answer("example.com HTTPS", records);
    assert!(client.asks().is_empty());
}

#[test]
fn answers_to_queries_that_were_not_sent_are_ignored() {
    let mut client = Client::on(Network::ipv4_only(), preferences());
    client.asks();
    client.answer("example.com AAAA", "2001:db8::1");
    client.answer("other.example A", "192.0.2.1");
    assert_eq!(client.next(), "wait");
    assert!(client.list().is_empty());
}

#[test]
fn names_are_compared_without_case_and_final_dot() {
    let origin = Origin::https("EXAMPLE.com.", 443);
    let mut client = Client::new(origin, Network::dual_stack(), preferences());
    client.asks();
    client.answer("example.com HTTPS", "1 Example.COM alpn=h3");
    client.answer("Example.com. AAAA", "2001:db8::1");
    assert_eq!(client.next(), "[2001:db8::1]:443 (QUIC)");
    assert!(client.asks().is_empty());
}
