use std::time::Duration;

use hyper_delay_client::{Client, Deliveries, End, ListenError, Nack, RequestError};
use serde_json::json;

use crate::fake::{Fake, Peer, soon};

async fn subscribed() -> (Fake, Peer, Client, Deliveries) {
    let (fake, mut peer, client) = Fake::with_client().await;
    let subscribing = tokio::spawn(client.deliveries("r").into_future());
    peer.register().await;
    let deliveries = soon(subscribing).await.unwrap().unwrap();
    (fake, peer, client, deliveries)
}

#[tokio::test]
async fn a_delivery_has_the_fields_that_the_server_sent() {
    let (_fake, mut peer, _client, mut deliveries) = subscribed().await;
    peer.send(
        r#"{"kind":"delivery","id":"a","route_key":"r","fire_at":5,"payload_base64":"/wA","compression":"brotli","attempt":7,"hue":"red"}"#,
    )
    .await;
    let delivery = soon(deliveries.next()).await.unwrap();
    assert_eq!(
        (delivery.id(), delivery.route(), delivery.attempt()),
        ("a", "r", 7)
    );
    assert_eq!(
        (delivery.payload(), delivery.fire_at_millis()),
        (&[0xff, 0][..], 5)
    );
    assert_eq!(delivery.compression().as_str(), "brotli");
    assert!(!delivery.lateness().is_zero());
    assert_eq!(delivery.due_millis(), 5);
    delivery.ack();
    peer.expect("ack").await;
}

