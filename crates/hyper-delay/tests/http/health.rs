use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::json;
use testkit::{PATIENCE, Process, http, process::lines, server};

use crate::server::Server;

#[test]
fn a_server_is_alive_and_ready() {
    let server = Server::start(json!({}));
    for (path, body) in [("/healthz", "alive\n"), ("/readyz", "ready\n")] {
        let answer = server.get(path);
        assert_eq!((answer.status, &*answer.body), (200, body));
        let kind = answer.header("content-type");
        assert_eq!(kind, Some("text/plain; charset=utf-8"));
    }
    let metrics = server.get("/metrics");
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(metrics.header("content-type"), Some(kind));
}

#[test]
fn answers_have_no_cookies_and_no_cors_headers_and_are_not_stored() {
    let server = Server::start(json!({}));
    let origin = format!("origin: http://{}\r\n", server.http);
    for path in ["/healthz", "/readyz", "/metrics", "/no"] {
        let answer = http::get_with(server.http, path, &origin);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        for (name, _) in &answer.headers {
            assert!(!name.starts_with("access-control-"), "{name}");
            assert_ne!(name, "set-cookie");
        }
    }
}

#[test]
fn other_paths_and_methods_are_refused_with_the_cure() {
    let server = Server::start(json!({}));
    let answer = server.get("/no");
    assert_eq!(answer.status, 404);
    assert!(
        answer
            .body
            .starts_with("\"/no\" does not exist: ask for /, /healthz")
    );
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
        let request =
            format!("{method} /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let answer = http::ask(server.http, &request);
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(
            answer.body,
            format!("the method is {method}: use GET or HEAD\n")
        );
        assert_eq!(answer.header("allow"), Some("GET,HEAD"));
    }
    let head = "HEAD /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let answer = http::ask(server.http, head);
    assert_eq!((answer.status, &*answer.body), (200, ""));
}

#[test]
fn a_server_is_alive_and_not_ready_while_its_store_opens() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    fs::create_dir(&data).unwrap();
    // Reading the commit record waits for a process that writes to it.
    let made = Command::new("mkfifo").arg(data.join("commits")).status();
    assert!(made.unwrap().success());
    let addr = "127.0.0.1:0";
    let config = json!({"bind_addr": addr, "http_addr": addr, "data_dir": "data"});
    fs::write(directory.path().join("config.json"), config.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyper-delay"));
    server::alone(&mut command, directory.path());
    let mut process = Process::spawn(command.stderr(Stdio::piped())).unwrap();
    let log = lines(process.child().stderr.take().unwrap());
    let address = loop {
        let line = log.recv_timeout(PATIENCE).expect("the log has the address");
        if let Some((_, address)) = line.split_once("serving HTTP address=") {
            break address.split(" ").next().unwrap().parse().unwrap();
        }
    };
    assert_eq!(http::get(address, "/healthz").status, 200);
    for path in ["/readyz", "/metrics"] {
        let answer = http::get(address, path);
        assert_eq!(answer.status, 503);
        assert_eq!(answer.body, "the store is being opened: wait\n");
    }
}
