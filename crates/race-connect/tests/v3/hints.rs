//! Addresses in HTTPS records, until those of A and AAAA records are there.

use race_connect::v3::Network;

use crate::client::{Client, preferences};

const HTTPS: &str = "example.com HTTPS";
const HINTED: &str = "1 . alpn=h2 ipv6hint=2001:db8::1,2001:db8::2 ipv4hint=192.0.2.1";

#[test]
fn addresses_are_asked_although_there_are_hints() {
    let mut client = Client::dual_stack();
    client.asks();
    client.answer(HTTPS, "1 svc.example.net ipv6hint=2001:db8::1");
    assert_eq!(client.asks(), ["svc.example.net AAAA", "svc.example.net A"]);
}

#[test]
fn records_of_a_family_replace_its_hints_only() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, HINTED);
    assert_eq!(client.ips(), ["2001:db8::1", "192.0.2.1", "2001:db8::2"]);
    client.answer("example.com AAAA", "2001:db8::2 2001:db8::3");
    assert_eq!(client.ips(), ["2001:db8::2", "192.0.2.1", "2001:db8::3"]);
    client.answer("example.com A", "192.0.2.9");
    assert_eq!(client.ips(), ["2001:db8::2", "192.0.2.9", "2001:db8::3"]);
}

#[test]
fn empty_answer_withdraws_hints() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, HINTED);
    client.answer("example.com AAAA", "");
    assert_eq!(client.ips(), ["192.0.2.1"]);
}

/// No records have arrived that could replace them.
#[test]
fn failed_query_keeps_hints() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, HINTED).fail("example.com AAAA");
    assert_eq!(client.ips(), ["2001:db8::1", "192.0.2.1", "2001:db8::2"]);
}

#[test]
fn hints_that_arrive_after_the_records_are_ignored() {
    let mut client = Client::dual_stack();
    client
        .answer("example.com AAAA", "2001:db8::9")
        .answer("example.com A", "");
    client.answer(HTTPS, HINTED);
    assert_eq!(client.ips(), ["2001:db8::9"]);
}

/// The records of the host say nothing of another name.
#[test]
fn hints_of_another_name_stay() {
    let mut client = Client::dual_stack();
    client.answer("example.com AAAA", "2001:db8::9");
    client.answer(HTTPS, "1 svc.example.net ipv6hint=2001:db8::1");
    assert_eq!(client.ips(), ["2001:db8::1", "2001:db8::9"]);
    assert_eq!(client.next(), "[2001:db8::1]:443");
}

#[test]
fn hints_of_an_absent_family_are_ignored() {
    let mut client = Client::on(Network::ipv4_only(), preferences());
    client.answer(HTTPS, HINTED);
    assert_eq!(client.ips(), ["192.0.2.1"]);
    assert_eq!(client.next(), "192.0.2.1:443");
}

#[test]
fn hints_of_a_record_that_cannot_be_used_are_ignored() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, "1 . alpn=h3 ipv6hint=2001:db8::1 mandatory=9 key9");
    assert!(client.list().is_empty());
    client.answer(HTTPS, "0 svc.example.net ipv6hint=2001:db8::1");
    assert!(client.list().is_empty(), "an alias has no parameters");
}

/// A second record of the same name has hints of its own; the records replace both.
#[test]
fn hints_of_two_records_of_one_name() {
    let mut client = Client::dual_stack();
    let records = "1 . alpn=h3 no-default-alpn ipv6hint=2001:db8::1 | 2 . ipv6hint=2001:db8::2";
    client.answer(HTTPS, records);
    let expected = ["[2001:db8::1]:443 (QUIC)", "[2001:db8::2]:443"];
    assert_eq!(client.list(), expected);
    client.answer("example.com AAAA", "2001:db8::3");
    let expected = ["[2001:db8::3]:443 (QUIC)", "[2001:db8::3]:443"];
    assert_eq!(client.list(), expected);
}
