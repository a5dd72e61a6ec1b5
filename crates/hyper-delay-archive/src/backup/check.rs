use std::{collections::BTreeMap, fmt, io::Read};

use crate::retrying_index::RetryingIndex;

use super::{BackupError, format::BackupHeader, reader::BackupReader};
use hyper_delay_store::{
    Bytes, Space, SpaceRow, StoreError,
    record::{
        self, EntryRow, ExpiryEntry, FinishedTask, Name, Place, RetryingCounts, SetHash,
        StoredCounts, Task, key,
    },
};

/// The contents of a whole backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupSummary {
    /// The header of the backup.
    pub header: BackupHeader,
    /// Number of tasks by state.
    pub counts: StoredCounts,
    /// Number of names in the deduplication window, expired ones among them.
    pub remembered: u64,
}

impl BackupSummary {
    /// Returns the number of tasks.
    #[must_use]
    pub const fn tasks(&self) -> u64 {
        self.counts.total()
    }
}

impl fmt::Display for BackupSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [waiting, parked, dead] = self.counts.tasks();
        write!(
            f,
            "{} tasks ({waiting} waiting, {parked} parked, {dead} dead), {} finished names",
            self.tasks(),
            self.remembered
        )
    }
}

/// Reads a backup to its end and checks that it is whole and that its rows belong together.
///
/// # Errors
///
/// If it cannot be read, is damaged, or comes from a newer server.
pub fn check(input: impl Read, name: &str) -> Result<BackupSummary, BackupError> {
    let mut reader = BackupReader::open(input, name)?;
    let mut consistency = ConsistencyCheck::default();
    while let Some(row) = reader.next_row()? {
        consistency
            .add(&row)
            .map_err(|what| inconsistent(name, what))?;
    }
    consistency
        .finish(reader.header())
        .map_err(|what| inconsistent(name, what))
}

pub(super) fn inconsistent(name: &str, what: String) -> BackupError {
    BackupError::Inconsistent {
        name: name.to_owned(),
        what,
    }
}

/// Checks that the spaces of a backup agree about all tasks, in one pass and with little memory.
#[derive(Debug, Default)]
pub(super) struct ConsistencyCheck {
    /// Revisions according to `tasks` and to `names`.
    contents: SetHash,
    named: SetHash,
    /// States according to `names` and to `waiting`, `parked` and `dead`.
    states: SetHash,
    entries: SetHash,
    /// Tasks that expire, according to `names` and to the index in `meta`.
    expiring: SetHash,
    indexed: SetHash,
    /// Retrying tasks, according to `names` and to the index in `meta`.
    retrying: RetryingCounts,
    retrying_index: RetryingIndex,
    /// The counts that `names` gives, less those in `counts`, by key of the route. The empty route
    /// has the sums.
    counts: BTreeMap<Bytes, StoredCounts>,
    total: StoredCounts,
    remembered: u64,
    highest: Option<u64>,
    earliest: Option<u64>,
    numbers: Option<u64>,
    low_water: u64,
}

impl ConsistencyCheck {
    /// Adds a row. The error describes a row that cannot be decoded.
    pub(super) fn add(&mut self, (space, key, value): &SpaceRow) -> Result<(), String> {
        let read = match space {
            Space::Tasks => self.content(key, value),
            Space::Names => self.name(key, value),
            Space::Waiting | Space::Parked | Space::Dead => self.entry(*space, key, value),
            Space::DoneEven | Space::DoneOdd => record::decode::<FinishedTask>(value).map(|_| {
                self.remembered += 1;
            }),
            Space::Counts => self.count(key, value),
            Space::Meta => self.meta(key, value),
        };
        read.map_err(|error| {
            let (space, key, why) = (space.name(), key.escape_ascii(), error.reason());
            format!("the value of key {key} in space {space}: {why}")
        })
    }

