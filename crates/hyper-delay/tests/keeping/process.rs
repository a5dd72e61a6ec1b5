//! Runs the binary, and reads what a stopped server has.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use testkit::{Ended, Server, Start, process, server};

const PROGRAM: &str = env!("CARGO_BIN_EXE_hyper-delay");

/// A server whose data is in `data` below the directory.
pub(crate) fn start<'a>(directory: &'a Path, data: &str) -> Start<'a> {
    Start::new(PROGRAM, directory).config(json!({
        "data_dir": data,
        "max_attempts": 1,
        "ack_timeout_ms": 60_000,
        "dedupe_seconds": 100_000,
    }))
}

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

#[track_caller]
pub(crate) fn run(directory: &Path, line: &[&str]) -> Ended {
    run_with(directory, line, b"")
}

#[track_caller]
pub(crate) fn run_with(directory: &Path, line: &[&str], input: &[u8]) -> Ended {
    process::run(&mut program(directory, line), input)
}

/// Backs a server up into the folder `backups`, and returns the path of the backup.
#[track_caller]
pub(crate) fn back_up(directory: &Path, server: &Server) -> PathBuf {
    let address = server.address.to_string();
    let said = run(directory, &["backup", "backups", "--addr", &address]).done();
    let path = said.strip_suffix('\n').unwrap();
    assert!(path.ends_with(".backup") && !path.contains('\n'), "{said}");
    directory.join(path)
}

#[track_caller]
pub(crate) fn stop(server: Server) {
    server.signal("TERM");
    let (status, log) = server.ended();
    assert!(status.success(), "{log}");
}

/// The tasks of a stopped server, by id.
#[track_caller]
pub(crate) fn exported(directory: &Path, data: &str) -> BTreeMap<String, Value> {
    let lines = run(directory, &["export", data]).done();
    let mut tasks = BTreeMap::new();
    for line in lines.lines() {
        let task: Value = serde_json::from_str(line).unwrap();
        let id = task["id"].as_str().unwrap().to_owned();
        assert!(tasks.insert(id, task).is_none(), "twice: {line}");
    }
    tasks
}

/// The names in a folder; none if it does not exist.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}
