//! A log that cannot be written, or that nobody reads, neither ends nor delays the server.

use std::{
    fs::{self, File},
    io::{self, PipeWriter, Write as _},
    net::{SocketAddr, TcpStream},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use rustix::io::ioctl_fionbio;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{PATIENCE, Peer, Process, http, loopback, process};

use crate::process::program;

/// What the standard error of a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    /// Each write fails.
    FullDisk,
    ClosedPipe,
    /// It was full before the server started.
    FullPipe,
    /// The same, and another process has made it non-blocking.
    NonBlockingPipe,
    EmptyPipe,
    /// A stream socket.
    Socket,
}

impl Output {
    const ALL: [Self; 6] = [
        Self::FullDisk,
        Self::ClosedPipe,
        Self::FullPipe,
        Self::NonBlockingPipe,
        Self::EmptyPipe,
        Self::Socket,
    ];

    /// Returns it, and the end that can be read.
    fn open(self) -> (Stdio, Option<OwnedFd>) {
        match self {
            Self::FullDisk => (full_disk(), None),
            Self::Socket => {
                let (ours, its) = UnixStream::pair().unwrap();
                (OwnedFd::from(its).into(), Some(ours.into()))
            }
            _ => {
                let (reader, writer) = io::pipe().unwrap();
                if matches!(self, Self::FullPipe | Self::NonBlockingPipe) {
                    fill(&writer);
                    ioctl_fionbio(&writer, self == Self::NonBlockingPipe).unwrap();
                }
                let reader = Some(reader).filter(|_| self != Self::ClosedPipe);
                (writer.into(), reader.map(OwnedFd::from))
            }
        }
    }
}

fn full_disk() -> Stdio {
    File::options()
        .write(true)
        .open("/dev/full")
        .unwrap()
        .into()
}

/// Writes until the pipe takes no more, and leaves it non-blocking.
fn fill(mut writer: &PipeWriter) {
    ioctl_fionbio(writer, true).unwrap();
    while writer.write(b"\n").is_ok() {}
}

/// A server that logs all there is.
struct Server {
    process: Process,
    address: SocketAddr,
    http: SocketAddr,
    directory: TempDir,
}

impl Server {
    /// Starts a server and waits until it listens.
    #[track_caller]
    fn start(log: Stdio, format: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let [address, http] = [(); 2].map(|()| loopback());
        let config = json!({"bind_addr": address, "http_addr": http, "log_format": format});
        fs::write(directory.path().join("config.json"), config.to_string()).unwrap();
        let mut command = program(directory.path(), &[]);
        let process = Process::spawn(command.env("RUST_LOG", "trace").stderr(log)).unwrap();
        let mut server = Self {
            process,
            address,
            http,
            directory,
        };
        let start = Instant::now();
        while TcpStream::connect(http).is_err() || TcpStream::connect(address).is_err() {
            assert_eq!(server.process.child().try_wait().unwrap(), None, "it ended");
            assert!(start.elapsed() < PATIENCE, "it does not listen");
            thread::sleep(Duration::from_millis(5));
        }
        server
    }

