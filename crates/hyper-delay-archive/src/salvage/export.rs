use std::{collections::HashSet, io::Write, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    SalvageError, faults::FileFaults, missing_commits::MissingCommits,
    recovered_task::RecoveredTask, stopped_store::StoppedStore, task_join::TaskJoin,
};
use hyper_delay_engine::clock::Clock;
use hyper_delay_protocol::{Compression, Terms};
use hyper_delay_store::{
    StoreError,
    record::{self, Name, Place, Task},
};

/// The result of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportSummary {
    /// Number of exported tasks, one line each.
    pub tasks: u64,
    /// Number of tasks that are not readable.
    pub lost: u64,
    /// The acknowledged commits that cannot be read; their tasks are not known.
    pub missing: Vec<String>,
    /// The most tasks that those commits can have had.
    pub missing_tasks: u64,
    /// The parts of the store that cannot be read.
    pub faults: Vec<String>,
}

/// A request of the protocol that schedules the task again. Servers ignore the last three fields.
#[derive(Debug, Serialize)]
struct ExportLine<'a> {
    kind: &'static str,
    id: &'a str,
    route_key: &'a str,
    fire_at: u64,
    compression: Compression,
    payload_base64: String,
    /// True if an earlier line can contain an older revision.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replace: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<&'a RawValue>,
    #[serde(flatten)]
    terms: Option<Terms>,
    state: &'static str,
    attempt: u32,
    /// The delay that gave `fire_at`. An import into a new store keeps it as content.
    #[serde(skip_serializing_if = "Option::is_none")]
    original_delay_ms: Option<u64>,
    /// The scheduled time, if the task is due at another one. An import into a new store keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    original_fire_at: Option<u64>,
}

/// Writes every readable task of the stopped store in `directory` as a line of JSON.
///
/// # Errors
///
/// If there is no store, a server uses it, or `out` fails. Damage is not an error.
pub fn export(directory: &Path, out: &mut dyn Write) -> Result<ExportSummary, SalvageError> {
    let mut faults = FileFaults::default();
    let store = StoppedStore::open(directory, &mut faults)?;
    let (mut tasks, mut lost) = (0, 0);
    let now = Clock::new().now().wall_millis();
    // Tasks without a readable row in `names`. A line for a newer revision can follow.
    let mut nameless = HashSet::new();
    let mut join = TaskJoin::new(&store, &mut faults);
    while let Some(parts) = join.next(&mut faults) {
        let Ok(task) = parts.recover() else {
            lost += 1;
            continue;
        };
        let key = record::key::name(&task.route, &task.id);
        let replace = !task.is_named || nameless.contains(&key);
        write(&task, replace, now, out)?;
        if !task.is_named {
            nameless.insert(key);
        }
        tasks += 1;
    }
    out.flush().map_err(SalvageError::Output)?;
    let missing = MissingCommits::read(directory, &store, &mut faults)?;
    Ok(ExportSummary {
        tasks,
        lost,
        missing: missing.findings,
        missing_tasks: missing.schedules,
        faults: faults.into_lines(),
    })
}

fn write(
    task: &RecoveredTask,
    replace: bool,
    now: u64,
    out: &mut dyn Write,
) -> Result<(), SalvageError> {
    let content: Task<'_> = record::decode(&task.content)?;
    let due = due_time(&task.name, now);
    let line = ExportLine {
        kind: "schedule",
        id: &task.id,
        route_key: &task.route,
        fire_at: due,
        compression: content.compression,
        payload_base64: BASE64.encode(content.payload),
        replace,
        headers: headers(content.headers)?,
        terms: content.terms.map(|terms| *terms),
        state: task.name.place.state().as_str(),
        attempt: task.name.attempt,
        original_delay_ms: content.delay_ms,
        original_fire_at: Some(task.name.fire_at).filter(|fire_at| *fire_at != due),
    };
    serde_json::to_writer(&mut *out, &line).map_err(|error| SalvageError::Output(error.into()))?;
    out.write_all(b"\n").map_err(SalvageError::Output)
}

/// Returns the time at which a task must be scheduled again, in Unix milliseconds: its `fire_at`, unless
/// it was moved to another time, or waits for its next round.
fn due_time(name: &Name, now: u64) -> u64 {
    let expires_at = name.terms.as_ref().and_then(|terms| terms.expires_at);
    match name.place {
        // A wait after a failed round can end after the expiry.
        Place::Waiting(at) if at > now && expires_at.is_none_or(|expires_at| at < expires_at) => at,
        Place::Waiting(at) | Place::Parked(at) | Place::Dead(at) => name.fire_at.min(at),
    }
}

/// Returns the headers of a task as JSON.
fn headers(text: &str) -> Result<Option<&RawValue>, StoreError> {
    if text.is_empty() {
        return Ok(None);
    }
    let parsed = serde_json::from_str(text);
    parsed.map_err(|error| StoreError::damage("read the headers of a task", error))
}

#[cfg(test)]
mod tests;
