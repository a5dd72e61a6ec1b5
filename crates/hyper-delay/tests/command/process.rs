//! Runs the binary as a process.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;
use testkit::{Ended, Start, process, server};

const PROGRAM: &str = env!("CARGO_BIN_EXE_hyper-delay");

/// A command that runs the binary in a directory, without configuration from the environment.
pub(crate) fn program(directory: &Path, line: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    server::alone(&mut command, directory);
    command
        .args(line)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the binary in a new directory.
#[track_caller]
pub(crate) fn alone(line: &[&str]) -> Ended {
    let directory = tempfile::tempdir().unwrap();
    process::run(&mut program(directory.path(), line), b"")
}

/// A server in a new directory. Killed when dropped.
pub(crate) struct Server {
    pub(crate) running: testkit::Server,
    pub(crate) address: String,
    directory: TempDir,
}

impl Server {
    /// Starts a server on a free port, with these fields of the configuration.
    #[track_caller]
    pub(crate) fn start(config: Value) -> Self {
        Self::start_under(&[], config)
    }

    /// Like [`start`](Self::start), with a command before the program.
    #[track_caller]
    pub(crate) fn start_under(command: &[&str], config: Value) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let running = Start::new(PROGRAM, directory.path())
            .config(config)
            .under(command.iter().map(|&word| word.to_owned()).collect())
            .run();
        Self {
            address: running.address.to_string(),
            running,
            directory,
        }
    }

    /// The working directory, with `config.json`.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Waits until the log has a line that contains `text`, and returns that line.
    #[track_caller]
    pub(crate) fn logs(&self, text: &str) -> String {
        self.running.logs(text)
    }

    /// A command that runs the binary with these arguments and the address of the server.
    pub(crate) fn program(&self, line: &[&str]) -> Command {
        let mut command = program(self.directory.path(), line);
        command.env("HYPER_DELAY_ADDR", &self.address);
        command
    }

    /// Runs the binary with the address of the server, and waits for its end.
    #[track_caller]
    pub(crate) fn run(&self, line: &[&str]) -> Ended {
        process::run(&mut self.program(line), b"")
    }
}
