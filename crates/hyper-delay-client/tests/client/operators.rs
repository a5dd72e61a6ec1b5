use std::time::Duration;

use hyper_delay_client::TaskState;
use serde_json::json;

use crate::fake::{Fake, soon};

#[tokio::test]
async fn stats_are_read_and_missing_fields_are_0() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let answer = async {
        let line = peer.expect("stats").await;
        assert_eq!(
            (&line["route_key"], &line["after"]),
            (&json!("r"), &json!("q"))
        );
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"stats","tag":{tag},"waiting":5,"dead":null,"routes":[{{"route_key":"r","waiting":5,"consumers":2,"orphaned":true}},{{"route_key":"s"}}],"orphaned":3,"more":true}}"#
        ))
        .await;
    };
    let asked = client.stats().route("r").after("q").into_future();
    let (stats, ()) = tokio::join!(asked, answer);
    let stats = stats.unwrap();
    assert_eq!((stats.waiting, stats.dead, stats.more), (5, 0, true));
    assert_eq!(
        (stats.routes[0].route.as_str(), stats.routes[0].consumers),
        ("r", 2)
    );
    assert_eq!(stats.orphaned, 3);
    let orphaned = |index: usize| stats.routes[index].orphaned;
    assert_eq!((orphaned(0), orphaned(1)), (true, false));
    let text = serde_json::to_value(&stats).unwrap();
    assert_eq!(text["routes"][0]["orphaned"], json!(true));
    assert!(text["routes"][1].get("orphaned").is_none(), "{text}");
}

#[tokio::test]
async fn dead_letters_are_listed_and_kicked() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let answer = async {
        let line = peer.expect("dead").await;
        assert_eq!(
            (&line["route_key"], &line["limit"]),
            (&json!("r"), &json!(10))
        );
        assert_eq!(line["after"], "z");
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"dead","tag":{tag},"route_key":"r","tasks":[{{"id":"a","fire_at":1,"attempt":3,"died_at":9}},{{"id":"b","fire_at":1,"attempt":0,"died_at":0,"reason":"bad block","orphaned":true}}],"more":false}}"#
        ))
        .await;
        let line = peer.expect("kick").await;
        assert_eq!(
            (&line["route_key"], &line["id"]),
            (&json!("r"), &json!("a"))
        );
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"kicked","tag":{tag},"id":"a","found":true}}"#
        ))
        .await;
    };
    let ask = async {
        let letters = client.dead("r").limit(10).after("z").await.unwrap();
        let letter = &letters.tasks[0];
        assert_eq!(
            (letter.id.as_str(), letter.attempt, letter.died_at_millis),
            ("a", 3, 9)
        );
        assert!(letter.died_at().is_some() && letter.reason.is_none() && !letter.orphaned);
        let orphan = &letters.tasks[1];
        assert_eq!(orphan.reason.as_deref(), Some("bad block"));
        assert!(orphan.orphaned && orphan.died_at().is_none());
        let text = serde_json::to_value(&letters.tasks).unwrap();
        assert_eq!(
            text[0],
            json!({"id": "a", "fire_at": 1, "attempt": 3, "died_at": 9})
        );
        assert_eq!(text[1]["orphaned"], json!(true));
        assert!(client.kick("r", &letter.id).await.unwrap());
    };
    tokio::join!(ask, answer);
}

#[tokio::test]
async fn a_backup_is_read_piece_by_piece_to_its_end() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let answer = async {
        for (offset, data, more) in [(0, "aGVs", true), (3, "bG8=", true), (5, "", false)] {
            let line = peer.expect("backup").await;
            // The first request has none.
            assert_eq!(line["offset"].as_u64().unwrap_or(0), offset, "{line}");
            let tag = &line["tag"];
            peer.send(&format!(
                r#"{{"kind":"backup","tag":{tag},"offset":{offset},"data_base64":"{data}","more":{more}}}"#
            ))
            .await;
        }
    };
    let read = async {
        let mut backup = client.backup();
        let mut bytes = Vec::new();
        while let Some(piece) = backup.next().await.unwrap() {
            bytes.extend(piece);
        }
        assert_eq!(bytes, b"hello");
        assert_eq!(backup.next().await.unwrap(), None);
    };
    tokio::join!(read, answer);
}

#[tokio::test]
async fn a_backup_is_not_continued_over_a_lost_connection() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let mut backup = client.backup();
    let lose = async {
        peer.expect("backup").await;
        drop(peer);
    };
    let (piece, ()) = tokio::join!(backup.next(), lose);
    let error = piece.unwrap_err();
    assert!(
        matches!(error, hyper_delay_client::RequestError::Disconnected),
        "{error}"
    );
}

