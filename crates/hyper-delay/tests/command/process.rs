//! Processes of the program.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;
use testkit::{Ended, Start, process, server};

const PROGRAM: &str = env!("CARGO_BIN_EXE_hyper-delay");

/// The program in a directory, without configuration from the environment.
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

/// Runs the program in a directory of its own.
#[track_caller]
pub(crate) fn alone(line: &[&str]) -> Ended {
    let directory = tempfile::tempdir().unwrap();
    process::run(&mut program(directory.path(), line), b"")
}

/// A server in a directory of its own, on a free port. Killed when dropped.
pub(crate) struct Server {
    pub(crate) running: testkit::Server,
    pub(crate) address: String,
    directory: TempDir,
}

impl Server {
    /// With these fields of the configuration besides a free port.
    #[track_caller]
    pub(crate) fn start(config: Value) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let running = Start::new(PROGRAM, directory.path()).config(config).run();
        Self {
            address: running.address.to_string(),
            running,
            directory,
        }
    }

    /// The program with this command line and the address of the server.
    pub(crate) fn program(&self, line: &[&str]) -> Command {
        let mut command = program(self.directory.path(), line);
        command.env("HYPER_DELAY_ADDR", &self.address);
        command
    }

    /// Runs it to its end.
    #[track_caller]
    pub(crate) fn run(&self, line: &[&str]) -> Ended {
        process::run(&mut self.program(line), b"")
    }
}
