use std::{
    ffi::OsString,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use super::{
    SalvageError, faults::FileFaults, meta_space::MetaSpace, missing_commits::MissingCommits,
    repair_writer::RepairWriter, stopped_store::StoppedStore, task_join::TaskJoin,
};
use hyper_delay_fjall::data_directory;
use hyper_delay_store::{
    Space,
    record::{self, FinishedTask},
};

/// The list of lost tasks in the new directory.
const LOST: &str = "lost.jsonl";

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairSummary {
    /// Number of tasks in the new store.
    pub saved: u64,
    /// Number of tasks with a known name and without a readable content.
    pub lost: u64,
    /// Number of contents without a known name.
    pub nameless: u64,
    /// Number of older revisions of saved tasks, which are left out.
    pub superseded: u64,
    /// The acknowledged commits that cannot be read; their tasks are not known.
    pub missing: Vec<String>,
    /// The most tasks that those commits can have had.
    pub missing_tasks: u64,
    /// The parts of the store that cannot be read.
    pub faults: Vec<String>,
    /// The path of the list of lost tasks.
    pub list: PathBuf,
}

/// Copies every readable task of the stopped store in `directory` into a new store in `to`.
///
/// Tasks keep their sequence numbers, states and attempts. The old store does not change. The new
/// one is written beside `to` and renamed when it is complete.
///
/// # Errors
///
/// If there is no store, a server uses it, `to` exists, or the new store cannot be written. Damage
/// is not an error.
pub fn repair(directory: &Path, to: &Path) -> Result<RepairSummary, SalvageError> {
    let mut faults = FileFaults::default();
    let store = StoppedStore::open(directory, &mut faults)?;
    let unfinished = unfinished(to);
    for path in [to, &unfinished] {
        if path.try_exists().map_err(SalvageError::at(path))? {
            return Err(SalvageError::Exists(path.to_owned()));
        }
    }
    let mut writer = RepairWriter::new(&unfinished)?;
    let list = unfinished.join(LOST);
    let failed = || SalvageError::at(&list);
    let mut lines = BufWriter::new(File::create_new(&list).map_err(failed())?);
    let mut repaired = RepairSummary {
        saved: 0,
        lost: 0,
        nameless: 0,
        superseded: 0,
        missing: Vec::new(),
        missing_tasks: 0,
        faults: Vec::new(),
        list: to.join(LOST),
    };
    let meta = MetaSpace::read(&store, &mut faults);
    let mut next = meta.numbers.unwrap_or(1);
    let mut join = TaskJoin::new(&store, &mut faults);
    while let Some(parts) = join.next(&mut faults) {
        next = next.max(parts.seq.saturating_add(1));
        match parts.recover() {
            Ok(task) => {
                let has_replaced = writer.write_task(&task)?;
                repaired.saved += u64::from(!has_replaced);
                repaired.superseded += u64::from(has_replaced);
            }
            Err(lost) => {
                match lost.id {
                    Some(_) => repaired.lost += 1,
                    None => repaired.nameless += 1,
                }
                serde_json::to_writer(&mut lines, &lost).map_err(|error| failed()(error.into()))?;
                lines.write_all(b"\n").map_err(failed())?;
            }
        }
    }
    let missing = MissingCommits::read(directory, &store, &mut faults)?;
    (repaired.missing, repaired.missing_tasks) = (missing.findings, missing.schedules);
    for missing in &repaired.missing {
        let line = serde_json::json!({ "missing": missing });
        writeln!(lines, "{line}").map_err(failed())?;
    }
    for (key, value) in &meta.operator_rows {
        writer.put(Space::Meta, key, value)?;
    }
    copy_finished(&store, &meta, &mut writer, &mut faults)?;
    writer.finish(next)?;
    let lines = lines
        .into_inner()
        .map_err(|error| failed()(error.into_error()))?;
    lines.sync_all().map_err(failed())?;
    data_directory::sync(&unfinished).map_err(SalvageError::at(&unfinished))?;
    fs::rename(&unfinished, to).map_err(SalvageError::at(to))?;
    let parent = to.canonicalize().map_err(SalvageError::at(to))?;
    if let Some(parent) = parent.parent() {
        data_directory::sync(parent).map_err(SalvageError::at(parent))?;
    }
    repaired.faults = faults.into_lines();
    Ok(repaired)
}

/// Copies the deduplication window, so that finished tasks are not scheduled again.
fn copy_finished(
    store: &StoppedStore,
    meta: &MetaSpace,
    writer: &mut RepairWriter,
    faults: &mut FileFaults,
) -> Result<(), SalvageError> {
    if let Some(window) = &meta.dedupe_window {
        writer.put(Space::Meta, record::key::DEDUPE_WINDOW, window)?;
    }
    for space in [Space::DoneEven, Space::DoneOdd] {
        // Without the key the server starts with the even generation, and clears the odd one
        // before it writes to it.
        let to = if meta.dedupe_window.is_some() {
            space
        } else {
            Space::DoneEven
        };
        let mut rows = store.scan(space, faults);
        while let Some(row) = rows.next(faults) {
            if record::decode::<FinishedTask>(&row.value).is_ok() {
                writer.put(to, &row.key, &row.value)?;
            }
        }
    }
    Ok(())
}

/// Returns the path of the directory while it is being written.
fn unfinished(to: &Path) -> PathBuf {
    let mut path = OsString::from(to);
    path.push(".unfinished");
    path.into()
}
