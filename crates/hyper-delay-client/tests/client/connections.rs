use std::time::{Duration, SystemTime};

use hyper_delay_client::{Client, Code, ConnectError, RequestError, Task};
use tokio::net::TcpSocket;

use crate::fake::{Fake, LONG, soon};

#[tokio::test]
async fn routes_are_registered_again_on_the_next_connection_in_their_order() {
    let (fake, mut peer, client) = Fake::with_client().await;
    let mut listening = Vec::new();
    for (route, credit) in [("r", 7), ("q", 9)] {
        let subscribing = tokio::spawn(client.deliveries(route).credit(credit).into_future());
        peer.register().await;
        listening.push(soon(subscribing).await.unwrap().unwrap());
    }
    drop(peer);
    let mut peer = fake.accept().await;
    for (route, credit) in [("r", 7), ("q", 9)] {
        let line = peer.register().await;
        assert_eq!(
            (line["route_key"].as_str(), line["credit"].as_u64()),
            (Some(route), Some(credit))
        );
    }
    peer.deliver("a", 1).await;
    soon(listening[0].next()).await.unwrap().ack();
    peer.expect("ack").await;
}

#[tokio::test]
async fn requests_without_a_connection_wait_for_one() {
    let (fake, peer, client) = Fake::with_client().await;
    drop(peer);
    let peer = fake.accept_only().await;
    let cancelling = tokio::spawn({
        let client = client.clone();
        async move { client.cancel("r", "a").await }
    });
    // This connection does not count: it ends before it has answered the hello.
    drop(peer);
    let mut peer = fake.accept().await;
    let tag = peer.expect("cancel").await["tag"].clone();
    peer.send(&format!(
        r#"{{"kind":"cancelled","tag":{tag},"found":true,"in_flight":true}}"#
    ))
    .await;
    let cancelled = soon(cancelling).await.unwrap().unwrap();
    assert!(cancelled.found && cancelled.in_flight);
}

#[tokio::test]
async fn a_task_is_moved_to_now_or_to_another_time() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let moving = tokio::spawn({
        let client = client.clone();
        async move { client.run_now("r", "a").await }
    });
    let line = peer.expect("run_now").await;
    assert_eq!(
        (&line["route_key"], &line["id"]),
        (&"r".into(), &"a".into())
    );
    let tag = &line["tag"];
    peer.send(&format!(
        r#"{{"kind":"moved","tag":{tag},"found":true,"moved":false}}"#
    ))
    .await;
    let moved = soon(moving).await.unwrap().unwrap();
    assert!(moved.found && !moved.moved && moved.due().is_none());
    let due = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_732_616_400_000_000_001);
    let moving = tokio::spawn(async move { client.reschedule("r", "a", due).await });
    let line = peer.expect("reschedule").await;
    assert_eq!(line["due"], 1_732_616_400_001_u64, "it is never early");
    let tag = &line["tag"];
    peer.send(&format!(
        r#"{{"kind":"moved","tag":{tag},"found":true,"moved":true,"due":1732616400001}}"#
    ))
    .await;
    let moved = soon(moving).await.unwrap().unwrap();
    assert_eq!(
        (moved.moved, moved.due_millis),
        (true, Some(1_732_616_400_001))
    );
    assert!(moved.due() > Some(due));
}

