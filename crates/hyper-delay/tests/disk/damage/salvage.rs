//! What `verify`, `repair` and `export` make of a damaged store.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use testkit::{
    process::{self, Ended},
    server,
    wire::text,
};

use super::{
    fault::{Case, Fault},
    fixture::{Expected, Name},
};

fn run(directory: &Path, line: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyper-delay"));
    server::alone(&mut command, directory);
    command.args(line).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    process::run(&mut command, b"")
}

/// Repairs a damaged store; returns what is wrong with the result.
pub(super) fn salvage(directory: &Path, case: &Case, expected: &Expected) -> Option<String> {
    let verified = run(directory, &["verify", "data"]);
    if case.fault == Fault::None && verified.code != Some(0) {
        return Some(format!(
            "verify finds faults in a whole store: {verified:?}"
        ));
    }
    let repaired = run(directory, &["repair", "data", "--to", "repaired"]);
    let is_incomplete = repaired.code == Some(LOST);
    if repaired.code != Some(0) && !is_incomplete {
        return Some(format!("repair fails: {repaired:?}"));
    }
    let again = run(directory, &["verify", "repaired"]);
    if again.code != Some(0) {
        return Some(format!("the repaired store is damaged: {again:?}"));
    }
    let lost = lost(&directory.join("repaired/lost.jsonl"));
    let saved = exported(&run(directory, &["export", "repaired"]).done());
    let missing = missing(expected, &saved, &lost);
    let whole_files = verified.code == Some(0);
    let most = match case.fault {
        // A store that verifies has everything.
        _ if whole_files => 0,
        // All three copies of a task are in one batch.
        _ if case.kind != "journal" => 0,
        Fault::Flip(_) => BATCH,
        _ => usize::MAX,
    };
    if missing.len() > most {
        let first = missing.first();
        return Some(format!(
            "{} tasks are neither saved nor listed, first {first:?}; {}",
            missing.len(),
            verified.stdout
        ));
    }
    if !missing.is_empty() && !is_incomplete {
        return Some(format!(
            "{} tasks are missing, and repair says that nothing is",
            missing.len()
        ));
    }
    let is_whole = case.fault == Fault::None;
    let undone = saved.keys().find(|name| expected.finished.contains(*name));
    undone
        .filter(|_| is_whole)
        .map(|name| format!("{name:?} is finished and was saved"))
}

/// The exit code of a repair that could not save everything.
const LOST: i32 = 3;

/// Maximum number of tasks in one commit: the fixture's number of requests in flight.
const BATCH: usize = 200;

fn lost(list: &Path) -> BTreeSet<Name> {
    let list = fs::read_to_string(list).unwrap();
    let lines = list.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .filter(|line: &Value| line.get("id").is_some())
        .map(|line| name(&line))
        .collect()
}

/// The state and the payload of each task.
fn exported(lines: &str) -> BTreeMap<Name, (String, String)> {
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines
        .map(|line: Value| {
            let fields = ["state", "payload_base64"].map(|field| text(&line, field).to_owned());
            (name(&line), fields.into())
        })
        .collect()
}

/// Returns tasks that are not as they must be and that the repair does not list.
fn missing(
    expected: &Expected,
    saved: &BTreeMap<Name, (String, String)>,
    lost: &BTreeSet<Name>,
) -> Vec<Name> {
    let due = expected.due.iter().filter(|(name, payload)| {
        !saved
            .get(*name)
            .is_some_and(|(state, saved)| state != "dead" && saved == *payload)
    });
    // A dead letter can be alive again.
    let dead = expected
        .dead
        .iter()
        .filter(|name| !saved.contains_key(*name));
    due.map(|(name, _)| name)
        .chain(dead)
        .filter(|name| !lost.contains(*name))
        .cloned()
        .collect()
}

fn name(line: &Value) -> Name {
    (
        text(line, "route_key").to_owned(),
        text(line, "id").to_owned(),
    )
}
