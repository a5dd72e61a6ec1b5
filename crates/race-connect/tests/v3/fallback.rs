//! Addresses of the host beside those of services.

use crate::client::Client;

const HTTPS: &str = "example.com HTTPS";
const AAAA: &str = "example.com AAAA";

#[test]
fn addresses_without_a_service_are_last_and_over_tcp_only() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "9 svc alpn=h3")
        .answer(AAAA, "2001:db8::1");
    client.answer("svc AAAA", "2001:db8::2");
    let expected = [
        "[2001:db8::2]:443 (QUIC)",
        "[2001:db8::2]:443",
        "[2001:db8::1]:443",
    ];
    assert_eq!(client.list(), expected);
}

/// The record says that this endpoint speaks h3 only.
#[test]
fn host_that_a_record_names_is_used_as_the_record_says() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "1 . alpn=h3 no-default-alpn")
        .answer(AAAA, "2001:db8::1");
    assert_eq!(client.list(), ["[2001:db8::1]:443 (QUIC)"]);
}

/// The record says nothing of the origin's own port, which remains the last resort (RFC 9460,
/// section 3).
#[test]
fn host_that_a_record_names_at_another_port_is_also_tried_at_its_own() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "1 . alpn=h2 port=8443")
        .answer(AAAA, "2001:db8::1");
    assert_eq!(client.list(), ["[2001:db8::1]:8443", "[2001:db8::1]:443"]);
}

#[test]
fn end_of_a_chain_that_a_record_names_at_another_port_is_also_tried_at_that_of_the_origin() {
    let mut client = Client::dual_stack();
    client
        .answer(HTTPS, "0 svc")
        .answer("svc HTTPS", "1 . alpn=h2 port=8443");
    client.answer("svc AAAA", "2001:db8::2");
    assert_eq!(client.list(), ["[2001:db8::2]:8443", "[2001:db8::2]:443"]);
}
