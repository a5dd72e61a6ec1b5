use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{
    http,
    request::{echo_with, later, schedule},
};

use crate::server::{ALL, Server, auth, authenticate, id, with_token};

#[test]
fn token_is_shown_in_the_first_line() {
    let (server, [token]) = Server::with([ALL]);
    let mut peer = server.peer();
    peer.exact(
        &auth(&token),
        r#"{"kind":"authenticated","name":"token 1"}"#,
    );
    peer.due("mail", "1");
    peer.register("mail");
    let delivery = peer.delivery();
    assert!(peer.removes(&delivery));
}

#[test]
fn nothing_but_hello_and_ping_is_answered_without_a_token() {
    let (server, [_]) = Server::with([ALL]);
    let mut peer = server.peer();
    peer.quiet();
    assert_eq!(
        peer.ask(r#"{"kind":"hello","protocol":2}"#)["kind"],
        "hello"
    );
    for request in [
        schedule("mail", "1", 1),
        r#"{"kind":"schedule","fire_at":1}"#.to_owned(),
        r#"{"kind":"register","route_key":"mail"}"#.to_owned(),
        r#"{"kind":"unregister","route_key":"mail"}"#.to_owned(),
        r#"{"kind":"ack","id":"1"}"#.to_owned(),
        r#"{"kind":"nack","id":"1"}"#.to_owned(),
        r#"{"kind":"cancel","route_key":"mail","id":"1"}"#.to_owned(),
        r#"{"kind":"stats"}"#.to_owned(),
        r#"{"kind":"dead","route_key":"mail"}"#.to_owned(),
        r#"{"kind":"kick","route_key":"mail","id":"1"}"#.to_owned(),
        r#"{"kind":"backup"}"#.to_owned(),
    ] {
        let error = peer.ask(&request);
        assert_eq!(error["code"], "forbidden", "{error} to {request}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("needs a token: send"), "{message}");
    }
}

#[test]
fn wrong_tokens_are_slowed_down_counted_and_logged_without_their_secret() {
    let http = json!({"http_addr": "127.0.0.1:0"});
    let (server, [token]) = Server::configured(http, [ALL]);
    let mut peer = server.peer();
    let last = token.len() - 1;
    let wrong = format!("{}{}", &token[..last - 1], "AA");
    assert_ne!(wrong, token);
    for (wrong, least) in [(wrong.as_str(), 100), ("guess", 200), (&token[1..], 400)] {
        let start = Instant::now();
        let error = peer.ask(&auth(wrong));
        assert_eq!(error["code"], "forbidden", "{error}");
        assert!(start.elapsed() >= Duration::from_millis(least), "{wrong}");
    }
    let metrics = http::get(server.http(), "/metrics").body;
    assert!(
        metrics.contains("hyper_delay_wrong_tokens_total 3\n"),
        "{metrics}"
    );
    let refused = r#"hyper_delay_refusals_total{reason="forbidden"} 3"#;
    assert!(metrics.contains(refused), "{metrics}");
    let line = server.logs("refused: a token is wrong or was revoked");
    assert!(
        line.contains("127.0.0.1: token ") && line.contains(id(&token)),
        "{line}"
    );
    authenticate(&mut peer, &token);
    // A right token ends the waits: the next one is the first again.
    let error = peer.ask(&auth("guess"));
    assert_eq!(error["code"], "forbidden", "{error}");
    let log = server.log();
    for secret in [&token[16..], &wrong[16..]] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn wrong_token_leaves_the_one_before_in_force() {
    let (server, [token]) = Server::with([ALL]);
    let mut peer = server.peer_with(&token);
    assert_eq!(peer.code(&auth("guess")), "forbidden");
    peer.due("mail", "1");
}

#[test]
fn server_without_tokens_accepts_every_token() {
    let (server, [token]) = Server::configured(json!({"tokens": null}), [ALL]);
    let mut peer = server.peer();
    peer.exact(&auth(&token), r#"{"kind":"authenticated"}"#);
    peer.exact(&auth("guess"), r#"{"kind":"authenticated"}"#);
    peer.due("mail", "1");
    let line = with_token(&schedule("mail", "2", later()), "guess");
    assert_eq!(peer.ask(&line)["kind"], "ack");
}

#[test]
fn token_of_a_schedule_counts_for_that_line() {
    let (server, [token]) = Server::with([ALL]);
    let mut peer = server.peer();
    let line = with_token(&schedule("mail", "1", later()), &token);
    assert_eq!(peer.ask(&line)["kind"], "ack");
    assert_eq!(peer.code(&schedule("mail", "2", later())), "forbidden");
    let wrong = with_token(&schedule("mail", "3", later()), "guess");
    assert_eq!(peer.code(&wrong), "forbidden");
}

#[test]
fn token_of_a_register_lasts_as_long_as_the_registration() {
    let (server, [consume, schedules]) =
        Server::with([(&["consume"], &["mail"]), (&["schedule"], &["*"])]);
    let mut peer = server.peer();
    let register = r#"{"kind":"register","route_key":"mail"}"#;
    let wrong = with_token(register, &schedules);
    assert_eq!(peer.code(&wrong), "forbidden");
    let reply = peer.ask(&with_token(register, &consume));
    assert_eq!(reply["kind"], "registered", "{reply}");
    assert_eq!(peer.code(&register.replace("mail", "pay")), "forbidden");
    server.peer_with(&schedules).due("mail", "1");
    let delivery = peer.delivery();
    let acked = peer.ask(&echo_with("ack", &delivery, r#""confirm":true"#));
    assert_eq!(acked["removed"], true, "{acked}");
    let reply = peer.ask(r#"{"kind":"unregister","route_key":"mail"}"#);
    assert_eq!(reply["kind"], "unregistered", "{reply}");
}

#[test]
fn token_that_is_no_text_is_a_bad_field_that_is_not_shown() {
    let (server, [_]) = Server::with([ALL]);
    let error = server.peer().ask(r#"{"kind":"auth","token":4711}"#);
    assert_eq!(error["code"], "bad_field");
    assert!(!error.to_string().contains("4711"), "{error}");
    assert_eq!(server.peer().code(r#"{"kind":"auth"}"#), "missing_field");
}
