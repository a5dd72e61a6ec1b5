//! Encrypted Client Hello, and DNS that is protected.

use race_connect::v3::{Endpoint, Handshake, Network, Refused};

use crate::client::{Client, preferences};

const HTTPS: &str = "example.com HTTPS";
const AAAA: &str = "example.com AAAA";
const V6: &str = "2001:db8::1";

fn with_ech(is_protected: bool) -> Client {
    let network = Network::dual_stack().protected_dns(is_protected);
    Client::on(network, preferences().ech(true))
}

fn begin(ech: &str) -> Handshake {
    let ech = Some(ech.as_bytes().into());
    Handshake::Begin(ech.filter(|it: &std::sync::Arc<[u8]>| !it.is_empty()))
}

/// Starts the first address after the Resolution Delay, before the records are there.
fn start_without_records(client: &mut Client) -> Endpoint {
    client.answer(AAAA, V6);
    assert_eq!(client.next(), "until 50");
    client.at(50).start()
}

#[test]
fn endpoint_has_the_configuration_of_its_service() {
    let mut client = with_ech(false);
    client.answer(HTTPS, "1 . alpn=h3,h2 ech=one | 2 svc.example.net ech=two");
    client
        .answer(AAAA, V6)
        .answer("svc.example.net AAAA", "2001:db8::2");
    let list = client.endpoints.list();
    let ech = list.iter().map(|it| it.ech.as_deref().unwrap());
    let expected: [&[u8]; 3] = [b"one", b"one", b"two"];
    assert_eq!(ech.collect::<Vec<_>>(), expected);
}

#[test]
fn client_without_ech_gets_no_configuration() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, "1 . alpn=h3 ech=one").answer(AAAA, V6);
    assert!(client.endpoints.list().iter().all(|it| it.ech.is_none()));
}

#[test]
fn handshake_waits_for_records_beyond_the_delay_if_dns_is_protected_and_ech_used() {
    let mut client = with_ech(true);
    let endpoint = start_without_records(&mut client);
    assert_eq!(client.at(5_000).handshake(&endpoint), Handshake::Wait);
    client.answer(HTTPS, "1 . alpn=h2 ech=one");
    assert_eq!(client.handshake(&endpoint), begin("one"));
}

#[test]
fn handshake_waits_for_the_end_of_aliases() {
    let mut client = with_ech(true);
    let endpoint = start_without_records(&mut client);
    client.answer(HTTPS, "0 svc.example.net");
    assert_eq!(client.handshake(&endpoint), Handshake::Wait);
    client.answer("svc.example.net HTTPS", "");
    assert_eq!(client.handshake(&endpoint), begin(""));
}

#[test]
fn handshake_does_not_wait_if_dns_is_not_protected() {
    let mut client = with_ech(false);
    let endpoint = start_without_records(&mut client);
    assert_eq!(client.handshake(&endpoint), begin(""));
    client.fail(HTTPS);
    assert_eq!(client.refused(), None);
    assert_eq!(client.handshake(&endpoint), begin(""));
}

#[test]
fn handshake_does_not_wait_if_ech_is_not_used() {
    let network = Network::dual_stack().protected_dns(true);
    let mut client = Client::on(network, preferences());
    let endpoint = start_without_records(&mut client);
    assert_eq!(client.handshake(&endpoint), begin(""));
    client.fail(HTTPS);
    assert_eq!(client.refused(), None);
}

#[test]
fn failed_protected_query_refuses_all() {
    let mut client = with_ech(true);
    let endpoint = start_without_records(&mut client);
    client.answer("example.com A", "192.0.2.1").fail(HTTPS);
    assert_eq!(client.refused(), Some(Refused::HttpsQueryFailed));
    assert_eq!(client.handshake(&endpoint), Handshake::Refused);
    assert_eq!(client.next(), "over");
}

#[test]
fn failed_protected_query_of_an_alias_refuses_all() {
    let mut client = with_ech(true);
    client.answer(HTTPS, "0 svc.example.net").answer(AAAA, V6);
    client.fail("svc.example.net HTTPS");
    assert_eq!(client.refused(), Some(Refused::HttpsQueryFailed));
    assert_eq!(client.next(), "over");
}

#[test]
fn failed_protected_query_of_addresses_refuses_nothing() {
    let mut client = with_ech(true);
    client
        .answer(HTTPS, "")
        .answer(AAAA, V6)
        .fail("example.com A");
    assert_eq!(client.refused(), None);
    assert_eq!(client.start_all(), ["[2001:db8::1]:443"]);
}

#[test]
fn origin_without_https_records_never_waits() {
    let origin = race_connect::v3::Origin::http("example.com", 80);
    let network = Network::dual_stack().protected_dns(true);
    let mut client = Client::new(origin, network, preferences().ech(true));
    client.answer(AAAA, V6);
    let endpoint = client.start();
    assert_eq!(client.handshake(&endpoint), begin(""));
}

/// RFC 9848, section 5.1.
#[test]
fn addresses_without_a_service_are_not_used_if_all_services_have_ech() {
    let mut client = with_ech(false);
    client.answer(AAAA, V6);
    let endpoint = client.at(50).start();
    client.answer(
        HTTPS,
        "1 svc.example.net ech=one | 2 svc.example.org ech=two",
    );
    assert!(client.list().is_empty());
    assert_eq!(client.handshake(&endpoint), Handshake::Refused);
    client.answer("svc.example.net AAAA", "2001:db8::2");
    assert_eq!(client.start_all(), ["[2001:db8::2]:443"]);
}

#[test]
fn addresses_without_a_service_are_used_if_one_service_has_no_ech() {
    let mut client = with_ech(false);
    client.answer(AAAA, V6);
    let endpoint = client.at(50).start();
    client.answer(HTTPS, "1 svc.example.net ech=one | 2 svc.example.org");
    assert_eq!(client.ips(), ["2001:db8::1"]);
    assert_eq!(client.handshake(&endpoint), begin(""));
}

#[test]
fn client_without_ech_uses_addresses_without_a_service() {
    let mut client = Client::dual_stack();
    client
        .answer(AAAA, V6)
        .answer(HTTPS, "1 svc.example.net ech=one");
    assert_eq!(client.ips(), ["2001:db8::1"]);
}

/// An attempt that has started continues when its endpoint is withdrawn.
#[test]
fn withdrawn_hint_of_a_service_with_ech_may_finish_its_handshake() {
    let mut client = with_ech(true);
    client.answer(HTTPS, "1 . alpn=h2 ech=one ipv6hint=2001:db8::9");
    let endpoint = client.start();
    client.answer(AAAA, V6);
    assert_eq!(client.ips(), [V6]);
    assert_eq!(client.handshake(&endpoint), begin("one"));
}

/// The address is the same, so the handshake uses what the record says of it.
#[test]
fn handshake_uses_the_configuration_that_arrived_after_the_start() {
    let mut client = with_ech(false);
    let endpoint = start_without_records(&mut client);
    assert_eq!(endpoint.ech, None);
    client.answer(HTTPS, "1 . alpn=h2 ech=one");
    assert_eq!(client.handshake(&endpoint), begin("one"));
}
