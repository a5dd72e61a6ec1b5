use std::{
    fs,
    io::Write as _,
    net::{Shutdown, TcpListener},
    process::{Command, Stdio},
};

use serde_json::json;
use testkit::{Start, process::run, server};

use crate::server::Server;

#[test]
fn null_turns_it_off() {
    let directory = tempfile::tempdir().unwrap();
    let start = Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory.path());
    let running = start.config(json!({"http_addr": null})).run();
    running.peer().quiet();
    assert!(!running.log().contains("HTTP"), "{}", running.log());
}

#[test]
fn a_port_that_is_taken_ends_the_start_with_an_error_that_names_the_field() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let directory = tempfile::tempdir().unwrap();
    let config = json!({"bind_addr": "127.0.0.1:0", "http_addr": address});
    fs::write(directory.path().join("config.json"), config.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyper-delay"));
    server::alone(&mut command, directory.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let error = run(&mut command, b"").failed(1);
    let start = format!("error: http_addr is {address}, and listening on it failed: ");
    assert!(error.contains(&start), "{error}");
    assert!(error.contains("end the program that uses it"), "{error}");
    assert!(
        !directory.path().join("data").exists(),
        "nothing was opened"
    );
}

#[test]
fn the_address_of_the_other_listener_is_an_error_that_names_both_fields() {
    let directory = tempfile::tempdir().unwrap();
    let config = json!({"bind_addr": "127.0.0.1:7654", "http_addr": "127.0.0.1:7654"});
    fs::write(directory.path().join("config.json"), config.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyper-delay"));
    server::alone(&mut command, directory.path());
    command.arg("--check-config");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let error = run(&mut command, b"").failed(1);
    assert!(
        error.contains(r#"http_addr is "127.0.0.1:7654""#)
            && error.contains("bind_addr is the same"),
        "{error}"
    );
}

#[test]
fn a_client_that_ends_its_side_after_the_request_is_answered() {
    let server = Server::start(json!({}));
    for path in ["/healthz", "/metrics"] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        for _ in 0..50 {
            let mut stream = testkit::http::connect(server.http);
            stream.write_all(request.as_bytes()).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let answer = testkit::http::parse(&testkit::http::rest(&stream));
            assert_eq!(answer.map(|answer| answer.status), Some(200));
        }
    }
}

#[test]
fn several_servers_run_on_one_machine_with_port_0() {
    let servers = [(); 3].map(|()| Server::start(json!({})));
    for server in &servers {
        assert_eq!(server.get("/readyz").status, 200);
        assert_ne!(server.http.port(), 0);
        assert_ne!(server.http, server.address);
    }
}

#[test]
fn the_listener_ends_with_the_server() {
    let server = Server::start(json!({}));
    let open = testkit::http::connect(server.http);
    server.signal("TERM");
    assert_eq!(testkit::http::rest(&open), "");
    let refused = || std::net::TcpStream::connect(server.http).is_err();
    let start = std::time::Instant::now();
    while !refused() {
        assert!(start.elapsed() < testkit::PATIENCE);
    }
}
