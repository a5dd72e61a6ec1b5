//! Answers that change while attempts are in progress.

use crate::client::Client;

const HTTPS: &str = "example.com HTTPS";
const AAAA: &str = "example.com AAAA";
const A: &str = "example.com A";

#[test]
fn late_ipv4_goes_next() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "")
        .answer(AAAA, "2001:db8::1 2001:db8::2 2001:db8::3");
    client.start();
    assert_eq!(client.next(), "[2001:db8::2]:443");
    client.answer(A, "192.0.2.1 192.0.2.2");
    let expected = [
        "192.0.2.1:443",
        "[2001:db8::2]:443",
        "192.0.2.2:443",
        "[2001:db8::3]:443",
    ];
    assert_eq!(client.start_all(), expected);
}

#[test]
fn late_ipv6_goes_next() {
    let mut client = Client::dual_stack();
    client.answer(A, "192.0.2.1 192.0.2.2").answer(HTTPS, "");
    client.at(50).start();
    client.answer(AAAA, "2001:db8::1");
    assert_eq!(client.start_all(), ["[2001:db8::1]:443", "192.0.2.2:443"]);
}

#[test]
fn withdrawn_endpoint_does_not_start() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "")
        .answer(AAAA, "2001:db8::1 2001:db8::2")
        .answer(A, "");
    client.start();
    client.answer(AAAA, "2001:db8::1 2001:db8::3");
    assert_eq!(client.start_all(), ["[2001:db8::3]:443"]);
    assert_eq!(client.next(), "over");
}

#[test]
fn withdrawn_endpoint_that_has_started_is_not_tried_again_when_it_returns() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "")
        .answer(AAAA, "2001:db8::1")
        .answer(A, "");
    client.start();
    client.answer(AAAA, "");
    assert_eq!(client.next(), "over");
    client.answer(AAAA, "2001:db8::1 2001:db8::2");
    assert_eq!(client.start_all(), ["[2001:db8::2]:443"]);
}

#[test]
fn records_replace_a_hint_that_has_not_started() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, "1 . alpn=h2 ipv6hint=2001:db8::1,2001:db8::2");
    assert_eq!(client.start().to_string(), "[2001:db8::1]:443");
    client.answer(AAAA, "2001:db8::3").answer(A, "");
    assert_eq!(client.start_all(), ["[2001:db8::3]:443"]);
    assert_eq!(client.next(), "over");
}

/// The same address over QUIC is another endpoint.
#[test]
fn late_records_add_quic_to_an_address_that_has_started() {
    let mut client = Client::dual_stack();
    client.answer(AAAA, "2001:db8::1").answer(A, "");
    assert_eq!(client.at(50).start().to_string(), "[2001:db8::1]:443");
    client.at(90).answer(HTTPS, "1 . alpn=h3,h2");
    assert_eq!(client.start_all(), ["[2001:db8::1]:443 (QUIC)"]);
}

#[test]
fn late_service_of_a_better_priority_goes_next() {
    let mut client = Client::dual_stack();
    client.answer(HTTPS, "1 one.example alpn=h2 | 2 two.example alpn=h2");
    client.answer("two.example AAAA", "2001:db8::21 2001:db8::22");
    assert_eq!(client.start().to_string(), "[2001:db8::21]:443");
    client.answer("one.example AAAA", "2001:db8::11");
    assert_eq!(client.next(), "[2001:db8::11]:443");
}

#[test]
fn failure_of_a_repeated_query_keeps_the_answer() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "1 . alpn=h3,h2")
        .answer(AAAA, "2001:db8::1");
    let before = client.list();
    assert_eq!(before.len(), 2);
    client.fail(HTTPS).fail(AAAA);
    assert_eq!(client.list(), before);
}

#[test]
fn answer_after_a_failure_counts() {
    let mut client = Client::dual_stack();
    client.fail(HTTPS).fail(AAAA).fail(A);
    assert_eq!(client.next(), "over");
    client.answer(AAAA, "2001:db8::1");
    assert_eq!(client.next(), "[2001:db8::1]:443");
    client.answer(HTTPS, "1 . alpn=h3");
    assert_eq!(client.next(), "[2001:db8::1]:443 (QUIC)");
}

/// The second endpoint of an address is one of QUIC; no endpoint starts twice.
#[test]
fn endpoint_starts_once() {
    let mut client = Client::dual_stack();
    let records = "1 . alpn=h3 | 2 svc.example.net alpn=h3 | 3 svc.example.net alpn=h2";
    client.answer(HTTPS, records);
    client.answer(AAAA, "2001:db8::1 2001:db8::1").answer(A, "");
    client
        .answer("svc.example.net AAAA", "2001:db8::1")
        .answer("svc.example.net A", "");
    let expected = ["[2001:db8::1]:443 (QUIC)", "[2001:db8::1]:443"];
    assert_eq!(client.list(), expected);
    assert_eq!(client.start_all(), expected);
    assert_eq!(client.next(), "over");
}

#[test]
fn at_most_64_endpoints_start() {
    let v6 = |from: u32| -> String {
        let ips = (from..from + 50).map(|it| format!("2001:db8::{it:x}"));
        ips.collect::<Vec<_>>().join(" ")
    };
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "1 . alpn=h3,h2")
        .answer(A, "")
        .answer(AAAA, &v6(1));
    assert_eq!(client.list().len(), 64);
    for _ in 0..40 {
        client.start();
    }
    client.answer(AAAA, &v6(1_000));
    assert_eq!(client.start_all().len(), 24);
    assert_eq!(client.next(), "over");
}

/// Where UDP is blocked, all attempts over QUIC fail, however many addresses there are.
#[test]
fn addresses_over_quic_leave_room_for_tcp() {
    let addresses = |count: usize| {
        let addresses = (1..=count).map(|it| format!("2001:db8::{it:x}"));
        addresses.collect::<Vec<_>>().join(" ")
    };
    for (count, quic, tcp) in [(20, 20, 20), (32, 32, 32), (33, 32, 32), (64, 32, 32)] {
        let mut client = Client::dual_stack();
        client
            .answer(HTTPS, "1 . alpn=h3,h2")
            .answer(AAAA, &addresses(count))
            .answer(A, "");
        let started = client.start_all();
        let is_quic = |it: &&String| it.ends_with("(QUIC)");
        let started_quic = started.iter().filter(is_quic).count();
        let counts = (started_quic, started.len() - started_quic);
        assert_eq!(counts, (quic, tcp), "{count}");
    }
}