#[tokio::test]
async fn a_backup_is_not_asked_for_on_a_later_connection() {
    let (fake, mut peer, client) = Fake::with_client().await;
    let mut backup = client.backup();
    let begin = async {
        let tag = peer.expect("backup").await["tag"].take();
        peer.send(&format!(
            r#"{{"kind":"backup","tag":{tag},"offset":0,"data_base64":"aGVs","more":true}}"#
        ))
        .await;
    };
    let (piece, ()) = tokio::join!(backup.next(), begin);
    assert_eq!(piece.unwrap().unwrap(), b"hel");
    drop(peer);
    let mut peer = fake.accept().await;
    let (piece, pong) = tokio::join!(soon(backup.next()), async {
        let ping = client.ping();
        let answer = async {
            let tag = peer.expect("ping").await["tag"].take();
            peer.send(&format!(r#"{{"kind":"pong","tag":{tag}}}"#))
                .await;
        };
        tokio::join!(ping, answer).0
    });
    let error = piece.unwrap_err();
    assert!(
        matches!(error, hyper_delay_client::RequestError::Disconnected),
        "{error}"
    );
    pong.unwrap();
}

#[tokio::test]
async fn a_task_is_got_with_its_payload_or_is_none() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let answer = async {
        let line = peer.expect("get").await;
        assert_eq!(
            (&line["route_key"], &line["id"]),
            (&json!("r"), &json!("a"))
        );
        assert_eq!(line["payload"], true);
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"task","tag":{tag},"id":"a","route_key":"r","state":"in_flight","fire_at":1,"due":2,"attempt":3,"compression":"none","payload_base64":"aGVsbG8=","found":true,"new":[]}}"#
        ))
        .await;
        let line = peer.expect("get").await;
        assert!(line.get("payload").is_none(), "{line}");
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"task","tag":{tag},"id":"a","route_key":"r","found":false}}"#
        ))
        .await;
    };
    let ask = async {
        let found = client.get("r", "a").payload(true).await.unwrap();
        (found, client.get("r", "a").await.unwrap())
    };
    let ((found, none), ()) = tokio::join!(ask, answer);
    let found = found.unwrap();
    assert_eq!(
        (found.state, found.due_millis),
        (TaskState::InFlight, Some(2))
    );
    assert_eq!(found.content.payload().as_deref(), Some(&b"hello"[..]));
    assert_eq!(none, None);
}

#[tokio::test]
async fn lists_have_filters_and_cursors() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let answer = async {
        let line = peer.expect("list").await;
        for (name, value) in [
            ("route_key", json!("r")),
            ("state", json!("dead")),
            ("from", json!(5)),
            ("until", json!(6)),
            ("limit", json!(7)),
            ("after", json!("c")),
        ] {
            assert_eq!(line[name], value, "{name}");
        }
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"list","tag":{tag},"tasks":[{{"id":"a","route_key":"r","state":"frozen","fire_at":1,"died_at":5,"attempt":3,"reason":"m","payload_bytes":9}}],"more":true,"next":"d"}}"#
        ))
        .await;
        let line = peer.expect("dead").await;
        assert_eq!(
            (&line["reason"], &line["payload"]),
            (&json!(""), &json!(true))
        );
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"dead","tag":{tag},"route_key":"r","tasks":[{{"id":"a","fire_at":1,"attempt":3,"died_at":9,"payload_base64":""}}],"more":true,"next":"z"}}"#
        ))
        .await;
        let line = peer.expect("reasons").await;
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"reasons","tag":{tag},"reasons":[{{"route_key":"r","reason":"m","tasks":4}}],"more":false}}"#
        ))
        .await;
        let line = peer.expect("future").await;
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"future","tag":{tag},"minute":1,"minutes":[2,3],"counted_until":4}}"#
        ))
        .await;
    };
    let ask = async {
        let list = client.list().route("r").state(TaskState::Dead).limit(7);
        let list = list
            .from_millis(5)
            .until_millis(6)
            .after("c")
            .await
            .unwrap();
        let dead = client.dead("r").reason("").payload(true).await.unwrap();
        let reasons = client.reasons().await.unwrap();
        (list, dead, reasons, client.forecast().await.unwrap())
    };
    let ((list, dead, reasons, forecast), ()) = tokio::join!(ask, answer);
    assert_eq!(list.next.as_deref(), Some("d"));
    assert_eq!(list.tasks[0].state, TaskState::Other("frozen".to_owned()));
    assert_eq!(list.tasks[0].content.payload_bytes, Some(9));
    let text = serde_json::to_value(&list.tasks[0]).unwrap();
    assert_eq!(
        (&text["state"], &text["died_at"]),
        (&json!("frozen"), &json!(5))
    );
    assert!(text.get("due").is_none(), "{text}");
    assert_eq!(dead.next_after(), Some("z"));
    assert_eq!(dead.tasks[0].content.payload(), Some(Vec::new()));
    assert_eq!((reasons.reasons[0].tasks, reasons.next), (4, None));
    assert_eq!(forecast.minutes, [2, 3]);
    assert_eq!(
        (forecast.counted_until_millis, forecast.days.len()),
        (Some(4), 0)
    );
}

