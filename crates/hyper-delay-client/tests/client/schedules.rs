use std::time::{Duration, SystemTime};

use hyper_delay_client::{Code, Compression, RequestError, Task};
use serde_json::json;

use crate::fake::{Fake, soon};

#[tokio::test]
async fn a_schedule_resolves_only_when_the_server_acknowledges() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let task = Task::new(b"hello")
        .route("r")
        .id("order-17")
        .at_millis(1_732_616_400_000);
    let scheduling = tokio::spawn(async move { client.schedule(task).await });

    let line = peer.expect("schedule").await;
    assert_eq!(
        (&line["id"], &line["route_key"]),
        (&json!("order-17"), &json!("r"))
    );
    assert_eq!(line["fire_at"], json!(1_732_616_400_000_u64));
    assert_eq!(
        (&line["payload_base64"], &line["compression"]),
        (&json!("aGVsbG8="), &json!("none"))
    );
    assert_eq!(line.get("replace"), None);
    assert!(!scheduling.is_finished());

    peer.acknowledge(&line).await;
    let receipt = soon(scheduling).await.unwrap().unwrap();
    assert_eq!(
        (receipt.id.as_str(), receipt.route.as_str()),
        ("order-17", "r")
    );
    assert_eq!(receipt.fire_at_millis, 1_732_616_400_000);
}

#[tokio::test]
async fn a_schedule_has_every_option_of_the_task() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let before = SystemTime::now();
    let task = Task::new([0xff, 0x00])
        .route("a \"quoted\" route")
        .after(Duration::from_secs(5))
        .compression(Compression::Zstd)
        .replace();
    tokio::spawn(async move { client.schedule(task).await });

    let line = peer.expect("schedule").await;
    assert_eq!(
        (&line["payload_base64"], &line["compression"]),
        (&json!("/wA="), &json!("zstd"))
    );
    assert_eq!(
        (&line["route_key"], &line["replace"]),
        (&json!("a \"quoted\" route"), &json!(true))
    );
    assert_eq!(line["id"].as_str().unwrap().len(), 36);
    let earliest = before.duration_since(SystemTime::UNIX_EPOCH).unwrap() + Duration::from_secs(5);
    assert!(u128::from(line["fire_at"].as_u64().unwrap()) >= earliest.as_millis());
}

#[tokio::test]
async fn two_pending_schedules_may_be_answered_out_of_order() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let schedule = |id: &str| {
        let (client, task) = (client.clone(), Task::new("").route("r").id(id));
        tokio::spawn(async move { client.schedule(task).await.unwrap().id })
    };
    let (one, two) = (schedule("one"), schedule("two"));
    let (first, second) = (peer.read().await, peer.read().await);
    assert_ne!(first["tag"], second["tag"]);
    peer.acknowledge(&second).await;
    peer.acknowledge(&first).await;
    assert_eq!(soon(one).await.unwrap(), "one");
    assert_eq!(soon(two).await.unwrap(), "two");
}

#[tokio::test]
async fn a_refusal_has_its_code_and_message() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    for (name, code) in [
        ("duplicate_id", Code::DuplicateId),
        ("bad_field", Code::BadField),
        ("one_to_come", Code::Unknown("one_to_come".into())),
    ] {
        let refuse = async {
            let tag = peer.expect("schedule").await["tag"].clone();
            peer.send(&format!(
                r#"{{"kind":"error","tag":{tag},"code":"{name}","message":"try another"}}"#
            ))
            .await;
        };
        let (refused, ()) = tokio::join!(client.schedule(Task::new("").route("r")), refuse);
        match refused {
            Err(RequestError::Refused(refusal)) => {
                assert_eq!(
                    (refusal.code, refusal.message.as_str()),
                    (code, "try another")
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_task_too_long_for_a_line_is_not_sent() {
    let (_fake, mut peer, client) = Fake::with(|builder| builder.max_line_bytes(1000)).await;
    let refused = client.schedule(Task::new(vec![0; 1000]).route("r")).await;
    assert!(
        matches!(refused, Err(RequestError::TooLong { limit: 1000, .. })),
        "{refused:?}"
    );
    // The next line is another request.
    tokio::spawn(async move { client.ping().await });
    peer.expect("ping").await;
}

#[tokio::test]
async fn requests_beyond_the_maximum_wait() {
    let (_fake, mut peer, client) = Fake::with(|builder| builder.outstanding(2)).await;
    let scheduling: Vec<_> = (0..3)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.schedule(Task::new("").route("r")).await.unwrap() })
        })
        .collect();
    let (one, two) = (peer.read().await, peer.read().await);
    // A delivery's answer does not count. Its arrival proves that the third schedule waits.
    peer.deliver("nobody's", 1).await;
    peer.expect("nack").await;
    peer.acknowledge(&two).await;
    let three = peer.expect("schedule").await;
    peer.acknowledge(&three).await;
    peer.acknowledge(&one).await;
    for scheduled in scheduling {
        soon(scheduled).await.unwrap();
    }
}

