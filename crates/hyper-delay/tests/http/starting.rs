//! A server that starts and whose store is never open.

use std::{
    fs,
    net::SocketAddr,
    process::{Command, Stdio},
};

use serde_json::json;
use tempfile::TempDir;
use testkit::{PATIENCE, Process, process::lines, server};

pub(crate) struct Starting {
    /// The address of its HTTP listener.
    pub(crate) http: SocketAddr,
    _process: Process,
    _directory: TempDir,
}

impl Starting {
    pub(crate) fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        fs::create_dir(&data).unwrap();
        // Reading the commit record waits for a process that writes to it.
        let made = Command::new("mkfifo").arg(data.join("commits")).status();
        assert!(made.unwrap().success());
        let addr = "127.0.0.1:0";
        let config = json!({"bind_addr": addr, "http_addr": addr, "data_dir": "data"});
        fs::write(directory.path().join("config.json"), config.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyper-delay"));
        server::alone(&mut command, directory.path());
        let mut process = Process::spawn(command.stderr(Stdio::piped())).unwrap();
        let log = lines(process.child().stderr.take().unwrap());
        let http = loop {
            let line = log.recv_timeout(PATIENCE).expect("the log has the address");
            if let Some((_, address)) = line.split_once("serving HTTP address=") {
                let address = address.split_whitespace().next().unwrap();
                break address.parse().unwrap();
            }
        };
        Self {
            http,
            _process: process,
            _directory: directory,
        }
    }
}
