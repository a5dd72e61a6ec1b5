use std::{fs, io::Write as _, time::Duration};

use serde_json::json;
use socket2::SockRef;
use testkit::{Peer, request::later};

use crate::server::{ALL, Server, id, with_token};

/// Asserts that the server closes a connection because its rights have changed.
fn is_cut(peer: &mut Peer) {
    let error = peer.kind("error");
    assert_eq!(error["code"], "forbidden", "{error}");
    assert_eq!(error.get("tag"), None);
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("have changed, or its token was revoked"),
        "{message}"
    );
    assert!(peer.rest().is_empty());
}

#[test]
fn revoked_token_ends_its_connections_and_their_deliveries() {
    let (server, [revoked, kept]) = Server::with([ALL, ALL]);
    let mut old = server.peer_with(&revoked);
    old.register("mail");
    old.due("mail", "1");
    assert_eq!(old.delivery()["attempt"], 1);
    let mut other = server.peer_with(&kept);
    other.register("mail");
    server.directory.revoke(&revoked);
    server.reload();
    is_cut(&mut old);
    // The delivery has failed, and goes to the other consumer.
    assert_eq!(other.delivery()["attempt"], 2);
    let mut again = server.peer();
    let auth = crate::server::auth(&revoked);
    assert_eq!(again.code(&auth), "forbidden");
}

#[test]
fn file_that_changes_is_reloaded_without_a_signal() {
    let (server, [revoked, _]) = Server::with([ALL, ALL]);
    let mut old = server.peer_with(&revoked);
    server.directory.revoke(&revoked);
    let line = server.logs("the file of tokens has changed and was reloaded");
    assert!(line.contains("tokens=1"), "{line}");
    is_cut(&mut old);
}

#[test]
fn old_and_new_token_are_valid_side_by_side() {
    let (server, [old]) = Server::with([ALL]);
    let mut before = server.peer_with(&old);
    let new = server.directory.token("new", ALL);
    server.reload();
    let mut after = server.peer_with(&new);
    before.plan("mail", "1", later());
    after.plan("mail", "2", later());
    server.peer_with(&old).plan("mail", "3", later());
    before.quiet();
    server.directory.revoke(&old);
    server.reload();
    is_cut(&mut before);
    after.quiet();
}

#[test]
fn changed_rights_and_changed_hashes_end_connections() {
    let (server, [one, two]) = Server::with([ALL, ALL]);
    let mut first = server.peer_with(&one);
    let mut second = server.peer_with(&two);
    let fewer = server
        .directory
        .tokens()
        .replacen("\"admin\"", "\"schedule\"", 1);
    server.directory.write_tokens(&fewer);
    server.reload();
    is_cut(&mut first);
    second.quiet();
    let mut json: serde_json::Value = serde_json::from_str(&server.directory.tokens()).unwrap();
    assert_eq!(json["tokens"][1]["id"], id(&two));
    json["tokens"][1]["sha256"] = json!("0".repeat(64));
    server.directory.write_tokens(&json.to_string());
    server.reload();
    is_cut(&mut second);
}

#[test]
fn token_that_was_lent_for_a_registration_ends_it_when_revoked() {
    let (server, [lent, own]) = Server::with([(&["consume"], &["mail"]), ALL]);
    let mut peer = server.peer_with(&own);
    let register = with_token(r#"{"kind":"register","route_key":"mail"}"#, &lent);
    assert_eq!(peer.ask(&register)["kind"], "registered");
    server.directory.revoke(&lent);
    server.reload();
    is_cut(&mut peer);
}

#[cfg(unix)]
#[test]
fn file_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;

    let (server, [token]) = Server::configured(json!({"credit": 9}), [ALL]);
    let file = server.directory.path().join("tokens.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    server.directory.configure(json!({"credit": 5}));
    server.signal("HUP");
    let line = server.logs("the configuration was not reloaded");
    assert!(
        line.contains("its mode is 644") && line.contains("chmod 600"),
        "{line}"
    );
    let mut peer = server.peer_with(&token);
    assert_eq!(peer.register_with("a", r#""mode":"shared""#)["credit"], 9);
}

#[test]
fn tokens_can_be_turned_on_and_off() {
    let (server, [token]) = Server::configured(json!({"tokens": null}), [ALL]);
    let mut open = server.peer();
    open.plan("mail", "1", later());
    server.directory.configure(json!({}));
    server.reload();
    is_cut(&mut open);
    let mut unknown = server.peer();
    assert_eq!(unknown.code(r#"{"kind":"stats"}"#), "forbidden");
    let mut known = server.peer_with(&token);
    server.directory.configure(json!({"tokens": null}));
    server.reload();
    known.quiet();
    unknown.plan("mail", "2", later());
    server.peer().plan("mail", "3", later());
}

#[test]
fn connection_that_waits_for_room_is_ended_too() {
    // No time limit but that of the revocation may end the connection.
    let config = json!({
        "connection_write_channel": 1,
        "ack_timeout_ms": 3_600_000,
        "user_timeout_seconds": 3_600,
    });
    let (server, [revoked, kept]) = Server::logging("debug", config, [ALL, ALL]);
    let mut stuck = server.peer_with(&revoked);
    // The kernel would grow its buffers to many megabytes of replies.
    let socket = SockRef::from(stuck.stream());
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.set_send_buffer_size(4_096).unwrap();
    stuck.register("mail");
    stuck.due("mail", "1");
    assert_eq!(stuck.delivery()["attempt"], 1);
    // It reads no replies until the server reads no requests.
    let pings = format!("{}\n", r#"{"kind":"ping","tag":"a"}"#).repeat(1_000);
    let moment = Some(Duration::from_secs(1));
    stuck.stream().set_write_timeout(moment).unwrap();
    while stuck.stream().write_all(pings.as_bytes()).is_ok() {}
    let mut other = server.peer_with(&kept);
    other.register("mail");
    server.directory.revoke(&revoked);
    server.reload();
    server.logs("its rights have changed");
    assert_eq!(other.delivery()["attempt"], 2);
}