    /// Returns the sums if all spaces agree.
    pub(super) fn finish(self, header: &BackupHeader) -> Result<BackupSummary, String> {
        if self.contents != self.named {
            return Err("its contents are not those of its names".to_owned());
        }
        if self.states != self.entries {
            return Err("its names and its entries by time differ".to_owned());
        }
        if self.expiring != self.indexed {
            return Err("its names and its index of expiry differ".to_owned());
        }
        self.retrying_index.check(&self.retrying)?;
        // Tasks of an older server are not in the bytes.
        let is_zero = |counts: &StoredCounts| counts.tasks() == [0; 3];
        if let Some((key, _)) = self.counts.iter().find(|(_, counts)| !is_zero(counts)) {
            let route = key.get(1..).unwrap_or_default().escape_ascii();
            return Err(format!("the counts of route \"{route}\" are wrong"));
        }
        if let Some(seq) = self.highest
            && self.numbers.is_none_or(|limit| seq >= limit)
        {
            return Err(format!("the sequence number {seq} would be given again"));
        }
        if let Some(at) = self.earliest.filter(|at| *at < self.low_water) {
            return Err(format!(
                "a task waits for {at}, before the low-water mark {}",
                self.low_water
            ));
        }
        Ok(BackupSummary {
            header: header.clone(),
            counts: self.total,
            remembered: self.remembered,
        })
    }

    fn content(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let seq: [u8; 8] = key
            .try_into()
            .map_err(|_| StoreError::damage("read a key", "the key is no sequence number"))?;
        let task: Task<'_> = record::decode(value)?;
        let terms = record::stored_terms(task.terms.as_deref());
        let revision = (u64::from_be_bytes(seq), task.fire_at, task.digest(), terms);
        self.contents.add(&revision);
        Ok(())
    }

    fn name(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let name: Name = record::decode(value)?;
        let (route, id) = key::name_of(key)
            .ok_or_else(|| StoreError::damage("read a name", "the key is malformed"))?;
        let terms = record::stored_terms(name.terms.as_deref());
        let revision = (name.seq, name.fire_at, name.digest, &terms);
        self.named.add(&revision);
        let state = (
            (name.seq, name.place),
            (route, id),
            (name.attempt, name.failures, &terms),
        );
        self.states.add(&state);
        if let Some(key) = name.expiry_key() {
            self.expiring.add(&(&key[key::EXPIRY.len()..], route, id));
        }
        self.highest = self.highest.max(Some(name.seq));
        if let Place::Waiting(at) = name.place {
            self.earliest = Some(self.earliest.map_or(at, |earliest| earliest.min(at)));
        }
        self.retrying.add(route, &name);
        self.total.add(&name);
        for route in [route, ""] {
            self.counts.entry(key::route(route)).or_default().add(&name);
        }
        Ok(())
    }

    fn entry(&mut self, space: Space, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let EntryRow {
            seq, place, entry, ..
        } = EntryRow::read(space, key, value)?;
        let terms = record::stored_terms(entry.terms.as_deref());
        let state = (
            (seq, place),
            (entry.route, entry.id),
            (entry.attempt, entry.failures, terms),
        );
        self.entries.add(&state);
        Ok(())
    }

    fn count(&mut self, key: &Bytes, value: &[u8]) -> Result<(), StoreError> {
        let stored: StoredCounts = record::decode(value)?;
        let counts = self.counts.entry(key.clone()).or_default();
        counts.subtract(&stored);
        Ok(())
    }

    fn meta(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        match key {
            key::NUMBERS => self.numbers = Some(record::decode(value)?),
            key::LOW_WATER => self.low_water = record::decode(value)?,
            _ => {
                if let Some(position) = key.strip_prefix(key::EXPIRY) {
                    let name: ExpiryEntry<'_> = record::decode(value)?;
                    self.indexed.add(&(position, name.route, name.id));
                }
                self.retrying_index.add(key, value)?;
            }
        }
        Ok(())
    }
}
