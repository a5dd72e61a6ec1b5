//! The log as JSON.

use std::{fs, io::Write as _, net::TcpListener};

use serde_json::{Value, json};
use testkit::{Start, http, process::run};

use crate::process::program;

const BINARY: &str = env!("CARGO_BIN_EXE_hyper-delay");

/// Parses each line. A line that is not one object fails the test.
#[track_caller]
fn objects(log: &str) -> Vec<Value> {
    let lines = log.lines().map(|line| {
        let object: Value = serde_json::from_str(line).expect(line);
        for key in ["timestamp", "level", "target"] {
            assert!(object[key].is_string(), "{line}");
        }
        assert!(object["fields"]["message"].is_string(), "{line}");
        assert!(!line.contains('\u{1b}'), "{line}");
        object
    });
    lines.collect()
}

fn with_message<'a>(log: &'a [Value], message: &str) -> &'a Value {
    let found = log.iter().find(|line| line["fields"]["message"] == message);
    found.unwrap_or_else(|| panic!("no line says {message:?}: {log:?}"))
}

#[test]
fn each_line_is_one_object_from_the_start_to_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let server = Start::new(BINARY, directory.path())
        .config(json!({"log_format": "json", "data_dir": "data"}))
        .run();
    let address = server.address.to_string();
    fs::write(directory.path().join("config.json"), r#"{"tick_ms": 0}"#).unwrap();
    server.signal("HUP");
    server.logs("the old one stays in force");
    server.signal("TERM");
    let (status, log) = server.ended();
    assert!(status.success(), "{log}");
    let log = objects(&log);
    let starting = &with_message(&log, "starting")["fields"];
    assert_eq!(starting["configuration"], "./config.json");
    assert_eq!(starting["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        with_message(&log, "listening")["fields"]["address"],
        *address
    );
    assert_eq!(with_message(&log, "listening")["level"], "INFO");
    let message = "the configuration was not reloaded: the old one stays in force";
    let refused = with_message(&log, message);
    assert_eq!(refused["level"], "ERROR");
    let error = refused["fields"]["error"].as_str().unwrap();
    assert!(error.contains("tick_ms is 0"), "{error}");
    with_message(&log, "ended");
}

#[test]
fn no_line_has_a_payload_at_any_level() {
    for format in ["text", "json"] {
        let directory = tempfile::tempdir().unwrap();
        let server = Start::new(BINARY, directory.path())
            .config(json!({"log_format": format}))
            .env("RUST_LOG", "trace")
            .run();
        let mut consumer = server.consumer("r");
        let mut peer = server.peer();
        // The text "hyper-delay-secret", and the same in base64.
        let payload = "aHlwZXItZGVsYXktc2VjcmV0";
        let task = format!(
            r#"{{"kind":"schedule","id":"t","route_key":"r","fire_at":0,"payload_base64":"{payload}"}}"#
        );
        peer.send(&task);
        assert_eq!(consumer.kind("delivery")["payload_base64"], payload);
        consumer.send(r#"{"kind":"nack","id":"t","route_key":"r"}"#);
        // Lines that are no requests have payloads, too.
        peer.send(format!(
            r#"{{"kind":"schedule","payload_base64":"{payload}"}}"#
        ));
        peer.send(format!("{payload}\u{7f}"));
        peer.ask(r#"{"kind":"ping"}"#);
        consumer.ask(r#"{"kind":"ping"}"#);
        server.signal("TERM");
        let (status, log) = server.ended();
        assert!(status.success(), "{log}");
        assert!(log.contains("TRACE"), "{log}");
        assert!(!log.contains("secret") && !log.contains(payload), "{log}");
        if format == "json" {
            objects(&log);
        }
    }
}

#[test]
fn no_line_has_a_token_or_a_body_of_http_at_any_level() {
    let directory = tempfile::tempdir().unwrap();
    let token = |rights: &str| {
        let line = [
            "token",
            "new",
            "--file",
            "tokens.json",
            "--name",
            rights,
            "--right",
            rights,
            "--route",
            "*",
        ];
        let made = run(&mut program(directory.path(), &line), b"").done();
        made.trim().to_owned()
    };
    let (token, other) = (token("schedule"), token("admin"));
    let server = Start::new(BINARY, directory.path())
        .config(json!({"tokens": "tokens.json", "http_addr": "127.0.0.1:0"}))
        .env("RUST_LOG", "trace")
        .run();
    let payload = "aHlwZXItZGVsYXktc2VjcmV0";
    let body = json!({
        "id": "t", "route_key": "r", "fire_at": 9_000_000_000_000_000_u64,
        "payload_base64": payload,
    })
    .to_string();
    let post = |token: &str, body: &str| {
        let head = format!(
            "POST /v1/tasks HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            server.http(),
            body.len(),
        );
        http::ask(server.http(), &(head + body)).status
    };
    let soon = body.replace("9000000000000000", "0");
    assert_eq!(post(&token, &soon), 200);
    // Refused: the time, the token, its right, and what is no JSON.
    assert_eq!(post(&token, &body), 400);
    assert_eq!(post(&format!("{token}x"), &soon), 401);
    assert_eq!(post(&other, &soon), 403);
    assert_eq!(post(&token, &soon[1..]), 400);

    let mut peer = server.peer();
    let wrong = format!("{}AAAA", &token[..token.len() - 4]);
    for (token, kind) in [(&wrong, "error"), (&token, "authenticated")] {
        let auth = json!({"kind": "auth", "token": token});
        assert_eq!(peer.ask(&auth.to_string())["kind"], kind);
    }
    let register = json!({"kind": "register", "route_key": "r", "token": other});
    assert_eq!(peer.code(&register.to_string()), "forbidden");
    peer.send(format!(r#"{{"kind":"auth","token":"{token}""#));
    peer.ask(r#"{"kind":"ping"}"#);

    server.signal("TERM");
    let (status, log) = server.ended();
    assert!(status.success(), "{log}");
    assert!(log.contains("TRACE"), "{log}");
    // What is before that, such as the id of the token, is no secret.
    for token in [&token, &other, &wrong] {
        assert!(!log.contains(&token[16..32]), "{log}");
    }
    assert!(!log.contains("hyper-delay-secret"), "{log}");
    assert!(!log.contains(payload), "{log}");
}

#[test]
fn the_error_on_which_the_server_ends_is_an_object_too() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut file = fs::File::create(directory.path().join("config.json")).unwrap();
    write!(file, r#"{{"log_format":"json","bind_addr":"{address}"}}"#).unwrap();
    let log = run(&mut program(directory.path(), &["serve"]), b"").failed(1);
    let log = objects(&log);
    let last = log.last().unwrap();
    assert_eq!(last["level"], "ERROR");
    assert_eq!(last["fields"]["message"], "the server ends");
    let error = last["fields"]["error"].as_str().unwrap();
    assert!(
        error.starts_with(&format!("bind_addr is {address}")),
        "{error}"
    );

    // A filter without errors hides it from the log, so it is text.
    let mut silent = program(directory.path(), &["serve"]);
    let error = run(silent.env("RUST_LOG", "off"), b"").failed(1);
    assert!(error.starts_with("error: bind_addr is "), "{error}");
}

#[test]
fn a_format_that_does_not_exist_is_an_error_with_the_cure() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("config.json"),
        r#"{"log_format":"xml"}"#,
    )
    .unwrap();
    let error = run(&mut program(directory.path(), &["--check-config"]), b"").failed(1);
    assert_eq!(
        error,
        "error: ./config.json: log_format is \"xml\": give \"text\" or \"json\"\n"
    );
}

#[test]
fn the_trace_context_of_a_task_is_in_its_schedule_and_its_delivery() {
    let directory = tempfile::tempdir().unwrap();
    let server = Start::new(BINARY, directory.path())
        .config(json!({"log_format": "json"}))
        .env("RUST_LOG", "trace")
        .run();
    let mut consumer = server.consumer("r");
    let context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let task = json!({
        "kind": "schedule", "id": "t", "route_key": "r", "fire_at": 0,
        "headers": {"authorization": "hyper-delay-secret", "traceparent": context},
    });
    consumer.send(task.to_string());
    assert_eq!(consumer.kind("delivery")["headers"]["traceparent"], context);
    server.signal("TERM");
    let (status, log) = server.ended();
    assert!(status.success(), "{log}");
    assert!(!log.contains("hyper-delay-secret"), "{log}");
    let log = objects(&log);
    for event in ["schedule", "delivery"] {
        let mut lines = log.iter().map(|line| &line["fields"]);
        let line = lines.find(|fields| fields["event"] == event).expect(event);
        let shown = [&line["route"], &line["id"], &line["traceparent"]];
        assert_eq!(shown, ["r", "t", context]);
    }
}
