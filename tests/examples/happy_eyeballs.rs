use std::net::TcpListener;

use tokio::net::TcpSocket;

use testkit::example::run;

use crate::{helps, refuses, runs_unread};

/// A listener on loopback, and its port.
fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let port = listener.local_addr().expect("it is bound").port();
    (listener, port)
}

/// The address and the event of each line, without the time.
fn events(stdout: &str) -> Vec<(&str, &str)> {
    let lines = stdout.lines().filter_map(|line| line.split_once(" ms  "));
    lines
        .filter_map(|(_, event)| event.split_once(' '))
        .collect()
}

/// Needs a system that drops connection requests when the queue is full, as Linux does.
#[cfg(target_os = "linux")]
#[test]
fn demo_closes_the_late_second_connection_after_the_third_wins() {
    let ended = run("happy_eyeballs", &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));

    let events = events(&ended.stdout);
    let tried: Vec<_> = events.iter().filter(|event| event.1 == "started").collect();
    let [(refuses, _), (silent, _), (answers, _)] = tried[..] else {
        panic!("{}", ended.stdout);
    };
    let of = |address: &str| -> Vec<_> {
        let events = events.iter().filter(|event| event.0 == address);
        events.map(|event| event.1).collect()
    };
    assert!(of(refuses)[1].contains("refused"), "{}", ended.stdout);
    assert_eq!(
        of(silent),
        ["started", "connected", "connected late, closed"]
    );
    assert_eq!(of(answers), ["started", "connected"]);
    let won = format!("\n{answers} won after ");
    assert!(ended.stdout.contains(&won), "{}", ended.stdout);
}

#[test]
fn connects_to_a_name_with_a_listening_address() {
    let (listener, port) = listener();
    let ended = run("happy_eyeballs", &[&format!("localhost:{port}")]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let won = format!("127.0.0.1:{port} won after ");
    assert!(ended.stdout.contains(&won), "{}", ended.stdout);
    listener.accept().expect("it was connected to");
}

#[test]
fn failed_race_lists_every_error() {
    // Bound, so that no other socket takes the port, but not listening.
    let socket = TcpSocket::new_v4().expect("there is IPv4");
    let loopback = "127.0.0.1:0".parse().expect("it is an address");
    socket.bind(loopback).expect("loopback is there");
    let address = socket.local_addr().expect("it is bound").to_string();
    let ended = run("happy_eyeballs", &[&address]);
    assert_eq!(ended.code, Some(1));
    let expected = format!("happy_eyeballs: no address accepted\n#0 {address}: ");
    assert!(ended.stderr.starts_with(&expected), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 2, "{}", ended.stderr);
}

#[test]
fn bad_input_is_reported_in_one_line_that_names_it() {
    let cases = [
        ("example.org", "missing port; give HOST:PORT"),
        (":80", "no host before the colon"),
        ("::1:80", "needs brackets"),
        ("[h]:80", "not an IPv6 address in the brackets"),
        ("h:", "1 to 65535"),
        ("h:0", "1 to 65535"),
        ("h:+80", "1 to 65535"),
        ("h:65536", "1 to 65535"),
    ];
    for (host, cure) in cases {
        refuses(
            "happy_eyeballs",
            &[host],
            &[&format!("host {host:?}"), cure],
        );
    }
    refuses(
        "happy_eyeballs",
        &["a\nb"],
        &["host \"a\\nb\"", "missing port"],
    );
    refuses(
        "happy_eyeballs",
        &["h:1", "i:2"],
        &["\"i:2\"", "only one host"],
    );
    refuses("happy_eyeballs", &["--frob"], &["--frob", "HOST:PORT"]);
}

#[test]
fn help_exits_with_success() {
    helps("happy_eyeballs");
}

#[test]
fn closed_stdout_is_not_an_error() {
    let (_listener, port) = listener();
    runs_unread("happy_eyeballs", &[&format!("127.0.0.1:{port}")]);
}
