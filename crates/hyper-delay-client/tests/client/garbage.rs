use hyper_delay_client::{RequestError, Task};

use crate::fake::{Fake, soon};

#[tokio::test]
async fn unknown_kinds_and_fields_are_ignored() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let scheduling = tokio::spawn(async move { client.schedule(Task::new("").route("r")).await });
    let line = peer.expect("schedule").await;
    peer.send(r#"{"kind":"weather","id":5,"route_key":["r"]}"#)
        .await;
    let tag = &line["tag"];
    peer.send(&format!(
        r#"{{"hue":{{"red":1}},"fire_at":5,"route_key":"r","id":"a","tag":{tag},"kind":"scheduled","x":null}}"#
    ))
    .await;
    assert_eq!(soon(scheduling).await.unwrap().unwrap().id, "a");
}

#[tokio::test]
async fn a_line_may_arrive_byte_by_byte() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let scheduling = tokio::spawn(async move { client.schedule(Task::new("").route("r")).await });
    let tag = peer.expect("schedule").await["tag"].clone();
    let line = format!(
        "\r\n{{\"kind\":\"scheduled\",\"tag\":{tag},\"id\":\"\u{e9}\",\"route_key\":\"r\",\"fire_at\":5}}\r\n"
    );
    for byte in line.as_bytes() {
        peer.send_bytes(&[*byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(soon(scheduling).await.unwrap().unwrap().id, "\u{e9}");
}

#[tokio::test]
async fn invalid_lines_are_ignored() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    for line in [
        &b"HTTP/1.1 400 Bad Request"[..],
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        br#"{"kind":7}"#,
        br#"{"kind":"delivery"}"#,
        br#"{"kind":"delivery","id":"a","route_key":"r","fire_at":-1,"attempt":1}"#,
        br#"{"kind":"delivery","id":"a","route_key":"r","fire_at":1,"attempt":1,"payload_base64":"!"}"#,
        br#"{"kind":"registered","tag":"999","route_key":"r","credit":-1}"#,
        br#"{"kind":"registered","tag":"999"}"#,
        br#"{"kind":"unregistered"}"#,
        br#"{"kind":"unregistered","route_key":"nobody's","reason":"replaced"}"#,
        br#"{"kind":"ack","tag":"18446744073709551616"}"#,
        br#"{"kind":"ack","tag":"999"}"#,
        br#"{"kind":"error","tag":"999"}"#,
        br#"{"kind":"error","code":5}"#,
        br#"{"kind":"error"}"#,
    ] {
        peer.send_bytes(line).await;
        peer.send_bytes(b"\n").await;
    }
    let deep = "[".repeat(10_000);
    peer.send(&deep).await;
    let answer = async {
        let tag = peer.expect("ping").await["tag"].clone();
        peer.send(&format!(r#"{{"kind":"pong","tag":{tag}}}"#))
            .await;
    };
    let (pinged, ()) = tokio::join!(soon(client.ping()), answer);
    pinged.unwrap();
}

#[tokio::test]
async fn random_bytes_are_ignored() {
    let mut random = fastrand::Rng::with_seed(17);
    let (fake, mut peer, client) = Fake::with_client().await;
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..random.usize(..400)).map(|_| random.u8(..)).collect();
        peer.send_bytes(&bytes).await;
    }
    drop(peer);
    let mut peer = fake.accept().await;
    tokio::spawn(async move { client.ping().await });
    peer.expect("ping").await;
}

#[tokio::test]
async fn a_reply_of_another_kind_is_an_error() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    for answer in [r#""kind":"pong""#, r#""kind":"scheduled""#] {
        let reply = async {
            let tag = peer.expect("schedule").await["tag"].clone();
            peer.send(&format!(r#"{{{answer},"tag":{tag}}}"#)).await;
        };
        let (failed, ()) = tokio::join!(client.schedule(Task::new("").route("r")), reply);
        assert!(
            matches!(failed, Err(RequestError::Garbled { .. })),
            "{failed:?}"
        );
    }
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped() {
    let (_fake, mut peer, client) = Fake::with(|builder| builder.max_line_bytes(1000)).await;
    let scheduling = tokio::spawn(async move { client.schedule(Task::new("").route("r")).await });
    let line = peer.expect("schedule").await;
    peer.send_bytes(&[b'x'; 1002]).await;
    peer.send_bytes(b"x\n").await;
    peer.acknowledge(&line).await;
    soon(scheduling).await.unwrap().unwrap();
}
