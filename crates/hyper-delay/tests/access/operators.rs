use std::time::Instant;

use serde_json::{Value, json};
use testkit::{PATIENCE, Peer, request::later};

use crate::server::{ALL, Server};

/// The most jobs that wait or run at a time.
const JOBS: usize = 16;

/// Begins as many jobs as may wait, and stops the last one. `None` if it has ended before.
fn stopped(begin: &mut Peer, stop: &mut Peer) -> Option<Value> {
    for id in 0..600 {
        begin.plan("mail", &id.to_string(), later());
    }
    let purge = r#"{"kind":"purge","route_key":"mail"}"#;
    let tags: Vec<String> = (0..JOBS).map(|_| begin.ask_later(purge)).collect();
    let replies: Vec<Value> = tags.iter().map(|tag| begin.answer(tag)).collect();
    let job = replies[JOBS - 1]["job"].as_u64().unwrap();
    let reply = stop.ask(&format!(r#"{{"kind":"stop","job":{job}}}"#));
    assert_eq!(
        (&reply["kind"], &reply["job"]),
        (&json!("stopped"), &json!(job))
    );
    let row = stop.until(
        |peer| {
            let jobs = peer.ask(r#"{"kind":"jobs"}"#)["jobs"].take();
            let mut jobs = jobs.as_array().unwrap().iter();
            jobs.find(|row| row["job"] == job).unwrap().clone()
        },
        |row| row["state"] != "running",
    );
    (reply["found"] == true).then_some(row)
}

#[test]
fn a_running_job_is_stopped_and_both_tokens_are_named() {
    let (server, [one, other]) =
        Server::configured(json!({"sync": "always"}), [ALL, (&["admin"], &["*"])]);
    let mut begin = server.peer_with(&one);
    let mut stop = server.peer_with(&other);
    let start = Instant::now();
    let row = loop {
        if let Some(row) = stopped(&mut begin, &mut stop) {
            break row;
        }
        assert!(start.elapsed() < PATIENCE, "each job ends before its stop");
    };
    assert_eq!(row["state"], "stopped", "{row}");
    assert_eq!(
        (&row["by"], &row["changed"]),
        (&json!("token 1"), &json!(0))
    );
    assert!(
        row["ended_at"].as_u64() >= row["began_at"].as_u64(),
        "{row}"
    );
    let audit = stop.ask(r#"{"kind":"audit"}"#);
    let mut lines = audit["lines"].as_array().unwrap().iter();
    let end = lines.find(|line| line["job"] == row["job"]).unwrap();
    assert_eq!(
        (&end["act"], &end["by"], &end["tasks"]),
        (&json!("stopped"), &json!("token 2"), &json!(0))
    );
    let begun = lines.find(|line| line["job"] == row["job"]).unwrap();
    assert_eq!(
        (&begun["act"], &begun["by"]),
        (&json!("purge"), &json!("token 1"))
    );
}
