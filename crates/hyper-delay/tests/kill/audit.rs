//! Checks the store of a killed server while no server runs.

use std::{
    collections::HashMap,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use testkit::{Server, process, request::now, server::alone, wire::text};

use crate::{
    book::{Book, Key},
    content::word,
};

#[track_caller]
fn run(directory: &Path, line: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyper-delay"));
    alone(&mut command, directory);
    command.args(line).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    process::run(&mut command, b"").done()
}

/// Asserts that `hyper-delay verify` finds no damage and no inconsistency in the data directory of
/// a killed server, and compares its tasks with the book. Returns their number.
pub(crate) fn audit(directory: &Path, book: &mut Book) -> usize {
    let printed = run(directory, &["verify", "data"]);
    let tasks = printed.trim_end().strip_prefix("all is well: ");
    let tasks = tasks.and_then(|tasks| tasks.strip_suffix(" tasks"));
    let tasks = tasks.expect(&printed).parse().unwrap();
    // Before the export: what is there was there at this time, too.
    let now = now();
    let exported = run(directory, &["export", "data"]);
    let stored: HashMap<Key, Value> = exported
        .lines()
        .map(|line| {
            let task: Value = serde_json::from_str(line).unwrap();
            ((text(&task, "id").to_owned(), word(&task)), task)
        })
        .collect();
    assert_eq!(stored.len(), tasks);
    book.audit(&stored, now);
    tasks
}

/// Asserts that all rows of a running server agree, the index of expiry among them: its backup
/// compares them.
pub(crate) fn back_up(directory: &Path, server: &Server) {
    let address = server.address.to_string();
    let path = run(directory, &["backup", "backups", "--addr", &address]);
    let path = path.trim_end();
    run(directory, &["verify", path]);
    std::fs::remove_file(directory.join(path)).unwrap();
}
