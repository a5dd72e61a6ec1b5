//! The cases of `mxinden/happy-eyeballs`, a state machine for an earlier draft, where the text of
//! this draft says the same. `V3.md` lists the others.

use race_connect::{
    Family,
    v3::{Network, Origin},
};

use crate::client::{Client, preferences};

const HTTPS: &str = "example.com HTTPS";
const AAAA: &str = "example.com AAAA";
const A: &str = "example.com A";
const V6: &str = "2001:db8::1";
const V4: &str = "192.0.2.1";

#[test]
fn first_attempt_does_not_wait_for_a_once_aaaa_and_https_are_there() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, "1 example.com alpn=h3,h2");
    client.answer(AAAA, V6);
    assert_eq!(client.next(), "[2001:db8::1]:443 (QUIC)");
}

/// With the preferred family, answers in the order in which they arrive, and the first endpoint.
#[test]
fn answer_of_the_preferred_family_and_https_start_the_first_attempt() {
    let (v6, v4) = ("[2001:db8::1]:443", "192.0.2.1:443");
    type Answers = &'static [(&'static str, &'static str)];
    let cases: [(Family, Answers, &str); 6] = [
        (Family::V6, &[(AAAA, V6)], v6),
        (Family::V6, &[(A, V4), (AAAA, V6)], v6),
        (Family::V6, &[(A, V4), (AAAA, "")], v4),
        (Family::V4, &[(A, V4)], v4),
        (Family::V4, &[(AAAA, V6), (A, V4)], v4),
        (Family::V4, &[(AAAA, V6), (A, "")], v6),
    ];
    for (family, answers, expected) in cases {
        for https in ["1 example.com", ""] {
            let mut client = Client::with(preferences().prefer(Some(family)));
            for (query, records) in answers {
                client.answer(query, records);
                assert_eq!(client.next(), "until 50", "{family:?} {answers:?}");
            }
            client.answer(HTTPS, https);
            assert_eq!(client.next(), expected, "{family:?} {answers:?}");
        }
    }
}

#[test]
fn ipv4_alone_starts_when_the_delay_is_over() {
    let mut client = Client::dual_stack();
    client.at(10).answer(A, V4);
    assert_eq!(client.at(50).next(), "until 60");
    assert_eq!(client.at(60).next(), "192.0.2.1:443");
}

#[test]
fn hints_start_if_both_queries_for_addresses_failed() {
    let mut client = Client::dual_stack();
    client.fail(AAAA).fail(A);
    client.answer(HTTPS, "1 example.com alpn=h3,h2 ipv6hint=2001:db8::1");
    assert_eq!(client.next(), "[2001:db8::1]:443 (QUIC)");
}

#[test]
fn record_adds_quic_to_an_address_that_was_there_before_it() {
    let mut client = Client::dual_stack();
    client.answer(AAAA, V6);
    assert_eq!(client.next(), "until 50");
    client.answer(HTTPS, "1 example.com alpn=h3,h2");
    assert_eq!(client.next(), "[2001:db8::1]:443 (QUIC)");
}

#[test]
fn each_address_of_a_record_is_tried_once() {
    let mut client = Client::dual_stack();
    client.fail(HTTPS).fail(A);
    client.answer(AAAA, "2001:db8::1 2001:db8::2 2001:db8::3");
    let expected = [
        "[2001:db8::1]:443",
        "[2001:db8::2]:443",
        "[2001:db8::3]:443",
    ];
    assert_eq!(client.start_all(), expected);
    assert_eq!(client.next(), "over");
}

#[test]
fn three_failed_queries_are_the_end() {
    let mut client = Client::dual_stack();
    client.fail(HTTPS).fail(AAAA);
    assert_eq!(client.next(), "wait");
    client.fail(A);
    assert_eq!(client.next(), "over");
}

#[test]
fn ipv4_is_tried_second_if_ipv6_gets_no_answer() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "1 example.com alpn=h3,h2")
        .answer(A, V4)
        .answer(AAAA, V6);
    client.start();
    assert_eq!(client.next(), "192.0.2.1:443 (QUIC)");
}

#[test]
fn hosts_that_are_addresses_need_no_queries() {
    for (host, expected) in [
        ("[2001:0DB8::1]", "[2001:db8::1]:443"),
        ("::1", "[::1]:443"),
        ("127.0.0.1", "127.0.0.1:443"),
    ] {
        let origin = Origin::https(host, 443);
        let mut client = Client::new(origin, Network::dual_stack(), preferences());
        assert!(client.asks().is_empty());
        assert_eq!(client.start_all(), [expected]);
    }
}

#[test]
fn configuration_for_ech_is_that_of_the_record_for_hints_and_addresses() {
    for (hint, aaaa) in [(" ipv6hint=2001:db8::1", None), ("", Some(V6))] {
        let mut client = Client::with(preferences().ech(true));
        client.answer(
            HTTPS,
            &format!("1 example.com alpn=h3,h2 ech=configuration{hint}"),
        );
        if let Some(aaaa) = aaaa {
            client.answer(AAAA, aaaa);
        }
        let endpoint = client.start();
        assert_eq!(endpoint.to_string(), "[2001:db8::1]:443 (QUIC)");
        assert_eq!(endpoint.ech.as_deref(), Some(&b"configuration"[..]));
    }
}

/// All over QUIC, then all over TCP; the families alternate.
#[test]
fn order_of_one_service_with_both_transports() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, "1 example.com alpn=h3,h2 no-default-alpn");
    client.answer(AAAA, V6);
    let mut started = vec![client.start().to_string()];
    client.answer(A, V4);
    started.extend(client.start_all());
    let expected = [
        "[2001:db8::1]:443 (QUIC)",
        "192.0.2.1:443 (QUIC)",
        "[2001:db8::1]:443",
        "192.0.2.1:443",
    ];
    assert_eq!(started, expected);
    assert_eq!(client.next(), "over");
}
