use std::{collections::BTreeMap, io, path::Path};

use super::{
    SalvageError,
    faults::FileFaults,
    meta_space::MetaSpace,
    missing_commits::MissingCommits,
    stopped_store::StoppedStore,
    task_join::{TaskJoin, TaskParts},
};
use hyper_delay_store::{
    Bytes, Space,
    record::{self, Place, RetryingCounts, SetHash, StoredCounts, key},
};

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifySummary {
    /// Number of undamaged tasks.
    pub tasks: u64,
    /// Number of reported lines.
    pub findings: u64,
    /// Harmless findings: the remains of the last write before a crash, which was not acknowledged.
    pub notes: Vec<String>,
}

/// Reads the whole stopped store in `directory` and reports every file, space and task that is
/// damaged, missing or inconsistent, in one line each.
///
/// # Errors
///
/// If there is no store, a server uses it, or `report` fails. Damage is not an error.
pub fn verify(
    directory: &Path,
    report: &mut dyn FnMut(&str) -> io::Result<()>,
) -> Result<VerifySummary, SalvageError> {
    let mut faults = FileFaults::default();
    let store = StoppedStore::open(directory, &mut faults)?;
    let mut verifier = Verifier {
        meta: MetaSpace::read(&store, &mut faults),
        verified: VerifySummary {
            tasks: 0,
            findings: 0,
            notes: Vec::new(),
        },
        counts: BTreeMap::new(),
        expiring: SetHash::default(),
        retrying: RetryingCounts::default(),
        report,
    };
    store.check_tables(&mut faults);
    let mut join = TaskJoin::new(&store, &mut faults);
    let mut has_tasks = false;
    while let Some(parts) = join.next(&mut faults) {
        has_tasks = true;
        verifier.check_task(parts)?;
    }
    if has_tasks && verifier.meta.numbers.is_none() {
        verifier.report_finding(
            "space meta: the end of the sequence numbers is missing, so they would be given again",
        )?;
    }
    verifier.compare_counts(&store, &mut faults)?;
    verifier.compare_expiry()?;
    verifier.compare_retrying()?;
    let missing = MissingCommits::read(directory, &store, &mut faults)?;
    if missing.findings.is_empty() {
        verifier.verified.notes = faults.take_tail();
    }
    verifier.verified.notes.extend(missing.note);
    for finding in &missing.findings {
        verifier.report_finding(finding)?;
    }
    for fault in faults.into_lines() {
        verifier.report_finding(&fault)?;
    }
    Ok(verifier.verified)
}

struct Verifier<'a> {
    meta: MetaSpace,
    verified: VerifySummary,
    /// The expected counts by key of the route. The empty route has the sums.
    counts: BTreeMap<Bytes, StoredCounts>,
    /// The tasks that expire: their keys in the index of expiry, their routes and ids.
    expiring: SetHash,
    retrying: RetryingCounts,
    report: &'a mut dyn FnMut(&str) -> io::Result<()>,
}

impl Verifier<'_> {
    fn report_finding(&mut self, what: &str) -> Result<(), SalvageError> {
        self.verified.findings += 1;
        (self.report)(what).map_err(SalvageError::Output)
    }

    fn check_task(&mut self, parts: TaskParts) -> Result<(), SalvageError> {
        let seq = parts.seq;
        let mut defects = defects(&parts);
        let task = match parts.recover() {
            Ok(task) => task,
            Err(lost) => return self.report_finding(&lost.to_string()),
        };
        if self.meta.numbers.is_some_and(|limit| seq >= limit) {
            defects.push("its sequence number would be given again");
        }
        if let Place::Waiting(at) = task.name.place
            && at < self.meta.low_water
        {
            defects.push("it waits before the low-water mark, where a start does not look");
        }
        if let Some(key) = task.name.expiry_key() {
            self.expiring.add(&(&*key, &*task.route, &*task.id));
        }
        self.retrying.add(&task.route, &task.name);
        for route in [&*task.route, ""] {
            let counts = self.counts.entry(key::route(route)).or_default();
            counts.add(&task.name);
        }
        for defect in &defects {
            let (route, id) = (&task.route, &task.id);
            self.report_finding(&format!(
                "task {id:?} of route {route:?} (sequence number {seq}): {defect}"
            ))?;
        }
        self.verified.tasks += u64::from(defects.is_empty());
        Ok(())
    }

    fn compare_expiry(&mut self) -> Result<(), SalvageError> {
        let (tasks, indexed) = (self.expiring, self.meta.expiring);
        if tasks == indexed {
            return Ok(());
        }
        self.report_finding(&format!(
            "space meta: the index of expiry is not that of the tasks: it has {}, and {} expire",
            indexed.len(),
            tasks.len()
        ))
    }

    fn compare_retrying(&mut self) -> Result<(), SalvageError> {
        match self.meta.retrying.check(&self.retrying) {
            Ok(()) => Ok(()),
            Err(what) => self.report_finding(&format!("space meta: {what}")),
        }
    }

    fn compare_counts(
        &mut self,
        store: &StoppedStore,
        faults: &mut FileFaults,
    ) -> Result<(), SalvageError> {
        let mut expected = std::mem::take(&mut self.counts);
        let mut rows = store.scan(Space::Counts, faults);
        while let Some(row) = rows.next(faults) {
            let counts = expected.remove(&*row.key).unwrap_or_default();
            // Tasks of an older server are not in the bytes.
            let stored = record::decode::<StoredCounts>(&row.value).ok();
            if stored.map(|stored| stored.tasks()) != Some(counts.tasks()) {
                self.report_finding(&wrong_counts(&row.key))?;
            }
        }
        for key in expected.keys() {
            self.report_finding(&wrong_counts(key))?;
        }
        Ok(())
    }
}

/// Returns the inconsistencies between the state rows of a task.
fn defects(parts: &TaskParts) -> Vec<&'static str> {
    let mut defects = Vec::new();
    let (names, entries): (Vec<_>, Vec<_>) = parts
        .state_rows
        .iter()
        .partition(|state_row| state_row.space == Space::Names);
    if names.is_empty() {
        defects.push("space names does not have it");
    }
    match entries.as_slice() {
        [] => defects.push("waiting, parked and dead do not have it"),
        [entry] if names.iter().all(|name| name.agrees_with(entry)) => {}
        [_] => defects.push("names and its entry differ"),
        _ => defects.push("it has more than one entry"),
    }
    defects
}

fn wrong_counts(key: &[u8]) -> String {
    match key.get(1..).unwrap_or_default() {
        [] => "space counts: the counts over all routes are wrong".to_owned(),
        route => format!(
            "space counts: the counts of route \"{}\" are wrong",
            route.escape_ascii()
        ),
    }
}
