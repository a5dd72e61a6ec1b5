use std::ops::Deref;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::Start;

/// A server with its own directory. Dropping it kills the server and removes the directory.
pub(crate) struct Server {
    running: testkit::Server,
    _directory: TempDir,
}

impl Server {
    /// Starts a server with these fields of the configuration. Nothing is synced.
    pub(crate) fn start(config: Value) -> Self {
        Self::start_under(&[], config)
    }

    /// Like [`start`](Self::start), with a command before the program.
    pub(crate) fn start_under(command: &[&str], config: Value) -> Self {
        let directory = tempfile::tempdir().expect("the temporary directory is writable");
        let command = command.iter().map(|&word| word.to_owned()).collect();
        let running = Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory.path())
            .config(json!({"sync": "never"}))
            .config(config)
            .under(command)
            .run();
        Self {
            running,
            _directory: directory,
        }
    }
}

impl Deref for Server {
    type Target = testkit::Server;

    fn deref(&self) -> &testkit::Server {
        &self.running
    }
}
