//! The options of `schedule` for headers and terms.

use serde_json::{Value, json};
use testkit::request::now;

use crate::process::{Server, alone};

/// The terms and the headers of a task, as the server shows them.
const FIELDS: [&str; 6] = [
    "headers",
    "expires_at",
    "ack_timeout_ms",
    "max_attempts",
    "retry_delay_ms",
    "max_retry_delay_ms",
];

/// Schedules a task with these options, and returns those of the fields that it has.
#[track_caller]
fn scheduled(server: &Server, id: &str, options: &[&str]) -> Value {
    let line = ["schedule", "x", "--route", "a", "--in", "1h", "--id", id];
    server.run(&[&line[..], options].concat()).done();
    let get = format!(r#"{{"kind":"get","route_key":"a","id":"{id}","payload":true}}"#);
    let task = server.running.peer().ask(&get);
    assert_eq!(task["found"], true, "{task}");
    let given = FIELDS.iter().filter(|field| task.get(**field).is_some());
    given
        .map(|field| ((*field).to_owned(), task[*field].clone()))
        .collect()
}

#[test]
fn each_option_of_a_task_reaches_the_server_and_nothing_else_does() {
    let server = Server::start(json!({}));
    let at = "2031-01-31T08:00:00.5+01:00";
    for (number, (options, expected)) in [
        (&[][..], json!({})),
        (&["--header", "a=b=c"], json!({"headers": {"a": "b=c"}})),
        (
            &["--header", "a=", "--header", "traceparent=00-0af7"],
            json!({"headers": {"a": "", "traceparent": "00-0af7"}}),
        ),
        (&["--header", "-x=-y"], json!({"headers": {"-x": "-y"}})),
        (
            &["--expires-at", at],
            json!({"expires_at": 1_927_609_200_500_u64}),
        ),
        (
            &["--expires-at", "1927609200501"],
            json!({"expires_at": 1_927_609_200_501_u64}),
        ),
        (
            &["--ack-timeout", "1m 30s"],
            json!({"ack_timeout_ms": 90_000}),
        ),
        (&["--ack-timeout", "1ns"], json!({"ack_timeout_ms": 1})),
        (
            &["--max-attempts", "4294967295"],
            json!({"max_attempts": u32::MAX}),
        ),
        (&["--retry-delay", "5s"], json!({"retry_delay_ms": 5_000})),
        (
            &["--max-retry-delay", "1day"],
            json!({"max_retry_delay_ms": 86_400_000}),
        ),
        (
            &[
                "--header",
                "a=b",
                "--expires-at",
                at,
                "--ack-timeout",
                "1s",
                "--max-attempts",
                "2",
                "--retry-delay",
                "3s",
                "--max-retry-delay",
                "4s",
            ],
            json!({
                "headers": {"a": "b"}, "expires_at": 1_927_609_200_500_u64,
                "ack_timeout_ms": 1_000, "max_attempts": 2, "retry_delay_ms": 3_000,
                "max_retry_delay_ms": 4_000,
            }),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let found = scheduled(&server, &number.to_string(), options);
        assert_eq!(found, expected, "{options:?}");
    }
}

#[test]
fn expires_in_counts_from_now() {
    let server = Server::start(json!({}));
    let before = now();
    let found = scheduled(&server, "1", &["--expires-in", "2h"]);
    let two_hours = 7_200_000;
    let expires_at = found["expires_at"].as_u64().unwrap();
    // Rounded up to a millisecond.
    let range = before + two_hours..=now() + two_hours + 1;
    assert!(range.contains(&expires_at), "{expires_at} in {range:?}");
    assert_eq!(found, json!({"expires_at": expires_at}));
}

#[test]
fn options_that_cannot_be_read_are_refused_with_the_value_and_the_cure() {
    let time = "give a time such as 500ms, 5s or 1h 30m";
    let moment = "give a time such as 2030-01-31T08:00:00Z";
    for (option, value, cure) in [
        ("--header", "traceparent", "give a name, =, and a value"),
        ("--header", "=00-0af7", "give a name, =, and a value"),
        ("--header", "-x", "give a name, =, and a value"),
        ("--expires-in", "soon", time),
        ("--expires-in", "-5s", time),
        ("--expires-at", "tomorrow", moment),
        ("--expires-at", "-1", moment),
        (
            "--expires-at",
            "1927609200",
            "give milliseconds, 1927609200000",
        ),
        ("--ack-timeout", "5", time),
        ("--ack-timeout", "-5s", time),
        ("--max-attempts", "0", "0 is not in 1..=4294967295"),
        ("--max-attempts", "-1", "-1 is not in 1..=4294967295"),
        (
            "--max-attempts",
            "4294967296",
            "4294967296 is not in 1..=4294967295",
        ),
        ("--max-attempts", "many", "invalid digit"),
        ("--retry-delay", "-1s", time),
        ("--retry-delay", "1 fortnight", time),
        ("--max-retry-delay", "-1s", time),
        ("--max-retry-delay", "", time),
    ] {
        let error = alone(&["schedule", "x", "--route", "a", option, value]).failed(2);
        let first = error.lines().next().unwrap();
        assert!(first.starts_with("error: "), "{error}");
        assert!(first.contains(option) && first.contains(value), "{error}");
        assert!(error.contains(cure), "{option} {value}: {error}");
    }
    let both = ["--expires-in", "1s", "--expires-at", "1927609200000"];
    let line = ["schedule", "x", "--route", "a"];
    let error = alone(&[&line[..], &both].concat()).failed(2);
    assert!(
        error.contains("--expires-in") && error.contains("--expires-at"),
        "{error}"
    );
}

#[test]
fn options_out_of_range_are_refused_with_the_value_and_the_cure() {
    let server = Server::start(json!({}));
    let long = format!("a={}", "v".repeat(1_025));
    let name = format!("{}=a", "n".repeat(65));
    for (options, message) in [
        (
            &["--ack-timeout", "0s"][..],
            "ack_timeout_ms is 0: give milliseconds from 1 to 86400000",
        ),
        (
            &["--ack-timeout", "86400001ms"],
            "ack_timeout_ms is 86400001: give milliseconds from 1 to 86400000",
        ),
        (
            &["--retry-delay", "2days"],
            "retry_delay_ms is 172800000: give milliseconds from 1 to 86400000",
        ),
        (
            &["--max-retry-delay", "0s"],
            "max_retry_delay_ms is 0: give milliseconds from 1 to 86400000",
        ),
        (
            &["--retry-delay", "2s", "--max-retry-delay", "1s"],
            "max_retry_delay_ms is 1000: give at least retry_delay_ms, which is 2000",
        ),
        (
            &["--expires-at", "7"],
            "expires_at is 7: give a time after fire_at, which is ",
        ),
        (
            &["--in", "2h", "--expires-in", "1h"],
            ": give a time after the end of delay_ms, which is ",
        ),
        (
            &["--header", &long],
            "give values of at most 1024 bytes, as not that of \"a\"",
        ),
        (&["--header", &name], "give names of 1 to 64 bytes"),
    ] {
        let line = ["schedule", "x", "--route", "a"];
        let error = server.run(&[&line[..], options].concat()).failed(1);
        assert!(error.contains(message), "{options:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert_eq!(server.running.peer().all_stats()["waiting"], 0);
}

#[test]
fn expired_tasks_are_in_the_log() {
    let server = Server::start(json!({}));
    let mut peer = server.running.peer();
    let mut lead = 200;
    loop {
        let expires = now() + lead;
        let task = json!({
            "kind": "schedule", "id": "short-lived", "route_key": "offers", "fire_at": 0,
            "expires_at": expires, "payload_base64": "c2VjcmV0",
        });
        let reply = peer.ask(&task.to_string());
        if reply["kind"] == "ack" {
            break;
        }
        // On a slow machine the time can pass before the server takes the task.
        assert!(now() >= expires, "{reply}");
        lead *= 2;
    }
    let line = server.logs("tasks have expired and are removed; this is the latest one");
    assert!(line.contains(" INFO "), "{line}");
    for field in ["tasks=1", "route=offers", "id=short-lived"] {
        assert!(line.contains(field), "{field}: {line}");
    }
}
