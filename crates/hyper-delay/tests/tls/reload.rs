use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::PATIENCE;

use crate::{
    authority::Authority,
    peer::{Options, Peer},
    server::{Server, files},
};

const RELOADED: &str = "the TLS files have changed and were reloaded";

#[test]
fn sighup_uses_new_files_for_new_connections_and_keeps_the_old_ones_open() {
    let server = Server::start();
    let mut old = Peer::connect(&server);
    let renewed = server.authority.issue();
    server.directory.write_identity(&renewed);
    server.signal("HUP");
    server.logs("the configuration was reloaded");
    assert_eq!(Peer::connect(&server).certificate(), renewed.der);
    assert_eq!(old.certificate(), server.identity.der);
    old.pings();
}

#[test]
fn files_that_change_are_reloaded_without_a_signal() {
    let server = Server::start();
    let renewed = server.authority.issue();
    server.directory.write_identity(&renewed);
    server.logs(RELOADED);
    assert_eq!(Peer::connect(&server).certificate(), renewed.der);
}

#[test]
fn a_reload_with_invalid_files_changes_nothing_of_the_configuration() {
    let server = Server::start_with(json!({"credit": 9}));
    for (tls, named) in [
        (
            json!({"cert": "no.pem", "key": "key.pem"}),
            "tls.cert is \"no.pem\"",
        ),
        (
            json!({"cert": "ca.pem", "key": "key.pem"}),
            "tls.key is \"key.pem\"",
        ),
        (
            json!({"cert": "cert.pem", "key": "key.pem", "client_ca": "key.pem"}),
            "tls.client_ca",
        ),
    ] {
        server.directory.configure(json!({"tls": tls, "credit": 5}));
        server.signal("HUP");
        let line = server.logs(named);
        assert!(line.contains("ERROR"), "{line}");
        assert!(
            line.contains("the configuration was not reloaded"),
            "{line}"
        );
        let mut peer = Peer::connect(&server);
        assert_eq!(peer.certificate(), server.identity.der);
        assert_eq!(credit(&mut peer), 9);
    }
    server.directory.configure(json!({"credit": 5}));
    server.signal("HUP");
    server.logs("the configuration was reloaded");
    assert_eq!(credit(&mut Peer::connect(&server)), 5);
}

#[test]
fn a_new_authority_of_clients_applies_to_new_connections() {
    let server = Server::start();
    let other = Authority::new();
    server.directory.write("other.pem", &other.pem());
    let mut tls = files();
    tls["client_ca"] = json!("other.pem");
    server.directory.configure(json!({ "tls": tls }));
    let mut old = Peer::connect(&server);
    server.signal("HUP");
    let line = server.logs("the configuration was reloaded");
    assert!(line.contains("tls"), "{line}");
    old.pings();
    let error = Options::of(&server).refused(server.address);
    assert!(error.contains("CertificateRequired"), "{error}");
    let client = other.issue();
    let options = Options::of(&server).showing(&client);
    options.connect(server.address).unwrap().pings();
}

#[test]
fn tls_can_be_turned_on_and_off_for_new_connections() {
    let server = Server::start_with(json!({"tls": null}));
    let mut plain = server.peer();
    plain.quiet();
    server.directory.configure(json!({}));
    server.signal("HUP");
    server.logs("the configuration was reloaded");
    Peer::connect(&server).pings();
    plain.quiet();
    server
        .directory
        .configure(json!({"tls": null, "credit": 3}));
    server.signal("HUP");
    server.logs("credit,tls");
    server.peer().quiet();
}

const SOON: &str = "in less than 14 days: renew it";
const EARLY: &str = "clients refuse it until then; set the clock, or wait";

#[test]
fn certificates_that_expire_soon_or_are_not_valid_yet_are_reported_at_the_start_and_at_reloads() {
    let authority = Authority::new();
    let soon = authority.issue_between(-1, 13);
    let server = Server::start_as(authority, soon, json!({}));
    let count = |text: &str| server.log().matches(text).count();
    let line = server.logs(SOON);
    assert!(line.contains(" WARN "), "{line}");
    assert!(line.contains("file=cert.pem"), "{line}");
    assert!(
        line.contains("the certificate in tls.cert expires at 2"),
        "{line}"
    );

    // At a signal.
    server
        .directory
        .write_identity(&server.authority.issue_between(2, 90));
    server.signal("HUP");
    let line = server.logs(EARLY);
    assert!(line.contains(" WARN "), "{line}");
    assert!(
        line.contains("the certificate in tls.cert is not valid before 2"),
        "{line}"
    );
    server.logs("the configuration was reloaded");

    // One that is valid for longer is not reported.
    let before = (count(SOON), count(EARLY));
    server
        .directory
        .write_identity(&server.authority.issue_between(-1, 15));
    server.signal("HUP");
    let reloaded = "the configuration was reloaded";
    let start = Instant::now();
    while count(reloaded) < 2 {
        assert!(start.elapsed() < PATIENCE, "{}", server.log());
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!((count(SOON), count(EARLY)), before);
}

fn credit(peer: &mut Peer) -> Value {
    peer.ask(r#"{"kind":"register","route_key":"a","mode":"shared"}"#)["credit"].take()
}