    fn get(&self, path: &str) -> String {
        let answer = http::get(self.http, path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    /// The lines of each kind that were left out.
    fn left_out(&self) -> u64 {
        let metrics = self.get("/metrics");
        let family = "hyper_delay_log_lines_dropped_total{";
        let samples = metrics.lines().filter(|line| line.starts_with(family));
        let values = samples.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
        assert_eq!(values.clone().count(), 3, "{metrics}");
        values.sum()
    }

    /// Schedules, delivers and acknowledges tasks until lines were left out. Each has a reply.
    #[track_caller]
    fn fill_log(&self) {
        let mut consumer = Peer::connect(self.address);
        consumer.register("r");
        let start = Instant::now();
        for round in 0.. {
            for task in 0..100 {
                let id = format!("{round}-{task}");
                let task = json!({
                    "kind": "schedule", "id": id, "route_key": "r", "fire_at": 0,
                });
                consumer.send(task.to_string());
                assert_eq!(consumer.delivery()["id"], *id);
                let ack = json!({"kind": "ack", "id": id, "route_key": "r"});
                consumer.send(ack.to_string());
            }
            if self.left_out() > 0 {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "all of the log was written");
        }
    }

    /// Sends SIGTERM. The server ends without a failure.
    #[track_caller]
    fn end(mut self) {
        self.process.signal("TERM");
        let status = process::wait(self.process.child());
        assert_eq!(status.code(), Some(0));
    }
}

#[test]
fn the_server_starts_works_and_ends_whatever_its_log_is() {
    for output in Output::ALL {
        println!("{output:?}");
        let (log, _unread) = output.open();
        let server = Server::start(log, "text");
        server.fill_log();
        server.get("/healthz");
        server.get("/readyz");
        server.end();
    }
}

#[test]
fn a_backup_and_commands_work_while_nobody_reads_the_log() {
    let (log, _unread) = Output::Socket.open();
    let server = Server::start(log, "json");
    server.fill_log();
    let run = |line: &[&str]| {
        let mut command = program(server.directory.path(), line);
        process::run(
            command.env("HYPER_DELAY_ADDR", server.address.to_string()),
            b"",
        )
    };
    run(&["pause", "r"]).done();
    run(&["schedule", "x", "--route", "r"]).done();
    run(&["backup", "backups"]).done();
    let changes = run(&["audit"]).done();
    assert!(changes.contains("pause"), "{changes}");
    server.end();
}

#[test]
fn what_was_left_out_is_counted_in_lines_that_get_through() {
    for format in ["text", "json"] {
        let (log, unread) = Output::EmptyPipe.open();
        let server = Server::start(log, format);
        server.fill_log();
        let lines = process::lines(File::from(unread.unwrap()));
        let mut told = 0;
        let mut read = 0;
        let mut find = |end: &str| loop {
            let line = lines.recv_timeout(PATIENCE).expect(end);
            read += 1;
            told += left_out(&line, format);
            if line.contains(end) {
                return told;
            }
        };
        let mut told = find("listening");
        // The lines that waited are written now, and later ones get through: the first of them has
        // the number.
        let before = server.left_out();
        let mut peer = Peer::connect(server.address);
        while told < before {
            peer.register("other");
            told = find("");
        }
        let left_out = server.left_out();
        server.end();
        assert_eq!(find("ended"), left_out, "{format}");
        assert!(read > 1_000, "a full buffer has more than {read} lines");
    }
}

/// What a line says about the lines before it.
fn left_out(line: &str, format: &str) -> u64 {
    if format == "json" {
        let line: Value = serde_json::from_str(line).expect(line);
        return line["left_out"].as_u64().unwrap_or(0);
    }
    let number = line.rsplit_once(" left_out=");
    number.map_or(0, |(_, number)| number.parse().unwrap())
}

#[test]
fn a_command_whose_output_cannot_be_written_fails_and_one_that_is_not_read_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let code = |line: &[&str], stdout: Stdio, stderr: Stdio| {
        let mut command = program(directory.path(), line);
        let mut process = Process::spawn(command.stdout(stdout).stderr(stderr)).unwrap();
        process::wait(process.child()).code()
    };
    let closed = || Output::ClosedPipe.open().0;
    for line in [["--help"], ["--version"], ["help"]] {
        assert_eq!(code(&line, full_disk(), Stdio::null()), Some(1), "{line:?}");
        assert_eq!(code(&line, closed(), Stdio::null()), Some(0), "{line:?}");
    }
    // What is wrong is in the exit code, even if nobody can be told.
    for stderr in [full_disk, closed] {
        assert_eq!(code(&["--nothing"], Stdio::null(), stderr()), Some(2));
        assert_eq!(
            code(&["ping", "--addr", "127.0.0.1:1"], Stdio::null(), stderr()),
            Some(1)
        );
        assert_eq!(code(&["--check-config"], Stdio::null(), stderr()), Some(1));
        assert_eq!(code(&["verify", "none"], Stdio::null(), stderr()), Some(1));
    }
}

#[test]
fn an_export_without_its_counts_fails() {
    let (log, _unread) = Output::EmptyPipe.open();
    let server = Server::start(log, "text");
    let directory = server.directory.path().to_owned();
    let mut peer = Peer::connect(server.address);
    peer.ask(r#"{"kind":"ping"}"#);
    let mut stopped = server.process;
    stopped.signal("TERM");
    assert!(process::wait(stopped.child()).success());
    for (stderr, code) in [(full_disk(), 1), (Stdio::null(), 0)] {
        let mut export = program(&directory, &["export", "data/db"]);
        let mut export = Process::spawn(export.stderr(stderr)).unwrap();
        assert_eq!(process::wait(export.child()).code(), Some(code));
    }
}
