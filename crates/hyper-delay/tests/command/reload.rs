#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};
use testkit::Start;

use crate::process::Server;

/// Writes this configuration and sends SIGHUP.
fn reload(server: &Server, config: &str) {
    fs::write(server.directory().join("config.json"), config).unwrap();
    server.running.signal("HUP");
}

/// A configuration with these fields and a free port.
fn file(fields: &[(&str, Value)]) -> String {
    let mut config = json!({"bind_addr": "127.0.0.1:0", "http_addr": null});
    for (field, value) in fields {
        config[*field] = value.clone();
    }
    config.to_string()
}

#[test]
fn a_reload_applies_limits_to_new_connections_and_settings_to_old_ones() {
    let server = Server::start(json!({"max_attempts": null}));
    let mut peer = server.running.peer();
    peer.quiet();
    let fields = [
        ("max_routes_per_connection", json!(1)),
        ("max_connections", json!(1)),
        ("reserved_connections", json!(0)),
    ];
    reload(&server, &file(&fields));
    let line = server.logs("the configuration was reloaded");
    assert!(line.contains("INFO"), "{line}");
    for (field, _) in fields {
        assert!(line.contains(field), "{line}");
    }
    let mut second = server.running.peer();
    assert_eq!(second.kind("error")["code"], "too_many_connections");
    peer.register("a");
    let another = r#"{"kind":"register","route_key":"b"}"#;
    assert_eq!(peer.code(another), "too_many_routes");
    assert!(!server.running.log().contains("only after a restart"));
}

#[test]
fn hosts_that_are_no_longer_allowed_are_refused() {
    let server = Server::start(json!({}));
    let mut peer = server.running.peer();
    peer.quiet();
    reload(&server, &file(&[("allowed_hosts", json!(["10.0.0.0/8"]))]));
    server.logs("the configuration was reloaded");
    assert_eq!(server.running.peer().line(), None);
    peer.quiet();
}

#[test]
fn fields_that_need_a_restart_are_named_and_keep_their_values() {
    let server = Server::start(json!({}));
    let fields = [
        ("tick_ms", json!(5)),
        ("data_dir", json!("other")),
        ("credit", json!(7)),
    ];
    reload(&server, &file(&fields));
    let line = server.logs("only after a restart");
    assert!(line.contains("WARN"), "{line}");
    assert!(
        line.contains("tick_ms") && line.contains("data_dir"),
        "{line}"
    );
    assert!(!line.contains("credit"), "{line}");
    let mut peer = server.running.peer();
    assert_eq!(peer.register_with("a", r#""mode":"shared""#)["credit"], 7);
    assert!(!server.directory().join("other").exists());
}

#[test]
fn an_invalid_file_is_reported_and_the_old_configuration_stays() {
    let server = Server::start(json!({"credit": 9}));
    reload(&server, r#"{"credit": 0}"#);
    let line = server.logs("the configuration was not reloaded");
    assert!(line.contains("ERROR"), "{line}");
    assert!(
        line.contains("credit is 0: give a number from 1 to 65535"),
        "{line}"
    );
    let mut peer = server.running.peer();
    assert_eq!(peer.register_with("a", r#""mode":"shared""#)["credit"], 9);
    // A later valid file is applied.
    reload(&server, &file(&[("credit", json!(11))]));
    server.logs("the configuration was reloaded");
    let mut peer = server.running.peer();
    assert_eq!(peer.register_with("a", r#""mode":"shared""#)["credit"], 11);
}

#[test]
fn a_reload_keeps_the_values_of_flags_and_of_the_environment() {
    let directory = tempfile::tempdir().unwrap();
    let server = Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory.path())
        .config(json!({
            "bind_addr": "127.0.0.1:1", "http_addr": null, "data_dir": "file", "credit": 3
        }))
        .flags(&["--data-dir", "mine"])
        .env("HYPER_DELAY_BIND_ADDR", "127.0.0.1:0")
        .run();
    let changed = json!({
        "bind_addr": "127.0.0.1:2", "http_addr": null, "data_dir": "other", "credit": 5
    });
    fs::write(directory.path().join("config.json"), changed.to_string()).unwrap();
    server.signal("HUP");
    let line = server.logs("the configuration was reloaded");
    assert!(line.contains("applied=credit"), "{line}");
    let credit = &server.peer().register_with("a", r#""mode":"shared""#)["credit"];
    assert_eq!(credit, 5);
    // The fields of the flags did not change, so nothing waits for a restart.
    assert!(
        !server.log().contains("after a restart"),
        "{}",
        server.log()
    );
}

#[test]
fn a_reload_reads_the_file_of_the_flag() {
    let directory = tempfile::tempdir().unwrap();
    let mine = directory.path().join("mine.json");
    fs::write(
        &mine,
        r#"{"bind_addr": "127.0.0.1:0", "http_addr": null, "credit": 3}"#,
    )
    .unwrap();
    let server = Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory.path())
        .flags(&["serve", "--config", "mine.json"])
        .run();
    fs::write(
        &mine,
        r#"{"bind_addr": "127.0.0.1:0", "http_addr": null, "credit": 6}"#,
    )
    .unwrap();
    server.signal("HUP");
    let line = server.logs("the configuration was reloaded");
    assert!(line.contains("applied=credit"), "{line}");
    let credit = &server.peer().register_with("a", r#""mode":"shared""#)["credit"];
    assert_eq!(credit, 6);
}
