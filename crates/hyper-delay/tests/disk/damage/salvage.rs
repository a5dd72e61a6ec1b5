//! What `verify`, `repair` and `export` make of a damaged store.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Map, Value, json};
use testkit::{
    process::{self, Ended},
    server, terms,
    wire::text,
};

use super::{
    fault::{Case, Fault},
    fixture::{Expected, Name},
    judge::name,
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
    let exported_lines = run(directory, &["export", "repaired"]).done();
    if let Some(what) = inconsistent(directory) {
        return Some(what);
    }
    let saved = exported(&exported_lines);
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

/// Returns why a backup of the repaired store is no whole one. It compares all rows, the index of
/// expiry among them.
fn inconsistent(directory: &Path) -> Option<String> {
    let server = super::fixture::start(directory)
        .config(json!({"data_dir": "repaired"}))
        .run();
    let address = server.address.to_string();
    let path = run(directory, &["backup", "backups", "--addr", &address]).done();
    let verified = run(directory, &["verify", path.trim_end()]);
    let is_whole = verified.code == Some(0);
    (!is_whole).then(|| format!("the backup of the repaired store: {verified:?}"))
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

/// A task in an export.
struct Saved {
    state: String,
    payload: String,
    /// The headers and terms.
    fields: Map<String, Value>,
}

fn exported(lines: &str) -> BTreeMap<Name, Saved> {
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines
        .map(|line: Value| {
            let [state, payload] =
                ["state", "payload_base64"].map(|field| text(&line, field).to_owned());
            let fields = terms::of(&line);
            (
                name(&line),
                Saved {
                    state,
                    payload,
                    fields,
                },
            )
        })
        .collect()
}

/// Returns tasks that are not as they must be and that the repair does not list.
fn missing(expected: &Expected, saved: &BTreeMap<Name, Saved>, lost: &BTreeSet<Name>) -> Vec<Name> {
    let due = expected.due.keys().filter(|name| {
        let (payload, _) = expected.received(name).unwrap();
        let is_as_expected = |saved: &Saved| {
            saved.state != "dead"
                && saved.payload == payload
                && saved.fields == expected.fields(name)
        };
        !saved.get(*name).is_some_and(is_as_expected)
    });
    // A dead letter can be alive again.
    let dead = expected.dead.iter().filter(|name| {
        let is_as_expected = |saved: &Saved| saved.fields == expected.fields(name);
        !saved.get(*name).is_some_and(is_as_expected)
    });
    due.chain(dead)
        .filter(|name| !lost.contains(*name))
        .cloned()
        .collect()
}
