use std::sync::Arc;
use std::time::Duration;

use hyper_delay_client::{Client, CloseError, End, Nack, RequestError, Task};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::fake::{Fake, soon};

fn close(client: &Client) -> JoinHandle<Result<(), CloseError>> {
    let client = client.clone();
    tokio::spawn(async move { client.close().await })
}

#[tokio::test]
async fn close_waits_for_pending_requests() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let subscribing = tokio::spawn(client.deliveries("r").into_future());
    peer.register().await;
    let mut deliveries = soon(subscribing).await.unwrap().unwrap();
    let scheduling = tokio::spawn({
        let client = client.clone();
        async move { client.schedule(Task::new("").route("r")).await }
    });
    let line = peer.expect("schedule").await;

    let closing = close(&client);
    peer.expect("unregister").await;
    assert!(!closing.is_finished());
    let refused = soon(client.ping()).await;
    assert!(matches!(refused, Err(RequestError::Closed)), "{refused:?}");
    assert!(soon(deliveries.next()).await.is_none());
    assert_eq!(deliveries.end(), Some(&End::Closed));

    peer.acknowledge(&line).await;
    soon(scheduling).await.unwrap().unwrap();
    peer.expect_end().await;
    drop(peer);
    soon(closing).await.unwrap().unwrap();
    // A second close changes nothing.
    soon(client.close()).await.unwrap();
    let refused = soon(client.schedule(Task::new("").route("r"))).await;
    assert!(matches!(refused, Err(RequestError::Closed)), "{refused:?}");
}

#[tokio::test]
async fn close_waits_for_handlers_and_writes_their_acks() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let listen = {
        let (started, go) = (Arc::clone(&started), Arc::clone(&go));
        client.listen("r", move |_| {
            let (started, go) = (Arc::clone(&started), Arc::clone(&go));
            async move {
                started.notify_one();
                go.notified().await;
                Ok::<_, Nack>(())
            }
        })
    };
    let listening = tokio::spawn(listen.into_future());
    peer.register().await;
    peer.deliver("a", 1).await;
    soon(started.notified()).await;

    let closing = close(&client);
    peer.expect("unregister").await;
    assert!(!closing.is_finished() && !listening.is_finished());
    go.notify_one();
    assert_eq!(peer.expect("ack").await["id"], "a");
    soon(listening).await.unwrap().unwrap();
    peer.expect_end().await;
    drop(peer);
    soon(closing).await.unwrap().unwrap();
}

#[tokio::test]
async fn close_times_out_and_names_what_was_open() {
    let limit = Duration::from_millis(1);
    let (_fake, mut peer, client) = Fake::with(|builder| builder.close_timeout(limit)).await;
    let scheduling = tokio::spawn({
        let client = client.clone();
        async move { client.schedule(Task::new("").route("r")).await }
    });
    peer.expect("schedule").await;
    let closing = close(&client);
    peer.expect_end().await;
    drop(peer);
    let CloseError::TimedOut {
        requests,
        deliveries,
        ..
    } = soon(closing).await.unwrap().unwrap_err()
    else {
        panic!("there is no other error")
    };
    assert_eq!((requests, deliveries), (1, 0));
    let failed = soon(scheduling).await.unwrap();
    assert!(matches!(failed, Err(RequestError::Closed)), "{failed:?}");
}

#[tokio::test]
async fn close_without_a_connection_returns_at_once() {
    let (fake, peer, client) = Fake::with_client().await;
    drop((fake, peer));
    soon(client.close()).await.unwrap();
}

#[tokio::test]
async fn a_client_whose_last_clone_is_dropped_writes_its_acks_and_ends() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let subscribing = tokio::spawn(client.deliveries("r").into_future());
    peer.register().await;
    let mut deliveries = soon(subscribing).await.unwrap().unwrap();
    peer.deliver("a", 1).await;
    let delivery = soon(deliveries.next()).await.unwrap();
    drop((client, deliveries));
    delivery.ack();
    peer.expect("unregister").await;
    assert_eq!(peer.expect("ack").await["id"], "a");
    peer.expect_end().await;
}