#[tokio::test]
async fn a_schedule_without_a_reply_is_sent_again_on_the_next_connection() {
    let (fake, mut peer, client) = Fake::with_client().await;
    let task = Task::new("hello").route("r").after(Duration::from_secs(60));
    let scheduling = tokio::spawn(async move { client.schedule(task).await });
    let first = peer.read_text().await;
    drop(peer);

    let mut peer = fake.accept().await;
    let second = peer.read_text().await;
    assert_eq!(first, second);
    peer.acknowledge(&serde_json::from_str(&second).unwrap())
        .await;
    soon(scheduling).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_request_refused_by_a_shutdown_is_sent_on_the_next_connection() {
    let (fake, mut peer, client) = Fake::with_client().await;
    let cancelling = tokio::spawn(async move { client.cancel("r", "a").await });
    let tag = peer.expect("cancel").await["tag"].clone();
    peer.send(&format!(
        r#"{{"kind":"error","tag":{tag},"code":"shutting_down"}}"#
    ))
    .await;
    drop(peer);

    let mut peer = fake.accept().await;
    let tag = peer.expect("cancel").await["tag"].clone();
    peer.send(&format!(
        r#"{{"kind":"cancelled","tag":{tag},"found":true}}"#
    ))
    .await;
    assert!(soon(cancelling).await.unwrap().unwrap().found);
}

#[tokio::test]
async fn a_schedule_without_a_route_is_not_sent_again() {
    let (fake, mut peer, client) = Fake::with_client().await;
    let scheduling = tokio::spawn({
        let client = client.clone();
        async move { client.schedule(Task::new("")).await }
    });
    assert_eq!(peer.expect("schedule").await.get("route_key"), None);
    drop(peer);
    let mut peer = fake.accept().await;
    let failed = soon(scheduling).await.unwrap();
    tokio::spawn(async move { client.ping().await });
    peer.expect("ping").await;
    assert!(
        matches!(failed, Err(RequestError::Disconnected)),
        "{failed:?}"
    );
}

#[tokio::test]
async fn the_receipt_names_the_route_that_the_server_chose() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let answer = async {
        let line = peer.expect("schedule").await;
        peer.acknowledge(&line).await;
    };
    let (receipt, ()) = tokio::join!(client.schedule(Task::new("")), answer);
    assert_eq!(receipt.unwrap().route, "conn-1");
}

#[tokio::test]
async fn a_request_without_an_answer_times_out() {
    let limit = Duration::from_millis(1);
    let (_fake, _peer, client) = Fake::with(|builder| builder.request_timeout(limit)).await;
    let failed = soon(client.schedule(Task::new("").route("r"))).await;
    assert!(
        matches!(failed, Err(RequestError::TimedOut { .. })),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_task_has_headers_and_terms() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let task = Task::new("")
        .route("r")
        .id("a")
        .at_millis(1 << 41)
        .header("b", "2")
        .header("a", "0")
        .header("a", "1")
        .expires_at(SystemTime::UNIX_EPOCH + Duration::from_micros((1 << 42) * 1_000 - 500))
        .ack_timeout(Duration::from_micros(1_500))
        .max_attempts(3)
        .retry_delay(Duration::from_secs(1))
        .max_retry_delay(Duration::from_secs(60));
    tokio::spawn(async move { client.schedule(task).await });
    let mut schedule = peer.expect("schedule").await;
    schedule.as_object_mut().unwrap().remove("tag");
    let wanted = json!({
        "kind": "schedule", "id": "a", "route_key": "r", "fire_at": 1_u64 << 41,
        "compression": "none", "headers": {"a": "1", "b": "2"}, "expires_at": 1_u64 << 42,
        "ack_timeout_ms": 2, "max_attempts": 3, "retry_delay_ms": 1_000,
        "max_retry_delay_ms": 60_000, "payload_base64": "",
    });
    assert_eq!(schedule, wanted);
}

#[tokio::test]
async fn a_delay_is_sent_in_place_of_the_time_and_the_same_after_a_lost_connection() {
    let (fake, mut peer, client) = Fake::with_client().await;
    let task = Task::new("")
        .route("r")
        .id("a")
        .delay(Duration::from_secs(5));
    let scheduling = tokio::spawn(async move { client.schedule(task).await });
    let first = peer.expect("schedule").await;
    assert_eq!(first["delay_ms"], 5_000);
    assert_eq!(first.get("fire_at"), None);
    drop(peer);
    let mut peer = fake.accept().await;
    let again = peer.expect("schedule").await;
    for field in ["id", "route_key", "delay_ms", "fire_at", "payload_base64"] {
        assert_eq!(again.get(field), first.get(field), "{field}");
    }
    let mut answered = again.clone();
    answered["fire_at"] = json!(1_732_616_400_000_u64);
    peer.acknowledge(&answered).await;
    let receipt = soon(scheduling).await.unwrap().unwrap();
    assert_eq!(receipt.fire_at_millis, 1_732_616_400_000);
}

#[tokio::test]
async fn the_expiry_counts_from_the_schedule() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let before = SystemTime::now();
    let task = Task::new("")
        .route("r")
        .expires_after(Duration::from_secs(60));
    tokio::spawn(async move { client.schedule(task).await });
    let schedule = peer.expect("schedule").await;
    let fire_at = schedule["fire_at"].as_u64().unwrap();
    assert_eq!(schedule["expires_at"], fire_at + 60_000);
    let before = before.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    assert!(u128::from(fire_at) >= before.as_millis());
    for field in [
        "headers",
        "ack_timeout_ms",
        "max_attempts",
        "retry_delay_ms",
    ] {
        assert_eq!(schedule.get(field), None);
    }
}
