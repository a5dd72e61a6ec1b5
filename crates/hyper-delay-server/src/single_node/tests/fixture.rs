//! The store of this release that every later one must open, in `tests/fixtures`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use testkit::{
    Peer,
    request::{echo, now},
};

use super::*;
use hyper_delay_archive::{backup::BackupStream, salvage};
use hyper_delay_engine::{
    ledger::{Op, Outcome, ScheduleOrder},
    sizes::Sizes,
};
use hyper_delay_protocol::Compression;
use hyper_delay_store::ReadStore as _;

/// The time for which finished names are remembered.
const DEDUPE_SECONDS: u64 = 604_800;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hyper-delay/tests/fixtures/0.3")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let from = entry.unwrap().path();
        let name = from.file_name().unwrap();
        if from.is_dir() {
            copy(&from, &to.join(name));
        } else if name != "reserve" {
            let mut bytes = fs::read(&from).unwrap();
            if from.extension().is_some_and(|it| it == "jnl") {
                let end = bytes.iter().rposition(|byte| *byte != 0);
                bytes.truncate(end.map_or(0, |end| end + 1));
            }
            fs::write(to.join(name), bytes).unwrap();
        }
    }
}

/// Makes a task in every state. The last numbers of the ids tell the halves apart.
fn fill(address: std::net::SocketAddr, half: u32) {
    let mut peer = Peer::connect(address);
    let at = now() + 3_000 * 86_400_000;
    let schedule = |route: &str, fire_at: u64, fields: &str| {
        format!(
            r#"{{"kind":"schedule","id":"{route}-{half}","route_key":"{route}","fire_at":{fire_at}{fields}}}"#
        )
    };
    let mut ask = |line: String| {
        let reply = peer.ask(&line);
        assert_ne!(reply["kind"], "error", "{reply}");
    };
    ask(schedule("waiting", at, r#","payload_base64":"aGVsbG8=""#));
    let replaced = r#","payload_base64":"aGVsbG8=","compression":"zstd","replace":true"#;
    ask(schedule("replaced", at, ""));
    ask(schedule("replaced", at + 1, replaced));
    ask(schedule("cancelled", at, ""));
    ask(format!(
        r#"{{"kind":"cancel","id":"cancelled-{half}","route_key":"cancelled"}}"#
    ));
    let terms = format!(
        r#","headers":{{"traceparent":"00-a"}},"expires_at":{},"ack_timeout_ms":60000,"max_attempts":3,"retry_delay_ms":5,"max_retry_delay_ms":6"#,
        at + 1
    );
    ask(schedule("terms", at, &terms));
    ask(r#"{"kind":"pause","route_key":"waiting"}"#.to_owned());
    ask(r#"{"kind":"purge","route_key":"purged"}"#.to_owned());
    ask(schedule("parked", 1, ""));
    for route in ["dead", "done", "flight"] {
        ask(schedule(route, 1, ""));
    }
    let mut lead = 50;
    loop {
        let expires = now() + lead;
        let line = schedule("expired", 1, &format!(r#","expires_at":{expires}"#));
        let reply = peer.ask(&line);
        if reply["kind"] != "error" {
            break;
        }
        // On a slow machine the time can pass before the server takes the task.
        assert!(now() >= expires, "{reply}");
        lead *= 2;
    }
    let mut consumer = Peer::connect(address);
    consumer.register("dead");
    let nack = echo("nack", &consumer.delivery());
    consumer.send(nack.replacen('{', r#"{"reason":"no disk","#, 1));
    consumer.register("done");
    let delivery = consumer.delivery();
    assert!(consumer.removes(&delivery));
    consumer.stats_until("dead", |stats| stats["dead"] == half);
    let expired = format!(r#"{{"kind":"get","route_key":"expired","id":"expired-{half}"}}"#);
    consumer.until(|peer| peer.ask(&expired), |task| task["found"] == false);
    consumer.stats_until("parked", |stats| stats["parked"] == half);
}

/// The tasks of an export, without their times.
fn tasks(exported: &[u8]) -> Vec<String> {
    let mut tasks = Vec::new();
    for line in std::str::from_utf8(exported).unwrap().lines() {
        let task: serde_json::Value = serde_json::from_str(line).unwrap();
        tasks.push(format!(
            "{} {} {}",
            task["id"], task["state"], task["attempt"]
        ));
    }
    tasks.sort();
    tasks
}

/// Writes into the repository if `HYPER_DELAY_WRITE_FIXTURE` is set.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_fixture_has_the_tasks_of_the_stored_one() {
    let elsewhere = tempfile::tempdir().unwrap();
    if std::env::var_os("HYPER_DELAY_WRITE_FIXTURE").is_some() {
        return make(&folder()).await;
    }
    make(elsewhere.path()).await;
    let read = |folder: &Path| fs::read(folder.join("export.jsonl")).unwrap();
    assert_eq!(tasks(&read(elsewhere.path())), tasks(&read(&folder())));
}

/// Replaces the contents of `folder` by those of a fixture.
async fn make(folder: &Path) {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let store = Arc::new(Embedded::open_with(&data, OpenOptions::default()).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = Config {
        max_attempts: Some(1),
        dedupe_seconds: DEDUPE_SECONDS,
        ..Config::default()
    };
    let (_fixed, configs) = watch::channel(config);
    let server = tokio::spawn(serve_store(listener, configs, store.clone(), pending()));
    let (kept, into) = (store.clone(), folder.to_owned());
    let copied = tokio::task::spawn_blocking(move || {
        fill(address, 1);
        // One half is in tables, the other one in the journal.
        kept.flush_all();
        fill(address, 2);
        let mut consumer = Peer::connect(address);
        consumer.register("flight");
        for _ in 0..2 {
            assert_eq!(consumer.delivery()["route_key"], "flight");
        }
        // The files are as a kill leaves them while nothing is written.
        let _ = fs::remove_dir_all(&into);
        copy(&data, &into.join("data"));
        let mut stream = BackupStream::begin(kept.snapshot().unwrap(), now());
        let backup = stream.next(1 << 20).unwrap();
        fs::write(into.join("tasks.backup"), backup).unwrap();
        drop(consumer);
    });
    copied.await.unwrap();
    server.abort();
    let _ = server.await;
    drop(store);
    let mut exported = Vec::new();
    salvage::export(&folder.join("data"), &mut exported).unwrap();
    fs::write(folder.join("export.jsonl"), exported).unwrap();
}

/// Names expire after a week, so a server does not show whether the fixture's are read.
#[test]
fn finished_names_of_the_release_are_remembered() {
    let place = tempfile::tempdir().unwrap();
    copy(&folder().join("data"), place.path());
    let store = Arc::new(Embedded::open_with(place.path(), OpenOptions::default()).unwrap());
    let mut ledger = Ledger::open(store, DEDUPE_SECONDS * 1000, Sizes::SMALL).unwrap();
    let mut schedule = |route: &str, half: u32, now: u64| {
        let order = ScheduleOrder {
            route: route.into(),
            id: format!("{route}-{half}").into(),
            named: true,
            at: now,
            fire_at: 1,
            delay_ms: None,
            compression: Compression::None,
            payload: Box::default(),
            replace: false,
            headers: hyper_delay_protocol::Headers::default(),
            terms: None,
        };
        ledger.apply(&Op::Schedule(order), now).unwrap()
    };
    // 1970 is before any name expires.
    for half in [1, 2] {
        assert_eq!(schedule("done", half, 2), Outcome::Same { fire_at: 1 });
        assert_eq!(schedule("parked", half, 2), Outcome::Same { fire_at: 1 });
    }
    assert!(matches!(
        schedule("cancelled", 1, 2),
        Outcome::Scheduled { .. }
    ));
    assert!(matches!(
        schedule("done", 1, u64::MAX),
        Outcome::Scheduled { .. }
    ));
}
