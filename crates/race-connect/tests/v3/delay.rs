//! When the first attempt may start: the Resolution Delay and the preferred family.

use std::time::Duration;

use race_connect::{
    Family,
    v3::{Network, Preferences, Protocols},
};

use crate::client::{Client, preferences};

const HTTPS: &str = "example.com HTTPS";
const AAAA: &str = "example.com AAAA";
const A: &str = "example.com A";

#[test]
fn delay_begins_with_the_first_address_and_not_with_the_query() {
    let mut client = Client::dual_stack();
    client.at(500).answer(HTTPS, "1 . alpn=h3");
    assert_eq!(client.next(), "wait", "no address");
    client.at(1_000).answer(A, "192.0.2.1");
    assert_eq!(client.next(), "until 1050");
}

#[test]
fn empty_answer_does_not_begin_the_delay() {
    let mut client = Client::dual_stack();
    client.at(10).answer(AAAA, "");
    client.at(200).answer(A, "192.0.2.1");
    assert_eq!(client.next(), "until 250", "HTTPS is missing");
}

#[test]
fn delay_begins_with_a_hint() {
    let mut client = Client::dual_stack();
    client.at(30).answer(HTTPS, "1 . ipv4hint=192.0.2.1");
    assert_eq!(client.next(), "until 80", "the preferred family is missing");
}

/// Nothing can start until the records show a service with QUIC, but the delay is over by then.
#[test]
fn delay_begins_with_an_address_that_needs_a_record() {
    let protocols = Protocols::new().quic(["h3"]).tcp([""; 0]);
    let mut client = Client::with(preferences().protocols(protocols));
    client.at(30).answer(A, "192.0.2.1");
    assert_eq!(client.next(), "wait");
    client.at(90).answer(HTTPS, "1 . alpn=h3");
    assert_eq!(client.next(), "192.0.2.1:443 (QUIC)");
}

#[test]
fn later_addresses_do_not_extend_the_delay() {
    let mut client = Client::dual_stack();
    client.at(30).answer(A, "192.0.2.1");
    client.at(70).answer(A, "192.0.2.1 192.0.2.2");
    assert_eq!(client.next(), "until 80");
}

/// Although the delay is not over, and the records are missing again.
#[test]
fn attempts_after_the_first_do_not_wait() {
    let mut client = Client::dual_stack();
    client
        .at(30)
        .answer(HTTPS, "1 svc.example.net ipv6hint=2001:db8::2");
    client.start();
    client.at(40).answer(HTTPS, "0 other.example.net");
    client.answer(AAAA, "2001:db8::1");
    assert_eq!(client.next(), "[2001:db8::1]:443");
}

#[test]
fn empty_answer_of_the_preferred_family_ends_the_wait() {
    let mut client = Client::dual_stack();
    client.at(30).answer(A, "192.0.2.1").answer(HTTPS, "");
    assert_eq!(client.next(), "until 80");
    client.at(40).answer(AAAA, "");
    assert_eq!(client.next(), "192.0.2.1:443");
}

#[test]
fn failed_queries_end_the_wait() {
    let mut client = Client::dual_stack();
    client.at(30).answer(A, "192.0.2.1").fail(HTTPS);
    assert_eq!(client.next(), "until 80");
    client.at(40).fail(AAAA);
    assert_eq!(client.next(), "192.0.2.1:443");
}

#[test]
fn empty_https_answer_ends_the_wait() {
    let mut client = Client::dual_stack();
    client.at(30).answer(AAAA, "2001:db8::1");
    assert_eq!(client.next(), "until 80");
    client.at(31).answer(HTTPS, "");
    assert_eq!(client.next(), "[2001:db8::1]:443");
}

/// The service information is not there until the records in ServiceMode are.
#[test]
fn alias_does_not_end_the_wait() {
    let mut client = Client::dual_stack();
    client.at(30).answer(AAAA, "2001:db8::1");
    client.at(40).answer(HTTPS, "0 svc.example.net");
    assert_eq!(client.next(), "until 80");
    client.at(50).answer("svc.example.net HTTPS", "1 . alpn=h3");
    client.answer("svc.example.net AAAA", "2001:db8::2");
    assert_eq!(client.next(), "[2001:db8::2]:443 (QUIC)");
}

#[test]
fn preferred_ipv4_is_waited_for_and_ipv6_is_not() {
    let preferences = || preferences().prefer(Some(Family::V4));
    let mut client = Client::with(preferences());
    client.at(30).answer(HTTPS, "").answer(AAAA, "2001:db8::1");
    assert_eq!(client.next(), "until 80");
    client.at(40).answer(A, "192.0.2.1");
    assert_eq!(client.next(), "192.0.2.1:443");
    let mut client = Client::with(preferences());
    client.at(30).answer(HTTPS, "").answer(A, "192.0.2.1");
    assert_eq!(client.next(), "192.0.2.1:443");
}

#[test]
fn preferred_family_that_the_network_lacks_is_not_waited_for() {
    let preferences = preferences().prefer(Some(Family::V6));
    let mut client = Client::on(Network::ipv4_only(), preferences);
    client.answer(HTTPS, "").answer(A, "192.0.2.1");
    assert_eq!(client.next(), "192.0.2.1:443");
}

#[test]
fn delay_can_be_set() {
    let delayed = |delay| {
        let preferences = Preferences::new().resolution_delay(delay);
        let mut client = Client::with(preferences);
        client.at(30).answer(A, "192.0.2.1");
        client.next()
    };
    assert_eq!(delayed(Duration::from_millis(7)), "until 37");
    assert_eq!(delayed(Duration::ZERO), "192.0.2.1:443");
    let never = u64::MAX / 1_000_000;
    assert_eq!(delayed(Duration::MAX), format!("until {never}"));
}

/// Addresses of the host are the last resort, so those of the service have the delay to arrive.
#[test]
fn addresses_of_the_host_wait_for_those_of_a_service() {
    let mut client = Client::dual_stack();
    client.at(30).answer(AAAA, "2001:db8::1").answer(A, "");
    client.answer(HTTPS, "1 svc.example.net alpn=h2");
    assert_eq!(client.next(), "until 80");
    client.at(40).answer("svc.example.net AAAA", "2001:db8::2");
    assert_eq!(client.next(), "[2001:db8::2]:443");
    assert_eq!(client.ips(), ["2001:db8::2", "2001:db8::1"]);
}

#[test]
fn addresses_of_the_host_start_if_a_service_has_none() {
    let mut client = Client::dual_stack();
    client.at(30).answer(AAAA, "2001:db8::1").answer(A, "");
    client.answer(HTTPS, "1 svc.example.net alpn=h2");
    client.answer("svc.example.net AAAA", "");
    assert_eq!(client.next(), "until 80");
    client.answer("svc.example.net A", "");
    assert_eq!(client.next(), "[2001:db8::1]:443");
}

#[test]
fn nothing_known_and_nothing_open_is_over() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, "").answer(AAAA, "");
    assert_eq!(client.next(), "wait");
    client.fail(A);
    assert_eq!(client.next(), "over");
}

/// The end of a chain is before the host, so nothing waits for the host.
#[test]
fn addresses_of_an_alias_do_not_wait_for_those_of_the_host() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, "0 svc.example.net");
    client.answer("svc.example.net HTTPS", "");
    client.answer("svc.example.net A", "192.0.2.2");
    assert_eq!(client.next(), "until 50");
    client.answer("svc.example.net AAAA", "2001:db8::2");
    assert_eq!(client.next(), "[2001:db8::2]:443");
}