#[tokio::test]
async fn lateness_counts_from_the_time_when_the_round_was_due() {
    let (_fake, mut peer, _client, mut deliveries) = subscribed().await;
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let due = u64::try_from(now.as_millis()).unwrap() - 5_000;
    for (due, is_late) in [
        (format!(r#","due":{due}"#), true),
        (r#","due":null"#.to_owned(), false),
    ] {
        peer.send(&format!(
            r#"{{"kind":"delivery","id":"a","route_key":"r","fire_at":0{due},"payload_base64":"","compression":"none","attempt":1}}"#
        ))
        .await;
        let delivery = soon(deliveries.next()).await.unwrap();
        let late = delivery.lateness();
        assert_eq!(late.as_secs() >= 5, is_late, "{late:?}");
        assert!(late.as_secs() < 3_600, "{late:?}");
        assert_eq!(delivery.due_millis() > 0, is_late);
        delivery.ack();
        peer.expect("ack").await;
    }
}

#[tokio::test]
async fn a_dropped_delivery_is_given_back() {
    let (_fake, mut peer, _client, mut deliveries) = subscribed().await;
    peer.deliver("a", 2).await;
    drop(soon(deliveries.next()).await.unwrap());
    let nack = peer.read().await;
    assert_eq!(
        nack,
        json!({"kind": "nack", "id": "a", "route_key": "r", "attempt": 2})
    );
}

#[tokio::test]
async fn a_delivery_is_given_back_unharmed_if_its_consumer_says_so() {
    let (_fake, mut peer, _client, mut deliveries) = subscribed().await;
    let delay = Duration::from_millis(7);
    for number in 0..3 {
        peer.deliver("a", 2).await;
        let delivery = soon(deliveries.next()).await.unwrap();
        match number {
            0 => drop(delivery.unharmed_if_dropped()),
            1 => delivery.nack(Nack::backoff().unharmed()),
            _ => delivery.nack(Nack::after(delay).unharmed().because("no worker")),
        }
        let mut nack = json!({
            "kind": "nack", "id": "a", "route_key": "r", "attempt": 2, "failed": false,
        });
        if number == 2 {
            nack["delay_ms"] = json!(7);
            nack["reason"] = json!("no worker");
        }
        assert_eq!(peer.read().await, nack);
    }
    // A failure stays one.
    peer.deliver("a", 2).await;
    let delivery = soon(deliveries.next()).await.unwrap().unharmed_if_dropped();
    delivery.nack(Nack::backoff());
    assert_eq!(peer.read().await["failed"], json!(null));
}

#[tokio::test]
async fn deliveries_that_were_not_taken_are_given_back_when_the_stream_is_dropped() {
    let (_fake, mut peer, client, deliveries) = subscribed().await;
    peer.deliver("a", 1).await;
    // The reply is sent after the delivery.
    let ping = async {
        let tag = peer.expect("ping").await["tag"].clone();
        peer.send(&format!(r#"{{"kind":"pong","tag":{tag}}}"#))
            .await;
    };
    tokio::join!(async { soon(client.ping()).await.unwrap() }, ping);
    drop(deliveries);
    peer.expect("unregister").await;
    let nack = peer.expect("nack").await;
    assert_eq!(nack["id"], "a");
    assert_eq!(
        (&nack["failed"], &nack["delay_ms"]),
        (&json!(false), &json!(0))
    );
}

#[tokio::test]
async fn a_confirmed_ack_tells_whether_it_removed_the_task() {
    let (_fake, mut peer, _client, mut deliveries) = subscribed().await;
    for removed in [true, false] {
        peer.deliver("a", 1).await;
        let delivery = soon(deliveries.next()).await.unwrap();
        let confirm = async {
            let tag = peer.expect("ack").await["tag"].clone();
            peer.send(&format!(
                r#"{{"kind":"acked","tag":{tag},"removed":{removed}}}"#
            ))
            .await;
        };
        let (confirmed, ()) = tokio::join!(delivery.ack_confirmed(), confirm);
        assert_eq!(confirmed.unwrap(), removed);
    }
}

#[tokio::test]
async fn an_answer_to_a_delivery_of_a_lost_connection_is_not_sent() {
    let (fake, mut peer, client, mut deliveries) = subscribed().await;
    for id in ["a", "b", "c"] {
        peer.deliver(id, 1).await;
    }
    let mut lost = Vec::new();
    for _ in 0..3 {
        lost.push(soon(deliveries.next()).await.unwrap());
    }
    drop(peer);
    let mut peer = fake.accept().await;
    peer.register().await;
    lost.pop().unwrap().ack();
    lost.pop().unwrap().nack(Nack::backoff());
    let failed = soon(lost.pop().unwrap().ack_confirmed()).await;
    assert!(
        matches!(failed, Err(RequestError::Disconnected)),
        "{failed:?}"
    );
    tokio::spawn(async move { client.ping().await });
    peer.expect("ping").await;
}

#[tokio::test]
async fn waiting_deliveries_of_a_lost_connection_are_discarded() {
    let (fake, mut peer, client, mut deliveries) = subscribed().await;
    peer.deliver("a", 1).await;
    // The reply is sent after the delivery.
    let ping = async {
        let tag = peer.expect("ping").await["tag"].clone();
        peer.send(&format!(r#"{{"kind":"pong","tag":{tag}}}"#))
            .await;
    };
    tokio::join!(async { soon(client.ping()).await.unwrap() }, ping);
    drop(peer);
    let mut peer = fake.accept().await;
    peer.register().await;
    peer.deliver("a", 2).await;
    assert_eq!(soon(deliveries.next()).await.unwrap().attempt(), 2);
}

#[tokio::test]
async fn deliveries_before_the_route_was_taken_can_still_be_answered() {
    let (_fake, mut peer, _client, mut deliveries) = subscribed().await;
    peer.deliver("a", 1).await;
    peer.send(r#"{"kind":"unregistered","route_key":"r","reason":"replaced"}"#)
        .await;
    let delivery = soon(deliveries.next()).await.unwrap();
    assert!(soon(deliveries.next()).await.is_none());
    assert_eq!(deliveries.end(), Some(&End::Replaced));
    delivery.ack();
    peer.expect("ack").await;
}

#[tokio::test]
async fn a_registration_that_is_refused_after_a_reconnect_is_an_error() {
    let (fake, peer, _client, mut deliveries) = subscribed().await;
    assert!(deliveries.outcome().is_ok());
    drop(peer);
    let mut peer = fake.accept().await;
    let tag = peer.expect("register").await["tag"].clone();
    peer.send(&format!(
        r#"{{"kind":"error","tag":{tag},"code":"forbidden","message":"no"}}"#
    ))
    .await;
    assert!(soon(deliveries.next()).await.is_none());
    assert!(matches!(deliveries.end(), Some(End::Refused(_))));
    let outcome = deliveries.outcome();
    let error = outcome.expect_err("the server has refused the route");
    assert!(
        matches!(&error, ListenError::Register { route, .. } if route == "r"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_route_can_be_registered_again_at_once() {
    let (_fake, mut peer, client, deliveries) = subscribed().await;
    drop(deliveries);
    let again = tokio::spawn(client.deliveries("r").exclusive().into_future());
    peer.expect("unregister").await;
    peer.send(r#"{"kind":"unregistered","route_key":"r","reason":"asked"}"#)
        .await;
    assert_eq!(peer.register().await["mode"], "exclusive");
    let mut deliveries = soon(again).await.unwrap().unwrap();
    peer.deliver("a", 1).await;
    soon(deliveries.next()).await.unwrap().ack();
    peer.expect("ack").await;
}
