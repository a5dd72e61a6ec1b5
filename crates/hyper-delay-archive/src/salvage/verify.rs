use std::{collections::BTreeMap, io, path::Path};

use super::{
    SalvageError,
    faults::Faults,
    join::{Join, Joined},
    meta::Meta,
    missing::Missing,
    stopped::Stopped,
};
use hyper_delay_store::{
    Bytes, Space,
    record::{self, Counts, Place, SetSum, key},
};

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Number of undamaged tasks.
    pub tasks: u64,
    /// Number of reported lines.
    pub findings: u64,
    /// Harmless: what a crash leaves of the last write, which was not acknowledged.
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
) -> Result<Verified, SalvageError> {
    let mut faults = Faults::default();
    let store = Stopped::open(directory, &mut faults)?;
    let mut audit = Audit {
        meta: Meta::read(&store, &mut faults),
        verified: Verified {
            tasks: 0,
            findings: 0,
            notes: Vec::new(),
        },
        counts: BTreeMap::new(),
        expiring: SetSum::default(),
        report,
    };
    store.check_tables(&mut faults);
    let mut join = Join::new(&store, &mut faults);
    let mut has_tasks = false;
    while let Some(joined) = join.next(&mut faults) {
        has_tasks = true;
        audit.task(joined)?;
    }
    if has_tasks && audit.meta.numbers.is_none() {
        audit.find(
            "space meta: the end of the sequence numbers is missing, so they would be given again",
        )?;
    }
    audit.compare_counts(&store, &mut faults)?;
    audit.compare_expiry()?;
    let missing = Missing::read(directory, &store, &mut faults)?;
    if missing.findings.is_empty() {
        audit.verified.notes = faults.take_tail();
    }
    audit.verified.notes.extend(missing.note);
    for finding in &missing.findings {
        audit.find(finding)?;
    }
    for fault in faults.into_lines() {
        audit.find(&fault)?;
    }
    Ok(audit.verified)
}

struct Audit<'a> {
    meta: Meta,
    verified: Verified,
    /// The expected counts by key of the route. The empty route has the sums.
    counts: BTreeMap<Bytes, Counts>,
    /// The tasks that expire: their keys in the index of expiry, their routes and ids.
    expiring: SetSum,
    report: &'a mut dyn FnMut(&str) -> io::Result<()>,
}

impl Audit<'_> {
    fn find(&mut self, what: &str) -> Result<(), SalvageError> {
        self.verified.findings += 1;
        (self.report)(what).map_err(SalvageError::Output)
    }

    fn task(&mut self, joined: Joined) -> Result<(), SalvageError> {
        let seq = joined.seq;
        let mut defects = defects(&joined);
        let task = match joined.save() {
            Ok(task) => task,
            Err(lost) => return self.find(&lost.to_string()),
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
        for route in [&*task.route, ""] {
            let counts = self.counts.entry(key::route(route)).or_default();
            counts.add(&task.name);
        }
        for defect in &defects {
            let (route, id) = (&task.route, &task.id);
            self.find(&format!(
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
        self.find(&format!(
            "space meta: the index of expiry is not that of the tasks: it has {}, and {} expire",
            indexed.len(),
            tasks.len()
        ))
    }

    fn compare_counts(&mut self, store: &Stopped, faults: &mut Faults) -> Result<(), SalvageError> {
        let mut expected = std::mem::take(&mut self.counts);
        let mut rows = store.scan(Space::Counts, faults);
        while let Some(row) = rows.next(faults) {
            let counts = expected.remove(&*row.key).unwrap_or_default();
            // Tasks of an older server are not in the bytes.
            let stored = record::decode::<Counts>(&row.value).ok();
            if stored.map(|stored| stored.tasks()) != Some(counts.tasks()) {
                self.find(&wrong_counts(&row.key))?;
            }
        }
        for key in expected.keys() {
            self.find(&wrong_counts(key))?;
        }
        Ok(())
    }
}

/// Returns the inconsistencies between the claims about a task.
fn defects(joined: &Joined) -> Vec<&'static str> {
    let mut defects = Vec::new();
    let (names, entries): (Vec<_>, Vec<_>) = joined
        .claims
        .iter()
        .partition(|claim| claim.space == Space::Names);
    if names.is_empty() {
        defects.push("space names does not have it");
    }
    match entries.as_slice() {
        [] => defects.push("waiting, parked and dead do not have it"),
        [entry] if names.iter().all(|name| name.agrees(entry)) => {}
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
