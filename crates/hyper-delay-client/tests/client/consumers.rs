use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hyper_delay_client::{Client, ListenError, Nack, RequestError};
use serde_json::json;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;

use crate::fake::{Fake, Peer, soon};

/// Listens with a handler that fails for "fail", delays "later" by a minute, and panics for
/// "panic".
fn listen(client: &Client) -> JoinHandle<Result<(), ListenError>> {
    let listen = client.listen("r", |delivery| async move {
        assert_eq!(delivery.payload(), b"hello");
        match delivery.id() {
            "fail" => Err("it did not work".into()),
            "later" => Err(Nack::after(Duration::from_secs(60))),
            "panic" => panic!("as the test wants it"),
            _ => Ok(()),
        }
    });
    tokio::spawn(listen.into_future())
}

async fn listening() -> (Fake, Peer, Client, JoinHandle<Result<(), ListenError>>) {
    let (fake, mut peer, client) = Fake::with_client().await;
    let listening = listen(&client);
    peer.register().await;
    (fake, peer, client, listening)
}

#[tokio::test]
async fn a_handled_delivery_is_acknowledged_with_its_route_and_attempt() {
    let (_fake, mut peer, _client, _listening) = listening().await;
    peer.deliver("a", 3).await;
    let ack = peer.read().await;
    assert_eq!(
        ack,
        json!({"kind": "ack", "id": "a", "route_key": "r", "attempt": 3})
    );
}

#[tokio::test]
async fn a_failed_delivery_is_given_back_with_the_servers_backoff() {
    let (_fake, mut peer, _client, _listening) = listening().await;
    peer.deliver("fail", 1).await;
    let nack = peer.read().await;
    assert_eq!(
        nack,
        json!({
            "kind": "nack", "id": "fail", "route_key": "r", "attempt": 1,
            "reason": "it did not work",
        })
    );
}

#[tokio::test]
async fn a_handler_extends_its_time_until_the_delivery_is_answered() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let (sender, mut results) = tokio::sync::mpsc::unbounded_channel();
    let listen = client.listen("r", move |delivery| {
        let sender = sender.clone();
        async move {
            sender.send(delivery.touch().await.unwrap()).unwrap();
            let longer = delivery.touch_for(Duration::from_micros(1_500)).await;
            sender.send(longer.unwrap()).unwrap();
            Ok::<_, Nack>(())
        }
    });
    let _listening = tokio::spawn(listen.into_future());
    peer.register().await;
    peer.deliver("a", 3).await;
    let mut touch = peer.expect("touch").await;
    let tag = touch.as_object_mut().unwrap().remove("tag").unwrap();
    assert_eq!(
        touch,
        json!({"kind": "touch", "id": "a", "route_key": "r", "attempt": 3})
    );
    let reply = json!({"kind": "touched", "id": "a", "found": true, "deadline": 7_000, "tag": tag});
    peer.send(&reply.to_string()).await;
    let until = SystemTime::UNIX_EPOCH + Duration::from_secs(7);
    assert_eq!(soon(results.recv()).await.unwrap(), Some(until));
    let touch = peer.expect("touch").await;
    assert_eq!(touch["extend_ms"], 2);
    let reply = json!({"kind": "touched", "id": "a", "found": false, "tag": touch["tag"]});
    peer.send(&reply.to_string()).await;
    assert_eq!(soon(results.recv()).await.unwrap(), None);
    peer.expect("ack").await;
}

#[tokio::test]
async fn a_touch_fails_when_the_client_is_gone() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let registered = async {
        peer.register().await;
        peer.deliver("a", 1).await;
    };
    let (deliveries, ()) = tokio::join!(client.deliveries("r").into_future(), registered);
    let mut deliveries = deliveries.unwrap();
    let unanswered = soon(deliveries.next()).await.unwrap();
    let delivery = hyper_delay_client::Delivery::clone(&unanswered);
    unanswered.ack();
    drop((deliveries, client));
    let error = soon(delivery.touch()).await.unwrap_err();
    assert!(matches!(error, RequestError::Closed), "{error:?}");
}

#[tokio::test]
async fn a_failed_delivery_is_given_back_with_its_delay() {
    let (_fake, mut peer, _client, _listening) = listening().await;
    peer.deliver("later", 2).await;
    let nack = peer.expect("nack").await;
    assert_eq!(
        (&nack["attempt"], &nack["delay_ms"]),
        (&json!(2), &json!(60_000))
    );
}

#[tokio::test]
async fn a_delivery_is_given_back_after_a_panic_and_others_continue() {
    let (_fake, mut peer, _client, listening) = listening().await;
    peer.deliver("panic", 1).await;
    let nack = peer.expect("nack").await;
    assert_eq!(nack["id"], "panic");
    assert_eq!(nack["reason"], "the handler panicked");
    peer.deliver("a", 1).await;
    assert_eq!(peer.expect("ack").await["id"], "a");
    assert!(!listening.is_finished());
}

