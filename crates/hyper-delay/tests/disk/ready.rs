//! A full or slow disk in `/readyz`, and a full one in the metrics.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use testkit::{
    PATIENCE, Server, Wire, http,
    request::now,
    small::{Small, with_mounts},
};

use crate::{
    acks,
    full_disk::{Client, start},
    schedule, strace,
};

/// Waits for this status of `/readyz`, without a request to the server over its protocol.
#[track_caller]
fn until(server: &Server, status: u16) -> http::Answer {
    let begun = Instant::now();
    loop {
        let answer = http::get(server.http(), "/readyz");
        if answer.status == status {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "{}", server.log());
        thread::sleep(Duration::from_millis(20));
    }
}

const FULL: &str = "the disk of data_dir is full: free some; deliveries and acks go on\n";

#[test]
fn a_server_whose_tasks_fill_the_disk_is_not_ready() {
    with_mounts(|| {
        let small = Small::new(16);
        let server = start(&small, json!({"http_addr": "127.0.0.1:0"})).run();
        assert_eq!(until(&server, 200).body, "ready\n");
        let mut client = Client::of(&server);
        client.schedule_until_full("task", now() + 3_600_000, 30_000, 1);
        let metrics = http::get(server.http(), "/metrics").body;
        let refused = "refusals_total{reason=\"disk_full\"} 1\n";
        assert!(metrics.contains(refused), "{metrics}");
        assert_eq!(until(&server, 503).body, FULL);
        assert_eq!(http::get(server.http(), "/healthz").status, 200);
        small.enlarge(400);
        until(&server, 200);
        client.takes_again();
    });
}

#[test]
fn a_server_is_not_ready_while_other_files_fill_its_disk() {
    with_mounts(|| {
        let small = Small::new(40);
        let server = start(&small, json!({"http_addr": "127.0.0.1:0"})).run();
        until(&server, 200);
        small.fill();
        assert_eq!(until(&server, 503).body, FULL);
        small.free();
        until(&server, 200);
    });
}

/// How long a sync takes: longer than the 5 seconds after which it is reported.
const STALL: Duration = Duration::from_secs(8);

#[test]
fn a_server_with_a_stuck_write_is_not_ready_until_the_write_ends() {
    if !strace::is_there() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // A first run creates the store.
    crate::start(directory.path()).run().kill();

    let inject = format!("inject=fdatasync:delay_enter={}", STALL.as_micros());
    let tracer = ["-o", "/dev/null", "-e", "trace=fdatasync", "-e", &inject];
    let server = crate::start(directory.path())
        .config(json!({"http_addr": "127.0.0.1:0"}))
        .under(strace::line(&tracer))
        .run();
    let mut wire = Wire::to(server.address).unwrap();
    wire.send(&schedule("task", now() + 60_000, 30)).unwrap();
    let reason = until(&server, 503).body;
    assert!(
        reason.starts_with("a write to the disk of data_dir has taken "),
        "{reason}"
    );
    assert_eq!(http::get(server.http(), "/healthz").status, 200);
    assert_eq!(acks(&mut wire, 1).unwrap(), ["task"]);
    assert_eq!(until(&server, 200).body, "ready\n");
}
