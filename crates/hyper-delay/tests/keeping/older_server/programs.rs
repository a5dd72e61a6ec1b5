//! The server of release 0.3 and this one, on the same data.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::json;
use testkit::{Ended, Server, Start, process, server};

/// The folder of a test, and a server of 0.3.
pub(crate) struct Programs {
    folder: tempfile::TempDir,
    older: String,
}

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    V0_3,
    Current,
}

impl Programs {
    pub(crate) fn new() -> Self {
        let older = std::env::var("HYPER_DELAY_OLDER");
        Self {
            folder: tempfile::tempdir().unwrap(),
            older: older.expect("HYPER_DELAY_OLDER is the server of 0.3: `cargo xtask upgrade`"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn program(&self, release: Release) -> &str {
        match release {
            Release::V0_3 => &self.older,
            Release::Current => env!("CARGO_BIN_EXE_hyper-delay"),
        }
    }

    /// Starts a server on a folder with data.
    pub(crate) fn start(&self, release: Release, data: &str) -> Server {
        let start = Start::new(self.program(release), self.path()).config(json!({
            "data_dir": data,
            "ack_timeout_ms": 60_000,
            "retry_delay_ms": 3_600_000,
            "max_retry_delay_ms": 3_600_000,
            "dedupe_seconds": 100_000,
        }));
        start.run()
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, release: Release, line: &[&str]) -> Ended {
        let mut command = Command::new(self.program(release));
        server::alone(&mut command, self.path());
        command
            .args(line)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        process::run(&mut command, b"")
    }

    /// Backs a server up with its own command. Returns the path of the backup.
    pub(crate) fn back_up(&self, release: Release, server: &Server, folder: &str) -> PathBuf {
        let address = server.address.to_string();
        let said = self.run(release, &["backup", folder, "--addr", &address]);
        self.path().join(said.done().trim_end())
    }
}
