use std::io::{BufRead as _, BufReader, Write as _};

use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};
use testkit::request::schedule;

use crate::{
    authority::Authority,
    peer::{Options, Peer, tcp},
    server::Server,
};

const FAILED: &str = "the TLS handshake failed";

#[test]
fn both_versions_of_tls_serve_the_protocol() {
    let server = Server::start();
    for version in [&TLS12, &TLS13] {
        let options = Options {
            version,
            ..Options::of(&server)
        };
        let mut peer = options.connect(server.address).unwrap();
        assert_eq!(peer.certificate(), server.identity.der);
        peer.send(r#"{"kind":"ping"}"#);
        assert_eq!(peer.line().as_deref(), Some(r#"{"kind":"pong"}"#));
        peer.send_bytewise(&schedule("a", "1", 1));
        let scheduled: Value = serde_json::from_str(&peer.line().unwrap()).unwrap();
        assert_eq!(scheduled["kind"], "ack");
    }
    assert!(!server.log().contains("WARN"), "{}", server.log());
}

#[test]
fn what_is_read_before_the_client_ends_its_side_is_answered_and_the_end_is_announced() {
    let server = Server::start();
    let mut peer = Peer::connect(&server);
    for id in 0..100 {
        peer.send(&schedule("a", &id.to_string(), 1));
    }
    peer.finish_writing();
    for _ in 0..100 {
        assert!(peer.line().unwrap().starts_with(r#"{"kind":"ack""#));
    }
    // Without `close_notify` this would be an error.
    assert_eq!(peer.line(), None);
}

#[test]
fn an_end_that_arrives_with_a_line_ends_the_connection_after_its_reply() {
    let server = Server::start_with(json!({"max_connections": 1, "reserved_connections": 0}));
    let mut peer = Peer::connect(&server);
    peer.end_at_once("{\"kind\":\"ping\"}\n");
    assert_eq!(peer.line().as_deref(), Some(r#"{"kind":"pong"}"#));
    assert_eq!(peer.line(), None);
    // A line without its end has no effect.
    let mut peer = Peer::connect_when_free(&server);
    peer.end_at_once("{\"kind\":");
    assert_eq!(peer.line(), None);
    Peer::connect_when_free(&server);
}

#[test]
fn an_end_that_arrives_with_the_end_of_the_handshake_ends_the_connection() {
    let server = Server::start_with(json!({"max_connections": 1, "reserved_connections": 0}));
    let mut peer = Options::of(&server).connect_and_end(server.address);
    assert_eq!(peer.line(), None);
    Peer::connect_when_free(&server);
}

#[test]
fn lines_of_many_records_pass_in_both_directions() {
    const LONG: usize = 1 << 20;
    let server = Server::start_with(json!({"max_line_bytes": 4 << 20, "sync": "never"}));
    let mut peer = Peer::connect(&server);
    let payload = "A".repeat(LONG);
    let line = schedule("a", "1", 1);
    let line = line.replacen('{', &format!(r#"{{"payload_base64":"{payload}","#), 1);
    assert_eq!(peer.ask(&line)["kind"], "ack");
    let registered = peer.ask(r#"{"kind":"register","route_key":"a"}"#);
    assert_eq!(registered["kind"], "registered");
    let delivery: Value = serde_json::from_str(&peer.line().unwrap()).unwrap();
    assert_eq!(delivery["payload_base64"], payload);
}

#[test]
fn keys_can_be_renewed_while_replies_are_under_way() {
    let server = Server::start();
    let mut peer = Peer::connect(&server);
    for id in 0..100 {
        peer.send(&schedule("a", &id.to_string(), 1));
        peer.renew_keys();
    }
    for _ in 0..100 {
        assert!(peer.line().unwrap().starts_with(r#"{"kind":"ack""#));
    }
    peer.pings();
}

#[test]
fn a_client_that_trusts_another_authority_ends_and_the_server_logs_it() {
    let server = Server::start();
    let other = Authority::new();
    let options = Options {
        authority: &other,
        ..Options::of(&server)
    };
    let error = options.refused(server.address);
    assert!(error.contains("invalid peer certificate"), "{error}");
    let line = server.logs(FAILED);
    assert!(
        line.contains("WARN") && line.contains("127.0.0.1:"),
        "{line}"
    );
    Peer::connect(&server).pings();
}

#[test]
fn an_expired_certificate_of_the_server_is_not_trusted() {
    let authority = Authority::new();
    let expired = authority.issue_expired();
    let server = Server::start_as(authority, expired, json!({}));
    let error = Options::of(&server).refused(server.address);
    assert!(error.contains("expired"), "{error}");
    assert!(!server.logs(FAILED).contains("listener="));
    server.logs("the certificate in tls.cert expired at 2001-01-01T00:00:00Z: clients refuse it");
    server.directory.write_identity(&server.authority.issue());
    server.signal("HUP");
    server.logs("the configuration was reloaded");
    server
        .directory
        .write_identity(&server.authority.issue_until(2002));
    server.signal("HUP");
    server.logs("the certificate in tls.cert expired at 2002-01-01T00:00:00Z");
}

#[test]
fn client_certificates_are_required_if_their_authority_is_set() {
    let server = Server::start_with_client_ca();
    let mine = server.authority.issue();
    let own = Options::of(&server).showing(&mine);
    own.connect(server.address).unwrap().pings();

    let error = Options::of(&server).refused(server.address);
    assert!(error.contains("CertificateRequired"), "{error}");
    server.logs("peer sent no certificates");

    let foreign = Authority::new().issue();
    let error = Options::of(&server)
        .showing(&foreign)
        .refused(server.address);
    assert!(error.contains("UnknownCA"), "{error}");

    let expired = server.authority.issue_expired();
    let error = Options::of(&server)
        .showing(&expired)
        .refused(server.address);
    assert!(error.contains("CertificateExpired"), "{error}");
    own.connect(server.address).unwrap().pings();
}

#[test]
fn a_client_without_tls_gets_an_error_that_says_so() {
    let server = Server::start();
    for line in ["{\"kind\":\"ping\"}\n", "GET / HTTP/1.1\r\n\r\n", "\n", "{"] {
        let mut plain = tcp(server.address);
        plain.write_all(line.as_bytes()).unwrap();
        let mut lines = BufReader::new(plain).lines();
        let error: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(
            (&error["kind"], &error["code"]),
            (&"error".into(), &"tls_required".into())
        );
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("connect with TLS")
        );
        assert!(lines.next().is_none());
    }
    let line = server.logs("the client does not speak TLS");
    assert!(line.contains(FAILED) && line.contains("WARN"), "{line}");
}

#[test]
fn a_client_that_offers_only_other_protocols_is_refused() {
    let server = Server::start();
    let browser = Options {
        protocols: &["h2", "http/1.1"],
        ..Options::of(&server)
    };
    let error = browser.refused(server.address);
    assert!(error.contains("NoApplicationProtocol"), "{error}");
    let client = Options {
        protocols: &["hyper-delay"],
        ..Options::of(&server)
    };
    client.connect(server.address).unwrap().pings();
}

#[test]
fn a_tls_client_of_a_plain_server_is_told_at_once() {
    let server = Server::start_with(json!({"tls": null}));
    let error = Options::of(&server).refused(server.address);
    assert!(error.contains("InvalidContentType"), "{error}");
    let mut peer = server.peer();
    let hello = [22, 3, 1, 2, 0, 1, 0, 1, 252];
    peer.raw(hello);
    let refusal = peer.kind("error");
    let message = refusal["message"].as_str().unwrap();
    assert!(message.contains("does not speak TLS"), "{message}");
    assert_eq!(peer.line(), None);
    server.peer().quiet();
}
