//! The sequences of answers in the section "Examples" of the draft, and what starts when.

use race_connect::v3::Network;

use crate::client::{Client, preferences};

const HTTPS: &str = "example.com HTTPS";
const AAAA: &str = "example.com AAAA";
const A: &str = "example.com A";

const V6: &str = "2001:db8::1 2001:db8::2";
const V4: &str = "192.0.2.1 192.0.2.2";

/// Both families, interleaved, over TCP.
const V6_AND_V4: [&str; 4] = [
    "[2001:db8::1]:443",
    "192.0.2.1:443",
    "[2001:db8::2]:443",
    "192.0.2.2:443",
];

/// A client that has sent its three queries.
fn client() -> Client {
    let mut client = Client::dual_stack();
    assert_eq!(client.asks(), [HTTPS, AAAA, A]);
    assert_eq!(client.next(), "wait");
    client
}

#[test]
fn aaaa_before_a() {
    let mut client = client();
    client.at(30).answer(HTTPS, "1 . alpn=h2").answer(AAAA, V6);
    assert_eq!(client.start().to_string(), "[2001:db8::1]:443");
    client.at(32).answer(A, V4);
    assert_eq!(client.list(), V6_AND_V4);
    assert_eq!(client.next(), "192.0.2.1:443");
}

#[test]
fn a_shortly_before_aaaa() {
    let mut client = client();
    client.at(30).answer(HTTPS, "1 . alpn=h2").answer(A, V4);
    assert_eq!(client.next(), "until 80");
    assert_eq!(client.at(39).next(), "until 80");
    client.at(40).answer(AAAA, V6);
    assert_eq!(client.start_all(), V6_AND_V4);
}

#[test]
fn a_long_before_aaaa() {
    let mut client = client();
    client.at(30).answer(HTTPS, "1 . alpn=h2").answer(A, V4);
    assert_eq!(client.at(79).next(), "until 80");
    assert_eq!(client.at(80).start().to_string(), "192.0.2.1:443");
    client.at(180).answer(AAAA, V6);
    assert_eq!(client.list(), V6_AND_V4);
    assert_eq!(client.next(), "[2001:db8::1]:443");
}

#[test]
fn https_shortly_after_addresses() {
    let mut client = client();
    client.at(30).answer(AAAA, V6).answer(A, V4);
    assert_eq!(client.next(), "until 80");
    assert_eq!(client.at(39).next(), "until 80");
    client.at(40).answer(HTTPS, "1 . alpn=h2");
    assert_eq!(client.start_all(), V6_AND_V4);
}

#[test]
fn https_never() {
    let mut client = client();
    client.at(30).answer(AAAA, V6).answer(A, V4);
    assert_eq!(client.at(79).next(), "until 80");
    assert_eq!(client.at(80).start_all(), V6_AND_V4);
    assert_eq!(client.next(), "wait", "the records may name more endpoints");
}

#[test]
fn hints_before_addresses() {
    let mut client = client();
    let hints = "1 . alpn=h2 ipv6hint=2001:db8::1,2001:db8::2 ipv4hint=192.0.2.1,192.0.2.2";
    client.at(30).answer(HTTPS, hints);
    assert_eq!(client.start_all(), V6_AND_V4);
}

#[test]
fn several_service_names() {
    let mut client = client();
    client.at(30);
    client.answer(HTTPS, "1 . alpn=h2 | 2 alt.example.com alpn=h2");
    client.answer(AAAA, V6).answer(A, V4);
    assert_eq!(client.start().to_string(), "[2001:db8::1]:443");
    assert_eq!(client.asks(), ["alt.example.com AAAA", "alt.example.com A"]);
    client.at(60);
    client.answer("alt.example.com AAAA", "2001:db8::3");
    client.answer("alt.example.com A", "192.0.2.3");
    let mut all = V6_AND_V4.to_vec();
    all.extend(["[2001:db8::3]:443", "192.0.2.3:443"]);
    assert_eq!(client.list(), all);
    assert_eq!(client.start_all(), all[1..]);
    assert_eq!(client.next(), "over");
}

/// The same, if the other name has the better priority: what is there starts, and the other goes
/// first once it is there.
#[test]
fn several_service_names_of_which_the_unknown_one_is_better() {
    let mut client = client();
    client.at(30);
    client.answer(HTTPS, "2 . alpn=h2 | 1 alt.example.com alpn=h2");
    client.answer(AAAA, V6).answer(A, V4);
    assert_eq!(client.start().to_string(), "[2001:db8::1]:443");
    client.at(60).answer("alt.example.com A", "192.0.2.3");
    assert_eq!(client.next(), "192.0.2.3:443");
}

#[test]
fn https_shortly_after_a_on_an_ipv4_network() {
    let mut client = Client::on(Network::ipv4_only(), preferences());
    assert_eq!(client.asks(), [HTTPS, A]);
    client.at(30).answer(A, V4);
    assert_eq!(client.next(), "until 80");
    client.at(40).answer(HTTPS, "1 . alpn=h2");
    assert_eq!(client.start_all(), ["192.0.2.1:443", "192.0.2.2:443"]);
    assert_eq!(client.next(), "over");
}