#[tokio::test]
async fn a_cancel_that_may_have_been_read_is_not_sent_again() {
    let (fake, mut peer, client) = Fake::with_client().await;
    let cancelling = tokio::spawn({
        let client = client.clone();
        async move { client.cancel("r", "a").await }
    });
    peer.expect("cancel").await;
    drop(peer);
    let mut peer = fake.accept().await;
    let failed = soon(cancelling).await.unwrap();
    tokio::spawn(async move { client.ping().await });
    peer.expect("ping").await;
    assert!(
        matches!(failed, Err(RequestError::Disconnected)),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_server_that_does_not_answer_a_ping_is_disconnected() {
    let short = Duration::from_millis(1);
    let (fake, mut peer, client) =
        Fake::with(|builder| builder.keepalive(short).keepalive_timeout(short)).await;
    peer.expect("ping").await;
    peer.expect_end().await;
    let _second = fake.accept().await;
    drop(client);
}

#[tokio::test]
async fn a_server_that_answers_its_pings_is_kept() {
    let quiet = Duration::from_millis(1);
    let (_fake, mut peer, _client) =
        Fake::with(|builder| builder.keepalive(quiet).keepalive_timeout(LONG)).await;
    for _ in 0..5 {
        peer.expect("ping").await;
        peer.send(r#"{"kind":"pong"}"#).await;
    }
}

#[tokio::test]
async fn a_missing_server_is_an_error() {
    // It is bound and does not listen: it refuses connections, and no other test gets its port.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let failed = soon(Client::connect(address)).await;
    assert!(matches!(failed, Err(ConnectError::Io { .. })), "{failed:?}");
}

#[tokio::test]
async fn an_address_that_is_none_is_an_error_that_says_why() {
    let no_number = "its port is no number from 0 to 65535";
    for (address, why) in [
        ("localhost", "it has no port"),
        ("127.0.0.1", "it has no port"),
        ("::1", "it has no port"),
        ("[::1]", no_number),
        ("", "it has no port"),
        (":7000", "it has no host"),
        ("http://localhost:1", "it is a URL"),
        ("localhost:", no_number),
        ("host:http", no_number),
        ("127.0.0.1:70000", no_number),
        ("127.0.0.1:1 ", no_number),
        ("localhost:1/", no_number),
    ] {
        let failed = soon(Client::connect(address)).await;
        let Err(ConnectError::Io { source, .. }) = failed else {
            panic!("{address}: {failed:?}");
        };
        let text = source.to_string();
        assert!(
            text.starts_with(&format!("{why}: give HOST:PORT")),
            "{address:?}: {text}"
        );
    }
}

#[tokio::test]
async fn a_server_that_closes_at_once_is_an_error() {
    let fake = Fake::bind().await;
    let connecting = tokio::spawn(Client::connect(fake.address.to_string()));
    drop(fake.accept_only().await);
    let failed = soon(connecting).await.unwrap();
    assert!(
        matches!(failed, Err(ConnectError::Closed { .. })),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_silent_server_is_an_error() {
    let fake = Fake::bind().await;
    let builder = Client::builder(fake.address.to_string());
    let failed = soon(builder.connect_timeout(Duration::from_millis(1)).connect()).await;
    assert!(
        matches!(failed, Err(ConnectError::TimedOut { .. })),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_server_without_room_is_an_error_with_its_code() {
    let fake = Fake::bind().await;
    let connecting = tokio::spawn(Client::connect(fake.address.to_string()));
    let mut peer = fake.accept_only().await;
    peer.send(r#"{"kind":"error","code":"too_many_connections","message":"come later"}"#)
        .await;
    match soon(connecting).await.unwrap() {
        Err(ConnectError::Refused { source, .. }) => {
            assert_eq!(source.code, Code::TooManyConnections);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_requests_are_answered_over_repeated_disconnects() {
    let (fake, mut peer, client) = Fake::with_client().await;
    let server = tokio::spawn(async move {
        for _ in 0..10 {
            let mut read = Vec::new();
            for _ in 0..200 {
                read.push(peer.read().await);
            }
            for line in &read[..100] {
                peer.acknowledge(line).await;
            }
            drop(peer);
            peer = fake.accept().await;
        }
        loop {
            let line = peer.read().await;
            peer.acknowledge(&line).await;
        }
    });
    let scheduling: Vec<_> = (0..3000)
        .map(|number| {
            let client = client.clone();
            let task = Task::new("").route("r").id(number.to_string());
            tokio::spawn(async move { client.schedule(task).await.unwrap().id })
        })
        .collect();
    for (number, scheduled) in scheduling.into_iter().enumerate() {
        assert_eq!(soon(scheduled).await.unwrap(), number.to_string());
    }
    server.abort();
}
