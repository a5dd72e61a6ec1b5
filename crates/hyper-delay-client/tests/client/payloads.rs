//! Compressed payloads.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper_delay_client::{Client, Unanswered};
use serde_json::{Value, json};

use crate::fake::{Fake, Peer, soon};

/// What this build leaves to the server.
fn accepted() -> Value {
    match (cfg!(feature = "lz4"), cfg!(feature = "zstd")) {
        (false, false) => json!(["none"]),
        (true, false) => json!(["none", "lz4"]),
        (false, true) => json!(["none", "zstd"]),
        // All: the default of the server.
        (true, true) => Value::Null,
    }
}

async fn deliver(peer: &mut Peer, id: &str, compression: &str, payload: &[u8]) {
    let payload = STANDARD.encode(payload);
    let line = format!(
        r#"{{"kind":"delivery","id":"{id}","route_key":"r","fire_at":1,"payload_base64":"{payload}","compression":"{compression}","attempt":1}}"#
    );
    peer.send(&line).await;
}

/// The next delivery of a new registration, with what was delivered before it.
async fn next(client: &Client, peer: &mut Peer, id: &str, of: (&str, &[u8])) -> Unanswered {
    let client = client.clone();
    let first = tokio::spawn(async move {
        let mut deliveries = client.deliveries("r").await.unwrap();
        deliveries.next().await.unwrap()
    });
    peer.register().await;
    deliver(peer, id, of.0, of.1).await;
    soon(first).await.unwrap()
}

#[tokio::test]
async fn a_registration_accepts_what_the_client_decompresses() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let deliveries = tokio::spawn(client.deliveries("r").into_future());
    let line = peer.register().await;
    assert_eq!(line["accept"], accepted());
    drop(soon(deliveries).await.unwrap().unwrap());
}

#[tokio::test]
async fn a_client_that_keeps_payloads_compressed_accepts_all_and_delivers_them() {
    let (_fake, mut peer, client) = Fake::with(|builder| builder.keep_compressed()).await;
    let task = client.clone();
    let deliveries = tokio::spawn(async move { task.deliveries("r").await });
    let line = peer.register().await;
    assert_eq!(line.get("accept"), None);
    let mut deliveries = soon(deliveries).await.unwrap().unwrap();
    deliver(&mut peer, "a", "zstd", b"hello").await;
    let delivery = soon(deliveries.next()).await.unwrap();
    assert_eq!(
        (delivery.payload(), delivery.compression().as_str()),
        (&b"hello"[..], "zstd")
    );
}

#[tokio::test]
async fn a_compression_that_the_client_does_not_know_is_delivered_as_it_is() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let delivery = next(&client, &mut peer, "a", ("brotli", b"hello")).await;
    assert_eq!(
        (delivery.payload(), delivery.compression().as_str()),
        (&b"hello"[..], "brotli")
    );
}

#[cfg(any(feature = "lz4", feature = "zstd"))]
mod compressed {
    use hyper_delay_client::{Codec, Task};

    use super::*;

    const CODECS: &[Codec] = &[
        #[cfg(feature = "lz4")]
        Codec::Lz4,
        #[cfg(feature = "zstd")]
        Codec::Zstd,
    ];

    /// The label of a codec.
    fn label(codec: Codec) -> &'static str {
        match codec {
            #[cfg(feature = "lz4")]
            Codec::Lz4 => "lz4",
            #[cfg(feature = "zstd")]
            Codec::Zstd => "zstd",
            _ => panic!("{codec:?} has no test"),
        }
    }

    fn schedule(client: &Client, task: Task) {
        let client = client.clone();
        tokio::spawn(async move { client.schedule(task.route("r")).await });
    }

    #[tokio::test]
    async fn a_scheduled_payload_is_compressed_and_its_delivery_decompressed() {
        for codec in CODECS {
            let (_fake, mut peer, client) = Fake::with(|builder| builder.compress(*codec)).await;
            let content = b"hello ".repeat(100);
            schedule(&client, Task::new(content.clone()));
            let line = peer.expect("schedule").await;
            assert_eq!(line["compression"], label(*codec));
            let sent = STANDARD.decode(line["payload_base64"].as_str().unwrap());
            let sent = sent.unwrap();
            assert!(sent.len() < content.len() / 2, "{}", sent.len());
            let delivery = next(&client, &mut peer, "a", (label(*codec), &sent)).await;
            assert_eq!(
                (delivery.payload(), delivery.compression().as_str()),
                (&content[..], "none")
            );
            assert_eq!(delivery.id(), "a");
            delivery.ack();
            assert_eq!(peer.expect("unregister").await["route_key"], "r");
            assert_eq!(peer.expect("ack").await["id"], "a");
        }
    }

    #[tokio::test]
    async fn small_and_random_payloads_and_those_that_are_compressed_are_sent_as_they_are() {
        for codec in CODECS {
            let (_fake, mut peer, client) = Fake::with(|builder| builder.compress(*codec)).await;
            let mut state = 1_u64;
            let random: Vec<u8> = std::iter::repeat_with(|| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                state.to_be_bytes()[0]
            })
            .take(300)
            .collect();
            for (task, compression) in [
                (Task::new(vec![7; 255]), "none"),
                (Task::new(random), "none"),
                (
                    Task::new(vec![7; 300]).compression(hyper_delay_client::Compression::Zstd),
                    "zstd",
                ),
            ] {
                schedule(&client, task);
                let line = peer.expect("schedule").await;
                assert_eq!(line["compression"], compression, "{codec:?}");
                let sent = line["payload_base64"].as_str().unwrap().len();
                assert!(sent >= 255 / 3 * 4, "{sent}");
            }
        }
    }

    #[tokio::test]
    async fn a_payload_that_does_not_decompress_is_given_back() {
        for codec in CODECS {
            let (_fake, mut peer, client) =
                Fake::with(|builder| builder.max_payload_bytes(1_000)).await;
            let task = client.clone();
            let deliveries = tokio::spawn(async move { task.deliveries("r").await });
            peer.register().await;
            let mut deliveries = soon(deliveries).await.unwrap().unwrap();
            let next = tokio::spawn(async move { deliveries.next().await.unwrap() });
            deliver(&mut peer, "damaged", label(*codec), b"hello").await;
            assert_eq!(peer.expect("nack").await["id"], "damaged");
            // The one after it is delivered.
            deliver(&mut peer, "plain", "none", b"hello").await;
            assert_eq!(soon(next).await.unwrap().id(), "plain");
        }
    }
}
