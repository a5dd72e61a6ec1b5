use hyper_delay_client::{Client, Code, ConnectError, Receipt, RequestError, Task};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::fake::{Fake, LONG, Peer, soon};

fn schedule(client: &Client, id: &str, payload: &str) -> JoinHandle<Result<Receipt, RequestError>> {
    let client = client.clone();
    let task = Task::new(payload).route("r").id(id);
    tokio::spawn(async move { client.schedule(task).await })
}

async fn answers(client: &Client, peer: &mut Peer, kind: &str) {
    let scheduling = schedule(client, "a", "");
    let line = peer.expect("schedule").await;
    peer.receipt(kind, &line).await;
    assert_eq!(soon(scheduling).await.unwrap().unwrap().id, "a");
}

#[tokio::test]
async fn the_first_line_of_every_connection_is_hello() {
    let (fake, mut peer, client) = Fake::with_client().await;
    answers(&client, &mut peer, "scheduled").await;
    drop(peer);
    let mut peer = fake.accept().await;
    answers(&client, &mut peer, "scheduled").await;
}

#[tokio::test]
async fn an_older_server_is_spoken_to_in_protocol_1() {
    let fake = Fake::bind().await;
    let connecting = tokio::spawn(Client::connect(fake.address.to_string()));
    let mut peer = fake.accept_as_old().await;
    let client = soon(connecting).await.unwrap().unwrap();
    answers(&client, &mut peer, "ack").await;
}

#[tokio::test]
async fn the_version_is_agreed_on_for_each_connection() {
    let (fake, mut peer, client) = Fake::with_client().await;
    answers(&client, &mut peer, "scheduled").await;
    drop(peer);
    let mut peer = fake.accept_as_old().await;
    answers(&client, &mut peer, "ack").await;
    drop(peer);
    let mut peer = fake.accept().await;
    answers(&client, &mut peer, "scheduled").await;
}

#[tokio::test]
async fn a_server_that_refuses_the_hello_for_another_reason_is_an_error() {
    let fake = Fake::bind().await;
    let connecting = tokio::spawn(Client::connect(fake.address.to_string()));
    let mut peer = fake.accept_only().await;
    peer.expect("hello").await;
    peer.send(r#"{"kind":"error","code":"shutting_down","message":"later"}"#)
        .await;
    match soon(connecting).await.unwrap() {
        Err(ConnectError::Refused { source, .. }) => assert_eq!(source.code, Code::ShuttingDown),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_error_with_a_line_number_fails_the_request_on_that_line() {
    let (fake, mut peer, client) = Fake::with(|builder| builder.request_timeout(LONG)).await;
    // Line 1 is the hello.
    let mut scheduling = Vec::new();
    let mut lines = Vec::new();
    for id in ["2", "3", "4"] {
        scheduling.push(schedule(&client, id, "x"));
        lines.push(peer.expect("schedule").await);
    }
    peer.send(r#"{"kind":"error","code":"line_too_long","message":"send less","line":3}"#)
        .await;
    let failed = soon(scheduling.remove(1)).await.unwrap();
    match failed {
        Err(RequestError::Refused(refusal)) => assert_eq!(refusal.code, Code::LineTooLong),
        other => panic!("{other:?}"),
    }

    // On the next connection the numbers start again.
    drop(peer);
    let mut peer = fake.accept().await;
    for (number, line) in [(2, &lines[0]), (3, &lines[2])] {
        assert_eq!(peer.expect("schedule").await["id"], line["id"], "{number}");
    }
    peer.send(r#"{"kind":"error","code":"bad_json","message":"?","line":3}"#)
        .await;
    assert!(soon(scheduling.remove(1)).await.unwrap().is_err());
    peer.acknowledge(&lines[0]).await;
    assert_eq!(soon(scheduling.remove(0)).await.unwrap().unwrap().id, "2");
}

#[tokio::test]
async fn an_error_with_the_number_of_an_answered_line_changes_nothing() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    answers(&client, &mut peer, "scheduled").await;
    for line in ["1", "2", "99", "null"] {
        peer.send(&format!(
            r#"{{"kind":"error","code":"line_too_long","message":"?","line":{line}}}"#
        ))
        .await;
    }
    let scheduling = schedule(&client, "a", "");
    let line = peer.expect("schedule").await;
    assert_eq!(line["id"], json!("a"));
    peer.acknowledge(&line).await;
    soon(scheduling).await.unwrap().unwrap();
}
