//! Commands with a server of version 0.3.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    thread,
};

use serde_json::{Value, json};
use testkit::request::now;

use crate::process::alone;

/// Answers a connection as version 0.3 does, and returns the schedules that it has read.
fn serve(listener: &TcpListener) -> Vec<Value> {
    let (stream, _) = listener.accept().unwrap();
    let mut schedules = Vec::new();
    for line in BufReader::new(&stream).lines() {
        let Ok(line) = line else {
            break;
        };
        let line: Value = serde_json::from_str(&line).unwrap();
        let mut reply = match (line["kind"].as_str().unwrap(), line.get("fire_at")) {
            ("hello", _) => json!({"kind": "hello", "protocol": 2}),
            ("schedule", Some(fire_at)) => json!({"kind": "scheduled", "fire_at": fire_at}),
            (_, _) => json!({"kind": "error", "code": "missing_field",
                "message": "fire_at is missing: give Unix milliseconds"}),
        };
        for name in ["tag", "id", "route_key"] {
            if let Some(value) = line.get(name) {
                reply[name] = value.clone();
            }
        }
        if line["kind"] == "schedule" {
            schedules.push(line);
        }
        (&stream)
            .write_all(format!("{reply}\n").as_bytes())
            .unwrap();
    }
    schedules
}

#[test]
fn a_server_that_knows_no_delay_gets_the_time_by_the_clock_of_this_machine() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = thread::spawn(move || serve(&listener));
    let before = now();
    let line = ["schedule", "x", "--route", "a", "--id", "i", "--in", "1h"];
    let receipt = alone(&[&line[..], &["--addr", &address]].concat()).done();
    let schedules = serving.join().unwrap();
    let [delayed, timed] = &schedules[..] else {
        panic!("{schedules:?}");
    };
    assert_eq!(delayed["delay_ms"], 3_600_000);
    assert_eq!(timed.get("delay_ms"), None);
    let fire_at = timed["fire_at"].as_u64().unwrap();
    assert!((before + 3_600_000..=now() + 3_600_001).contains(&fire_at));
    assert!(receipt.ends_with(&format!(" ({fire_at})\n")), "{receipt}");
}
