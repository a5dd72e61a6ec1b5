use std::ops::Deref;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::Start;

/// A server with a directory of its own, which is removed when the server has been killed.
pub(crate) struct Server {
    running: testkit::Server,
    _directory: TempDir,
}

impl Server {
    /// With these fields of the configuration. Nothing is synced.
    pub(crate) fn start(config: Value) -> Self {
        let directory = tempfile::tempdir().expect("the temporary directory is writable");
        let running = Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory.path())
            .config(json!({"sync": "never"}))
            .config(config)
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
