use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    thread,
};

use serde_json::{Value, json};
use testkit::{loopback, process::run};

use crate::process::{Server, alone, program};

#[test]
fn without_a_server_every_command_names_the_address_and_the_cure() {
    let address = loopback().to_string();
    for line in [
        &["schedule", "x", "--route", "a"][..],
        &["listen", "a"],
        &["cancel", "a", "x"],
        &["stats"],
        &["dead", "a"],
        &["ping"],
        &["bench", "schedule", "--tasks", "1"],
    ] {
        let line = [line, &["--addr", &address]].concat();
        let error = alone(&line).failed(1);
        assert!(error.starts_with("error: cannot connect to "), "{error}");
        assert!(error.contains(&address), "{error}");
        assert!(error.contains("server"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn empty_and_odd_variables_are_named() {
    let directory = tempfile::tempdir().unwrap();
    for (variable, value) in [
        ("HYPER_DELAY_ADDR", ""),
        ("HYPER_DELAY_TLS", "2"),
        ("HYPER_DELAY_TLS_CA", ""),
        ("HYPER_DELAY_TLS_CERT", ""),
        ("HYPER_DELAY_TLS_KEY", ""),
        ("HYPER_DELAY_TLS_NAME", ""),
    ] {
        let mut command = program(directory.path(), &["ping"]);
        command.env(variable, value);
        let error = run(&mut command, b"").failed(2);
        assert!(error.contains(&format!("{variable} ")), "{error}");
    }
}

#[test]
fn an_invalid_command_line_exits_with_code_2() {
    for line in [
        &["--nonsense"][..],
        &["nonsense"],
        &["schedule"],
        &["schedule", "x", "--route", "a", "--in", "soon"],
        &["schedule", "x", "--route", "a", "--at", "tomorrow"],
        &["schedule", "x", "--route", "a", "--in", "1s", "--at", "1"],
        &["schedule", "x", "--route", "a", "--compression", "zip"],
        &["schedule", "x", "--route", "a", "--replace"],
        &["listen"],
        &["listen", "a", "--credit", "0"],
        &["listen", "a", "--count", "0"],
        &["dead", "a", "--kick", "x", "--kick-all"],
        &["bench", "nonsense"],
        &["bench", "schedule", "--connections", "0"],
        &["--check-config", "ping"],
    ] {
        let error = alone(line).failed(2);
        assert!(error.starts_with("error: "), "{line:?}: {error}");
    }
}

#[test]
fn an_address_in_use_is_reported_with_a_cure() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let json = format!("{{\"bind_addr\":\"{address}\"}}");
    fs::write(directory.path().join("config.json"), json).unwrap();
    let error = run(&mut program(directory.path(), &[]), b"").failed(1);
    assert!(
        error.contains(&format!("error: bind_addr is {address}")),
        "{error}"
    );
    assert!(error.contains("end the program that uses it"), "{error}");
}

#[test]
fn a_data_directory_of_another_server_is_reported_with_a_cure() {
    let server = Server::start(json!({}));
    let error = server.run(&["serve"]).failed(1);
    assert!(error.contains("data_dir data/db"), "{error}");
    assert!(error.contains("another process uses it"), "{error}");
}

#[test]
fn a_refusal_of_the_server_is_printed() {
    let server = Server::start(json!({}));
    let late = ["schedule", "x", "--route", "a", "--in", "1h", "--id", "i"];
    server.run(&late).done();
    let error = server
        .run(&["schedule", "y", "--route", "a", "--in", "1h", "--id", "i"])
        .failed(1);
    assert!(
        error.starts_with("error: refused (duplicate_id): "),
        "{error}"
    );
    let error = server.run(&["cancel", "a", "no"]).failed(1);
    assert!(error.contains(r#"route "a" has no task "no""#), "{error}");
    let error = server.run(&["dead", "a", "--kick", "i"]).failed(1);
    assert!(
        error.contains(r#"route "a" has no dead letter "i""#),
        "{error}"
    );
}

#[test]
fn a_route_that_looks_like_a_prefix_is_not_listened_to() {
    let server = Server::start(json!({}));
    let error = server.run(&["listen", "mail", "mail*"]).failed(1);
    assert_eq!(
        error.trim_end(),
        "error: route \"mail*\" ends with *, which is a prefix only in tokens and in the \
         configuration of the server; register each route by its whole name"
    );
}

#[test]
fn a_command_asks_the_server_to_refuse_what_it_does_not_know() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let hello: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        // As a server of 0.3 answers, which ignores the field.
        let reply = "{\"kind\":\"hello\",\"protocol\":2,\"server\":\"hyper-delay 0.3.0\"}\n";
        (&stream).write_all(reply.as_bytes()).unwrap();
        let ping: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let pong = json!({"kind": "pong", "tag": ping["tag"]});
        (&stream).write_all(format!("{pong}\n").as_bytes()).unwrap();
        hello
    });
    alone(&["ping", "--addr", &address]).done();
    let hello = server.join().unwrap();
    assert_eq!(
        hello,
        json!({"kind": "hello", "protocol": 2, "strict": true})
    );
}
