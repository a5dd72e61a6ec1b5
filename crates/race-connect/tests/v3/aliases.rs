//! Records in AliasMode (RFC 9460, sections 2.4.2, 2.5.1 and 3).

use race_connect::v3::{Network, Origin, Refused};

use crate::client::{Client, preferences};

const HTTPS: &str = "example.com HTTPS";
const AAAA: &str = "example.com AAAA";

#[test]
fn alias_is_followed() {
    let mut client = Client::dual_stack();
    client.asks();
    client.answer(HTTPS, "0 svc.example.net");
    let expected = [
        "svc.example.net HTTPS",
        "svc.example.net AAAA",
        "svc.example.net A",
    ];
    assert_eq!(client.asks(), expected);
    client.answer("svc.example.net HTTPS", "1 . alpn=h3");
    client.answer("svc.example.net AAAA", "2001:db8::2");
    assert_eq!(client.next(), "[2001:db8::2]:443 (QUIC)");
}

/// The prefix of a port is for the name of the origin only.
#[test]
fn alias_of_another_port_has_no_prefix() {
    let origin = Origin::https("example.com", 8443);
    let mut client = Client::new(origin, Network::ipv4_only(), preferences());
    client.asks();
    client.answer("_8443._https.example.com HTTPS", "0 svc.example.net");
    assert_eq!(
        client.asks(),
        ["svc.example.net HTTPS", "svc.example.net A"]
    );
    client
        .answer("svc.example.net HTTPS", "1 . alpn=h3")
        .answer("svc.example.net A", "192.0.2.2");
    assert_eq!(client.next(), "192.0.2.2:8443 (QUIC)");
}

#[test]
fn service_records_beside_an_alias_are_ignored() {
    let mut client = Client::dual_stack();
    client.asks();
    client.answer(
        HTTPS,
        "1 . alpn=h3 ipv6hint=2001:db8::1 | 0 svc.example.net | 2 other alpn=h3",
    );
    assert!(client.list().is_empty());
    let expected = [
        "svc.example.net HTTPS",
        "svc.example.net AAAA",
        "svc.example.net A",
    ];
    assert_eq!(client.asks(), expected);
    client.answer(AAAA, "2001:db8::1");
    assert_eq!(client.list(), ["[2001:db8::1]:443"], "no QUIC");
}

#[test]
fn one_of_several_aliases_is_followed_at_random() {
    let followed = |seed| {
        let mut client = Client::with(preferences().seed(seed));
        client.asks();
        client.answer(HTTPS, "0 one | 0 two");
        let asked = client.asks();
        let https = asked.into_iter().filter(|it| it.ends_with("HTTPS"));
        https.collect::<Vec<_>>()
    };
    let all: Vec<_> = (0..64).map(followed).collect();
    assert!(all.iter().all(|it| it.len() == 1));
    for name in ["one HTTPS", "two HTTPS"] {
        assert!(all.iter().filter(|it| it[0] == name).count() > 16);
    }
}

/// A chain of names `0`, `1` and so on, of which the first is that of the origin; returns the
/// client and the last name that was asked for.
fn chain(aliases: usize) -> (Client, String) {
    let mut client = Client::dual_stack();
    let mut asked = Vec::new();
    let mut name = "example.com".to_owned();
    for alias in 1..=aliases {
        asked.extend(client.asks());
        client.answer(&format!("{name} HTTPS"), &format!("0 alias{alias}"));
        name = format!("alias{alias}");
    }
    asked.extend(client.asks());
    let mut https = asked.iter().filter(|it| it.ends_with("HTTPS"));
    let last = https.next_back().unwrap().clone();
    (client, last)
}

#[test]
fn chain_of_8_names_is_followed() {
    let (mut client, last) = chain(7);
    assert_eq!(last, "alias7 HTTPS");
    client
        .answer(&last, "1 . alpn=h3")
        .answer("alias7 AAAA", "2001:db8::2");
    assert_eq!(client.next(), "[2001:db8::2]:443 (QUIC)");
}

