#![cfg(unix)]

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use testkit::{
    PATIENCE,
    process::{Process, lines, run, signal, wait},
};

use crate::process::{Server, program};

#[test]
fn the_server_exits_with_code_0_on_sigterm_and_sigint() {
    for signal in ["TERM", "INT"] {
        let server = Server::start(json!({}));
        server.run(&["schedule", "x", "--route", "a"]).done();
        server.running.signal(signal);
        let (status, log) = server.running.ended();
        assert_eq!(status.code(), Some(0));
        assert!(log.lines().last().unwrap().contains("ended"), "{log}");
    }
}

#[test]
fn the_server_ends_at_once_on_sigterm_while_its_store_opens() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    fs::create_dir(&data).unwrap();
    // Reading the commit record waits for a process that writes to it.
    let made = Command::new("mkfifo").arg(data.join("commits")).status();
    assert!(made.unwrap().success());
    let config = json!({"bind_addr": "127.0.0.1:0", "http_addr": null, "data_dir": "data"});
    fs::write(directory.path().join("config.json"), config.to_string()).unwrap();
    let mut server = Process::spawn(&mut program(directory.path(), &[])).unwrap();
    let start = Instant::now();
    while !data.join("lock").exists() {
        assert!(start.elapsed() < PATIENCE, "the store is not being opened");
        thread::sleep(Duration::from_millis(5));
    }
    server.signal("TERM");
    assert_eq!(wait(server.child()).code(), Some(0));
}

#[test]
fn the_server_logs_its_configuration_without_colours() {
    let server = Server::start(json!({"sync": "interval:50ms"}));
    let log = server.running.log();
    // The path is absolute, although the configuration contains a relative one.
    let data_dir = server.directory().join("data/db");
    let starting = log.lines().next().unwrap();
    for part in [
        "INFO",
        "starting",
        concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""),
        "configuration=./config.json",
        data_dir.to_str().unwrap(),
        "sync=interval:50ms",
    ] {
        assert!(starting.contains(part), "{starting}");
    }
    assert!(!log.contains('\x1b'), "{log}");
}

#[test]
fn the_server_warns_if_the_limit_of_open_files_allows_fewer_than_max_connections() {
    for (limit, warns) in [("1000", true), ("2000", false)] {
        let command = format!(r#"ulimit -n {limit}; exec "$@""#);
        let config = json!({"max_connections": 1000});
        let server = Server::start_under(&["sh", "-c", &command, "sh"], config);
        // The answer to a ping shows that the server accepts connections.
        server.run(&["ping"]).done();
        let log = server.running.log();
        let warned = log.contains("limit=1000 max_connections=1000");
        assert_eq!(warned, warns, "{log}");
    }
}

#[test]
fn a_limit_of_open_files_that_is_too_low_is_an_error_with_the_cure() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    let line = r#"ulimit -n 40; exec "$@""#;
    let program = program(directory.path(), &[]);
    command
        .args(["-c", line, "sh"])
        .arg(program.get_program())
        .current_dir(directory.path())
        .env("HYPER_DELAY_CONFIG", "config.json")
        .stderr(Stdio::piped());
    fs::write(
        directory.path().join("config.json"),
        r#"{"bind_addr":"127.0.0.1:0","http_addr":null}"#,
    )
    .unwrap();
    let error = run(&mut command, b"").failed(1);
    let cure = "the limit of open files is 40: raise it to 64 or more (ulimit -n)";
    assert!(error.contains(cure), "{error}");
}

#[test]
fn listen_exits_with_code_0_on_sigterm() {
    let server = Server::start(json!({}));
    let mut child = server.program(&["listen", "a"]).spawn().unwrap();
    let printed = lines(child.stdout.take().unwrap());
    server.run(&["schedule", "x", "--route", "a"]).done();
    printed.recv_timeout(PATIENCE).unwrap();
    signal(&child, "TERM");
    assert_eq!(wait(&mut child).code(), Some(0));
}
