//! Processes of the program, each given up on after a while.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// When to give up on anything that must happen, on a machine however slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What a process left behind.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// What it has printed, if it has done what it was to do.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// What it has complained about, if it has failed with this code.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        self.stderr
    }
}

/// The program, in a directory, with nothing of it in the environment.
pub(crate) fn program(directory: &Path, line: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyper-delay"));
    command
        .args(line)
        .current_dir(directory)
        .env_remove("HYPER_DELAY_ADDR")
        .env_remove("HYPER_DELAY_CONFIG")
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs it to its end.
#[track_caller]
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Ended {
    if !input.is_empty() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().unwrap();
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input).unwrap();
    }
    let stdout = drain(child.stdout.take().unwrap());
    let stderr = drain(child.stderr.take().unwrap());
    let code = wait(&mut child);
    Ended {
        code,
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
    }
}

/// Runs it in a directory of its own.
#[track_caller]
pub(crate) fn alone(line: &[&str]) -> Ended {
    let directory = tempfile::tempdir().unwrap();
    run(&mut program(directory.path(), line), b"")
}

#[track_caller]
pub(crate) fn wait(child: &mut Child) -> Option<i32> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("it does not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn drain(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut all = String::new();
        from.read_to_string(&mut all).unwrap();
        all
    })
}

/// The lines of a process as they come.
pub(crate) fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines() {
            if sender.send(line.unwrap()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// A server in a directory of its own, on a free port. Killed when dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// What it logs.
    pub(crate) log: Receiver<String>,
    /// What it has logged before it listened.
    pub(crate) logged: Vec<String>,
    pub(crate) directory: TempDir,
}

impl Server {
    /// With these fields of the configuration besides a free port.
    #[track_caller]
    pub(crate) fn start(fields: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let json = format!("{{\"bind_addr\":\"127.0.0.1:0\"{fields}}}");
        fs::write(directory.path().join("config.json"), json).unwrap();
        let mut child = program(directory.path(), &[]).spawn().unwrap();
        let log = lines(child.stderr.take().unwrap());
        let mut logged = Vec::new();
        let address = loop {
            let line = log
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("it does not listen: {logged:?}"));
            logged.push(line.clone());
            if let Some((_, address)) = line.split_once("listening address=") {
                break address.to_owned();
            }
        };
        Self {
            child,
            address,
            log,
            logged,
            directory,
        }
    }

    /// The program with this command line, which finds the server.
    pub(crate) fn program(&self, line: &[&str]) -> Command {
        let mut command = program(self.directory.path(), line);
        command.env("HYPER_DELAY_ADDR", &self.address);
        command
    }

    /// Runs it to its end.
    #[track_caller]
    pub(crate) fn run(&self, line: &[&str]) -> Ended {
        run(&mut self.program(line), b"")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
