//! What the server tells the service manager, on a socket of the test's own.

use std::{
    fs,
    os::unix::net::UnixDatagram,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;
use tempfile::TempDir;
use testkit::{PATIENCE, Peer, Process, Server, Start, process, process::run};

use crate::process::program;

const BINARY: &str = env!("CARGO_BIN_EXE_hyper-delay");

/// A socket that takes the place of the service manager's.
struct Manager {
    socket: UnixDatagram,
    directory: TempDir,
}

impl Manager {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(directory.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { socket, directory }
    }

    fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn start(&self) -> Start<'_> {
        let name = self.directory().join("notify");
        Start::new(BINARY, self.directory()).env("NOTIFY_SOCKET", name)
    }

    /// The next message.
    fn message(&self) -> String {
        message(&self.socket)
    }

    /// Sends SIGTERM and returns all messages that are left when the server has ended.
    fn end(&self, server: Server) -> Vec<String> {
        server.signal("TERM");
        let (status, log) = server.ended();
        assert!(status.success(), "{log}");
        self.left()
    }

    fn left(&self) -> Vec<String> {
        self.socket.set_nonblocking(true).unwrap();
        let mut buffer = [0; 4096];
        let mut messages = Vec::new();
        while let Ok(length) = self.socket.recv(&mut buffer) {
            messages.push(String::from_utf8(buffer[..length].to_vec()).unwrap());
        }
        messages
    }
}

fn message(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).expect("a message comes");
    String::from_utf8(buffer[..length].to_vec()).unwrap()
}

/// Asserts that this is the message of a reload.
#[track_caller]
fn assert_reloading(message: &str) {
    let micros = message.strip_prefix("RELOADING=1\nMONOTONIC_USEC=");
    let micros = micros.and_then(|rest| rest.strip_suffix('\n'));
    let micros: Option<u64> = micros.and_then(|number| number.parse().ok());
    assert!(micros.is_some_and(|micros| micros > 0), "{message:?}");
}

#[test]
fn ready_is_sent_when_the_server_listens_and_stopping_when_it_ends() {
    let manager = Manager::new();
    let server = manager.start().run();
    assert_eq!(manager.message(), "READY=1\n");
    server.peer().quiet();
    assert_eq!(manager.end(server), ["STOPPING=1\n"]);
}

#[test]
fn a_server_that_does_not_start_is_never_ready() {
    let manager = Manager::new();
    let _running = Start::new(BINARY, manager.directory()).run();
    // The first server uses the data directory.
    let log = manager.start().try_run().unwrap_err();
    assert!(log.contains("another process uses it"), "{log}");
    assert_eq!(manager.left(), [""; 0]);
}