#[tokio::test]
async fn bulk_operations_are_counted_begun_listed_and_stopped() {
    const JOB: &str =
        r#""job":7,"act":"delete_all","route_key":"r","state":"running","changed":0,"began_at":5"#;
    let (_fake, mut peer, client) = Fake::with_client().await;
    let answer = async {
        for (kind, reply) in [
            ("delete_all", r#""kind":"count","tasks":4,"more":true"#.to_owned()),
            ("delete_all", format!(r#""kind":"job",{JOB}"#)),
            ("jobs", format!(r#""kind":"jobs","jobs":[{{{JOB}}}]"#)),
            ("stop", r#""kind":"stopped","job":7,"found":true"#.to_owned()),
            ("delete", r#""kind":"deleted","found":true"#.to_owned()),
            ("pause", r#""kind":"paused","changed":true"#.to_owned()),
            ("resume", r#""kind":"resumed","changed":false"#.to_owned()),
            (
                "audit",
                r#""kind":"audit","lines":[{"number":3,"at":4,"act":"pause","route_key":"r"}],"more":true"#
                    .to_owned(),
            ),
        ] {
            let line = peer.expect(kind).await;
            if kind == "delete_all" {
                assert_eq!((&line["reason"], &line["until"]), (&json!("m"), &json!(9)));
                assert_eq!(line["dry_run"] == true, reply.contains("count"));
            }
            let tag = &line["tag"];
            peer.send(&format!(r#"{{"tag":{tag},{reply}}}"#)).await;
        }
    };
    let ask = async {
        let delete = client.delete_all("r").reason("m").until_millis(9);
        let count = delete.count().await.unwrap();
        assert_eq!((count.tasks, count.more), (4, true));
        let job = delete.await.unwrap();
        assert!(job.is_running());
        assert_eq!(client.jobs().await.unwrap(), [job]);
        assert!(client.stop_job(7).await.unwrap());
        assert!(client.delete("r", "a").await.unwrap());
        assert!(client.pause("r").await.unwrap());
        assert!(!client.resume("r").await.unwrap());
        let audit = client.audit().before(4).limit(1).await.unwrap();
        assert_eq!((audit.lines[0].act.as_str(), audit.more), ("pause", true));
    };
    tokio::join!(ask, answer);
}

#[tokio::test]
async fn many_tasks_are_moved() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let answer = async {
        for (kind, fields, of_job) in [
            (
                "run_now_all",
                json!({"state": "retrying", "reason": "down"}),
                r#""task_state":"retrying""#,
            ),
            ("reschedule_all", json!({"due": 9, "from": 5}), r#""due":9"#),
            (
                "reschedule_all",
                json!({"shift_ms": 1_001}),
                r#""shift_ms":1001"#,
            ),
        ] {
            let mut line = peer.expect(kind).await;
            let tag = line["tag"].take();
            let line = line.as_object_mut().unwrap();
            line.retain(|name, _| !["kind", "tag", "route_key"].contains(&name.as_str()));
            assert_eq!(json!(line), fields);
            peer.send(&format!(
                r#"{{"kind":"job","tag":{tag},"job":7,"act":"{kind}","route_key":"r","state":"running","changed":0,"began_at":5,{of_job}}}"#
            ))
            .await;
        }
    };
    let ask = async {
        let failed = client.run_now_all("r").state(TaskState::Retrying);
        let job = failed.reason("down").await.unwrap();
        assert_eq!(job.task_state, Some(TaskState::Retrying));
        let job = client.reschedule_all_millis("r", 9).from_millis(5);
        let job = job.await.unwrap();
        assert_eq!((job.due_millis, job.shift_millis), (Some(9), None));
        let shift = Duration::from_micros(1_000_001);
        let job = client.postpone_all("r", shift).await.unwrap();
        assert_eq!((job.due_millis, job.shift_millis), (None, Some(1_001)));
    };
    tokio::join!(ask, answer);
}