/// Then the origin is used as if it had no records, and nothing waits for more.
#[test]
fn chain_of_9_names_counts_as_no_records() {
    let (mut client, last) = chain(8);
    assert_eq!(last, "alias7 HTTPS", "the ninth name is not asked for");
    client
        .answer("alias7 AAAA", "2001:db8::2")
        .answer(AAAA, "2001:db8::1");
    assert_eq!(client.start_all(), ["[2001:db8::1]:443"]);
    assert_eq!(client.refused(), None);
}

#[test]
fn loop_of_aliases_counts_as_no_records() {
    for records in ["0 example.com", "0 one"] {
        let mut client = Client::dual_stack();
        client.asks();
        client
            .answer(HTTPS, records)
            .answer("one HTTPS", "0 two")
            .answer("two HTTPS", "0 one");
        client.answer(AAAA, "2001:db8::1");
        assert_eq!(client.start_all(), ["[2001:db8::1]:443"]);
    }
}

#[test]
fn alias_to_the_root_is_no_service() {
    let mut client = Client::dual_stack();
    client.answer(AAAA, "2001:db8::1");
    let endpoint = client.at(50).start();
    client
        .answer("example.com A", "192.0.2.1")
        .answer(HTTPS, "0 .");
    assert_eq!(client.refused(), Some(Refused::NoService));
    assert_eq!(client.next(), "over");
    let handshake = client.handshake(&endpoint);
    assert_eq!(handshake, race_connect::v3::Handshake::Refused);
}

#[test]
fn chain_to_the_root_is_no_service() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "0 svc.example.net")
        .answer("svc.example.net HTTPS", "0 .");
    client.answer(AAAA, "2001:db8::1");
    assert_eq!(client.refused(), Some(Refused::NoService));
    assert_eq!(client.next(), "over");
}

/// RFC 9460, section 3: the last name of the chain, without parameters, before the origin itself.
#[test]
fn end_of_the_chain_comes_before_the_host() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "0 svc.example.net")
        .answer("svc.example.net HTTPS", "");
    client
        .answer(AAAA, "2001:db8::1")
        .answer("svc.example.net AAAA", "2001:db8::2");
    assert_eq!(client.list(), ["[2001:db8::2]:443", "[2001:db8::1]:443"]);
    let services = client.endpoints.list().iter().map(|it| it.service.clone());
    let names: Vec<_> = services.map(|it| it.map(|it| it.to_string())).collect();
    assert_eq!(names, [Some("svc.example.net".to_owned()), None]);
}

#[test]
fn end_of_the_chain_comes_after_its_services() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, "0 end.example.net");
    client.answer(
        "end.example.net HTTPS",
        "1 svc.example.net alpn=h3 no-default-alpn",
    );
    client
        .answer(AAAA, "2001:db8::1")
        .answer("end.example.net AAAA", "2001:db8::2");
    client.answer("svc.example.net AAAA", "2001:db8::3");
    let expected = [
        "[2001:db8::3]:443 (QUIC)",
        "[2001:db8::2]:443",
        "[2001:db8::1]:443",
    ];
    assert_eq!(client.list(), expected);
}

/// What the alias named so far is tried, if the delay is over before the chain ends.
#[test]
fn addresses_of_an_unfinished_chain_start_after_the_delay() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "0 svc.example.net")
        .answer("svc.example.net AAAA", "2001:db8::2");
    assert_eq!(client.next(), "until 50");
    assert_eq!(client.at(50).next(), "[2001:db8::2]:443");
}

#[test]
fn failed_query_for_an_alias_leaves_the_plain_addresses() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "0 svc.example.net")
        .fail("svc.example.net HTTPS");
    client
        .answer(AAAA, "2001:db8::1")
        .fail("svc.example.net AAAA")
        .fail("svc.example.net A");
    assert_eq!(client.start_all(), ["[2001:db8::1]:443"]);
}
