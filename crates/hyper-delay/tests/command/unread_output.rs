//! `listen` whose output is not read, or cannot be written.

use std::{
    fs::File,
    io::{PipeReader, PipeWriter, Write as _},
    process::Stdio,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    PATIENCE,
    process::{signal, wait},
};

use crate::process::Server;

const TASKS: usize = 20;

/// A server with due tasks, each of which is dead after its first failure.
fn server() -> Server {
    let server = Server::start(json!({"max_attempts": 1, "retry_delay_ms": 10}));
    for number in 0..TASKS {
        let id = format!("task-{number}");
        server
            .run(&["schedule", "x", "--route", "a", "--id", &id])
            .done();
    }
    server
}

/// A pipe that takes no more bytes.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // Larger than any pipe may become by default.
    let (done, is_done) = mpsc::channel();
    let mut filler = writer.try_clone().unwrap();
    thread::spawn(move || {
        let _ = filler.write_all(&vec![0; 1 << 20]);
        let _ = done.send(());
    });
    let waited = is_done.recv_timeout(Duration::from_secs(1));
    assert!(waited.is_err(), "the pipe took everything");
    writer.flush().unwrap();
    (reader, writer)
}

fn stats(server: &Server) -> Value {
    let stats = server.run(&["stats", "--json"]).done();
    serde_json::from_str(&stats).unwrap()
}

/// No task is dead or gone.
#[track_caller]
fn all_are_there(server: &Server) {
    let stats = stats(server);
    let pending = ["waiting", "parked"].map(|field| stats[field].as_u64().unwrap());
    let pending: u64 = pending.into_iter().sum();
    assert_eq!(
        (&stats["dead"], pending),
        (&json!(0), TASKS as u64),
        "{stats}"
    );
}

fn wait_until_in_flight(server: &Server) {
    let begun = Instant::now();
    while stats(server)["in_flight"] == 0 {
        assert!(begun.elapsed() < PATIENCE, "nothing is delivered");
    }
}

#[test]
fn listen_ends_although_nothing_reads_its_output_and_its_tasks_have_not_failed() {
    for end in ["TERM", "INT"] {
        let server = server();
        let (_reader, writer) = full_pipe();
        let mut command = server.program(&["listen", "a"]);
        let mut child = command.stdout(Stdio::from(writer)).spawn().unwrap();
        wait_until_in_flight(&server);
        signal(&child, end);
        assert_eq!(wait(&mut child).code(), Some(0));
        all_are_there(&server);
    }
}

#[test]
fn listen_gives_back_what_it_cannot_print() {
    let server = server();
    let mut command = server.program(&["listen", "a"]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut child = command.stdout(Stdio::from(full)).spawn().unwrap();
    assert_eq!(wait(&mut child).code(), Some(1));
    all_are_there(&server);
}
