use std::time::Duration;

use hyper_delay_client::{Client, Code, ConnectError, Task, Token};
use serde_json::json;

use crate::fake::{Fake, LONG, Peer, soon};

const TOKEN: &str = "hd_0123456789ab_secret";

/// Answers `auth` and `hello`.
async fn accept(fake: &Fake) -> Peer {
    let mut peer = fake.accept_only().await;
    let auth = peer.read().await;
    assert_eq!(
        auth,
        json!({"kind": "auth", "token": TOKEN}),
        "the first line"
    );
    peer.expect("hello").await;
    peer.send(r#"{"kind":"authenticated","name":"test"}"#).await;
    peer.send(r#"{"kind":"hello","protocol":2}"#).await;
    peer
}

async fn refuse(fake: &Fake) {
    let mut peer = fake.accept_only().await;
    peer.expect("auth").await;
    peer.send(r#"{"kind":"error","code":"forbidden","message":"the token is wrong"}"#)
        .await;
}

async fn connected(fake: &Fake) -> (Peer, Client) {
    let builder = Client::builder(fake.address.to_string())
        .reconnect(Duration::from_millis(1), Duration::from_millis(10))
        .request_timeout(LONG)
        .token(Token::new(TOKEN));
    let (peer, client) = tokio::join!(accept(fake), builder.connect());
    (peer, client.unwrap())
}

#[tokio::test]
async fn token_is_shown_first_on_each_connection() {
    let fake = Fake::bind().await;
    let (peer, client) = connected(&fake).await;
    drop(peer);
    let scheduling = tokio::spawn(async move { client.schedule(Task::new("x").route("r")).await });
    let mut peer = accept(&fake).await;
    let schedule = peer.expect("schedule").await;
    assert_eq!(schedule.get("token"), None);
    peer.acknowledge(&schedule).await;
    soon(scheduling).await.unwrap().unwrap();
}

#[tokio::test]
async fn wrong_token_is_an_error_of_its_own() {
    let fake = Fake::bind().await;
    let builder = Client::builder(fake.address.to_string()).token(Token::new(TOKEN));
    let ((), client) = tokio::join!(refuse(&fake), builder.connect());
    let error = client.unwrap_err();
    assert!(
        matches!(&error, ConnectError::Forbidden { source, .. } if source.code == Code::Forbidden)
    );
    assert!(!format!("{error:?} {error}").contains(TOKEN), "{error:?}");
}

#[tokio::test]
async fn requests_fail_when_the_token_is_refused_later() {
    let fake = Fake::bind().await;
    let (peer, client) = connected(&fake).await;
    let scheduling = tokio::spawn(async move { client.schedule(Task::new("x").route("r")).await });
    drop(peer);
    refuse(&fake).await;
    let error = soon(scheduling).await.unwrap().unwrap_err();
    assert!(error.is_forbidden(), "{error}");
}

#[tokio::test]
async fn errors_of_lines_count_the_line_with_the_token() {
    let fake = Fake::bind().await;
    let (mut peer, client) = connected(&fake).await;
    let scheduling = tokio::spawn(async move { client.schedule(Task::new("x").route("r")).await });
    peer.expect("schedule").await;
    peer.send(r#"{"kind":"error","code":"line_too_long","message":"m","line":3}"#)
        .await;
    assert!(soon(scheduling).await.unwrap().is_err());
}

#[tokio::test]
async fn server_without_tokens_is_served() {
    let fake = Fake::bind().await;
    let builder = Client::builder(fake.address.to_string()).token(Token::new(TOKEN));
    let serve = async {
        let mut peer = fake.accept_only().await;
        peer.expect("auth").await;
        peer.send(r#"{"kind":"error","code":"unknown_kind","message":"kind is \"auth\""}"#)
            .await;
        peer.expect("hello").await;
        peer.send(r#"{"kind":"hello","protocol":2}"#).await;
        peer
    };
    let (_peer, client) = tokio::join!(serve, builder.connect());
    client.unwrap();
}

#[tokio::test]
async fn missing_file_is_an_error_that_names_it() {
    let fake = Fake::bind().await;
    let token = Token::file("/nonexistent/token");
    let error = Client::builder(fake.address.to_string()).token(token);
    let error = error.connect().await.unwrap_err();
    assert!(matches!(&error, ConnectError::Token { .. }), "{error}");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("/nonexistent/token"), "{source}");
}