#[test]
fn a_reload_is_told_before_and_after_it() {
    let manager = Manager::new();
    let server = manager.start().config(json!({"credit": 3})).run();
    assert_eq!(manager.message(), "READY=1\n");
    for credit in [4, 5, 6] {
        let config = json!({"bind_addr": "127.0.0.1:0", "http_addr": null, "credit": credit});
        let file = manager.directory().join("config.json");
        fs::write(&file, config.to_string()).unwrap();
        server.signal("HUP");
        assert_reloading(&manager.message());
        assert_eq!(manager.message(), "READY=1\n");
        let mut peer = server.peer();
        let registered = peer.register_with("a", r#""mode":"shared""#);
        assert_eq!(registered["credit"], credit, "it is in force");
    }
    assert_eq!(manager.end(server), ["STOPPING=1\n"]);
}

#[test]
fn a_reload_with_unusable_tls_files_ends_too() {
    let manager = Manager::new();
    let server = manager.start().run();
    assert_eq!(manager.message(), "READY=1\n");
    let tls = json!({"cert": "none.pem", "key": "none.pem"});
    let config = json!({"bind_addr": "127.0.0.1:0", "http_addr": null, "tls": tls});
    fs::write(manager.directory().join("config.json"), config.to_string()).unwrap();
    server.signal("HUP");
    assert_reloading(&manager.message());
    assert_eq!(manager.message(), "READY=1\n");
    let line = server.logs("the configuration was not reloaded");
    assert!(line.contains("none.pem"), "{line}");
    assert_eq!(manager.end(server), ["STOPPING=1\n"]);
}

/// Whether a process has a handler of SIGHUP, which is signal 1.
fn handles_hangup(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    u64::from_str_radix(caught.unwrap().trim(), 16).unwrap() & 1 == 1
}

#[test]
fn a_reload_before_the_server_listens_is_part_of_its_start() {
    let manager = Manager::new();
    let configure = |credit: u32| {
        let config = json!({"bind_addr": "127.0.0.1:0", "http_addr": null, "credit": credit});
        let file = manager.directory().join("config.json");
        fs::write(file, config.to_string()).unwrap();
    };
    configure(3);
    let mut command = program(manager.directory(), &["serve"]);
    command.env("NOTIFY_SOCKET", manager.directory().join("notify"));
    let mut server = Process::spawn(&mut command).unwrap();
    let log = process::lines(server.child().stderr.take().unwrap());
    let wait_for = |texts: &[&str]| loop {
        let line = log.recv_timeout(PATIENCE).expect(texts[0]);
        if texts.iter().any(|text| line.contains(text)) {
            return line;
        }
    };
    wait_for(&["starting"]);
    while !handles_hangup(server.id()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    configure(5);
    server.signal("HUP");
    if !wait_for(&["reloading", "listening"]).contains("reloading") {
        println!("NOTE: this test checks nothing: the server listened too soon");
        return;
    }
    let listening = wait_for(&["listening address="]);
    let (_, address) = listening.split_once("address=").unwrap();
    let mut peer = Peer::connect(address.trim().parse().unwrap());
    let registered = peer.register_with("a", r#""mode":"shared""#);
    assert_eq!(registered["credit"], 5);
    server.signal("TERM");
    assert!(process::wait(server.child()).success());
    assert_eq!(manager.left(), ["READY=1\n", "STOPPING=1\n"]);
}

#[test]
fn a_reload_that_fails_is_over_too() {
    let manager = Manager::new();
    let server = manager.start().run();
    assert_eq!(manager.message(), "READY=1\n");
    fs::write(manager.directory().join("config.json"), "no JSON").unwrap();
    server.signal("HUP");
    assert_reloading(&manager.message());
    assert_eq!(manager.message(), "READY=1\n");
    server.logs("the old one stays in force");
    assert_eq!(manager.end(server), ["STOPPING=1\n"]);
}

#[test]
fn signs_of_life_come_at_half_of_the_allowed_time() {
    const HALF: Duration = Duration::from_millis(100);
    let manager = Manager::new();
    let started = Instant::now();
    let server = manager.start().env("WATCHDOG_USEC", "200000").run();
    assert_eq!(manager.message(), "READY=1\n");
    let signs = 10;
    for _ in 0..signs {
        assert_eq!(manager.message(), "WATCHDOG=1\n");
    }
    assert!(
        started.elapsed() >= HALF * (signs - 1),
        "they come too often"
    );
    let left = manager.end(server);
    assert!(left.contains(&"STOPPING=1\n".to_owned()), "{left:?}");
}

#[test]
fn signs_of_life_go_on_while_the_server_works() {
    let manager = Manager::new();
    let server = manager.start().env("WATCHDOG_USEC", "100000").run();
    assert_eq!(manager.message(), "READY=1\n");
    let mut consumer = server.consumer("r");
    let mut signs = 0;
    for task in 0..300 {
        consumer.send(format!(
            r#"{{"kind":"schedule","id":"{task}","route_key":"r","fire_at":0,"payload_base64":""}}"#
        ));
        let delivery = consumer.delivery();
        consumer.send(testkit::request::echo("ack", &delivery));
    }
    while signs < 5 {
        assert_eq!(manager.message(), "WATCHDOG=1\n");
        signs += 1;
    }
    manager.end(server);
}

#[test]
fn no_sign_of_life_is_sent_if_none_is_wanted_of_this_process() {
    for variables in [
        &[][..],
        &[("WATCHDOG_USEC", "10000"), ("WATCHDOG_PID", "1")],
        &[("WATCHDOG_USEC", "0")],
        &[("WATCHDOG_USEC", "soon")],
    ] {
        let manager = Manager::new();
        let start = (variables.iter()).fold(manager.start(), |start, (name, value)| {
            start.env(name, value)
        });
        let server = start.run();
        assert_eq!(manager.message(), "READY=1\n");
        // Long enough for five signs.
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(manager.end(server), ["STOPPING=1\n"], "{variables:?}");
    }
}

#[test]
fn the_socket_can_have_an_abstract_name() {
    use std::os::{linux::net::SocketAddrExt as _, unix::net::SocketAddr};

    let directory = tempfile::tempdir().unwrap();
    let name = format!("hyper-delay-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let socket = UnixDatagram::bind_addr(&address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let _server = Start::new(BINARY, directory.path())
        .env("NOTIFY_SOCKET", format!("@{name}"))
        .run();
    assert_eq!(message(&socket), "READY=1\n");
}

#[test]
fn a_socket_that_cannot_be_used_is_a_warning_and_the_server_runs() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    for (socket, warning) in [
        ("relative", "NOTIFY_SOCKET cannot be used"),
        (
            missing.to_str().unwrap(),
            "the service manager could not be told",
        ),
    ] {
        let server = Start::new(BINARY, directory.path())
            .env("NOTIFY_SOCKET", socket)
            .run();
        let line = server.logs(warning);
        assert!(line.contains("WARN"), "{line}");
        server.peer().quiet();
        server.signal("TERM");
        assert!(server.ended().0.success());
    }
}

#[test]
fn other_commands_tell_nothing() {
    let manager = Manager::new();
    let mut check = program(manager.directory(), &["--check-config"]);
    check.env("NOTIFY_SOCKET", manager.directory().join("notify"));
    run(&mut check, b"").done();
    assert_eq!(manager.left(), [""; 0]);
}