#[tokio::test]
async fn at_most_credit_deliveries_are_handled_at_a_time() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let (started, go) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
    let listen = {
        let (started, go) = (Arc::clone(&started), Arc::clone(&go));
        client.listen("r", move |_| {
            let (started, go) = (Arc::clone(&started), Arc::clone(&go));
            async move {
                started.add_permits(1);
                go.notified().await;
                Ok::<_, Nack>(())
            }
        })
    };
    tokio::spawn(listen.credit(2).into_future());
    assert_eq!(peer.register().await["credit"], 2);
    peer.deliver("a", 1).await;
    peer.deliver("b", 1).await;
    soon(started.acquire_many(2)).await.unwrap().forget();
    // After the ack timeout of the first two, the server may send more: those wait. A delivery on a
    // route without a listener is given back, which proves that the client has read so far.
    peer.deliver("c", 1).await;
    peer.send(r#"{"kind":"delivery","id":"x","route_key":"x","fire_at":1,"attempt":1}"#)
        .await;
    assert_eq!(peer.expect("nack").await["id"], "x");
    assert_eq!(started.available_permits(), 0);
    go.notify_one();
    peer.expect("ack").await;
    soon(started.acquire()).await.unwrap().forget();
    go.notify_waiters();
    peer.expect("ack").await;
    peer.expect("ack").await;
}

#[tokio::test]
async fn deliveries_beyond_the_credit_are_given_back() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let subscribing = tokio::spawn(client.deliveries("r").credit(1).into_future());
    peer.register().await;
    let mut deliveries = soon(subscribing).await.unwrap().unwrap();
    peer.deliver("a", 1).await;
    peer.deliver("b", 1).await;
    let nack = peer.expect("nack").await;
    assert_eq!((&nack["id"], &nack["failed"]), (&json!("b"), &json!(false)));
    assert_eq!(soon(deliveries.next()).await.unwrap().id(), "a");
}

#[tokio::test]
async fn an_ack_can_be_confirmed() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let listen = client
        .listen("r", |_| async { Ok::<_, Nack>(()) })
        .confirm()
        .credit(1);
    tokio::spawn(listen.into_future());
    peer.register().await;
    peer.deliver("a", 1).await;
    let ack = peer.expect("ack").await;
    assert_eq!((&ack["id"], &ack["confirm"]), (&json!("a"), &json!(true)));
    // Until then the delivery is in progress, and the next one waits.
    peer.deliver("b", 1).await;
    let tag = &ack["tag"];
    peer.send(&format!(
        r#"{{"kind":"acked","tag":{tag},"id":"a","route_key":"r","removed":true}}"#
    ))
    .await;
    assert_eq!(peer.expect("ack").await["id"], "b");
}

#[tokio::test]
async fn a_route_taken_by_another_consumer_ends_the_listener() {
    let (fake, mut peer, client, listening) = listening().await;
    peer.send(r#"{"kind":"unregistered","route_key":"r","reason":"replaced"}"#)
        .await;
    let ended = soon(listening).await.unwrap();
    assert!(
        matches!(ended, Err(ListenError::Replaced { .. })),
        "{ended:?}"
    );

    drop(peer);
    let mut peer = fake.accept().await;
    tokio::spawn(async move { client.ping().await });
    peer.expect("ping").await;
}

#[tokio::test]
async fn a_refused_registration_ends_the_listener() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let listening = listen(&client);
    let tag = peer.expect("register").await["tag"].clone();
    peer.send(&format!(
        r#"{{"kind":"error","tag":{tag},"code":"bad_field","message":"no"}}"#
    ))
    .await;
    let ended = soon(listening).await.unwrap();
    assert!(
        matches!(ended, Err(ListenError::Register { .. })),
        "{ended:?}"
    );
}

#[tokio::test]
async fn a_client_listens_to_a_route_once() {
    let (_fake, _peer, client, _listening) = listening().await;
    let again = soon(client.deliveries("r").into_future()).await;
    assert!(
        matches!(again, Err(ListenError::AlreadyListening { .. })),
        "{again:?}"
    );
}

#[tokio::test]
async fn a_dropped_listener_gives_its_deliveries_back() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let started = Arc::new(Notify::new());
    let listen = {
        let started = Arc::clone(&started);
        client.listen("r", move |_| {
            started.notify_one();
            std::future::pending::<Result<(), Nack>>()
        })
    };
    let listening = tokio::spawn(listen.into_future());
    peer.register().await;
    peer.deliver("a", 1).await;
    soon(started.notified()).await;
    listening.abort();
    let (one, two) = (peer.read().await, peer.read().await);
    let mut kinds = [one["kind"].as_str().unwrap(), two["kind"].as_str().unwrap()];
    kinds.sort_unstable();
    assert_eq!(kinds, ["nack", "unregister"]);
    let nack = [one, two].into_iter().find(|line| line["kind"] == "nack");
    assert_eq!(nack.unwrap()["failed"], false, "an abort is no failure");
}

#[tokio::test]
async fn a_route_that_looks_like_a_prefix_is_not_registered() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    for route in ["mail*", "*"] {
        let error = client.deliveries(route).await.unwrap_err();
        assert!(
            matches!(&error, ListenError::Wildcard { route: of, .. } if of == route),
            "{error}"
        );
        assert!(error.to_string().contains("only in tokens"), "{error}");
    }
    let subscribing = tokio::spawn(client.deliveries("m*il").into_future());
    // The first line after the hello: nothing was sent before.
    let line = peer.read().await;
    assert_eq!(
        (&line["kind"], &line["route_key"]),
        (&json!("register"), &json!("m*il"))
    );
    subscribing.abort();
}
