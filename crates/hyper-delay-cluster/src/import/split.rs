use std::{
    collections::{BTreeMap, btree_map::Entry as Slot},
    fmt,
};

use super::{
    ImportError, JournalStart, NewShardStore, new_shard_store::RowCounts, numbering::TaskNumbering,
};
use crate::{Charter, ShardId, first_seq, shard_of};
use hyper_delay_store::{
    Bytes, Space, Store, StoreError,
    record::{
        self, AuditLine, BulkJob, JobState, Name, RetryingCounts, RetryingEntry, StoredCounts,
        key::{self, AUDIT, EXPIRY, JOBS, PAUSED, RETRYING_PREFIX},
        sharded_number,
    },
};

/// The result of an import.
#[derive(Debug)]
pub struct ImportReport {
    /// Number of tasks by state.
    pub(crate) counts: StoredCounts,
    /// Number of names in the deduplication window, expired ones among them.
    pub(crate) remembered: u64,
    /// The beginnings of the journals, by the numbers of the shards.
    pub journal_starts: Vec<JournalStart>,
    /// The numbers of bulk operations before, and their new ones.
    pub jobs: BTreeMap<u64, u64>,
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [waiting, parked, dead] = self.counts.tasks();
        write!(
            f,
            "{} tasks ({waiting} waiting, {parked} parked, {dead} dead), {} finished names",
            self.counts.total(),
            self.remembered
        )
    }
}

/// Writes the rows of a store into those of shards, which are empty and by the numbers of the
/// shards. Bulk operations that were running are stopped.
///
/// # Errors
///
/// If the store is not consistent, or a store fails.
pub(crate) fn split<S: Store, T: Store>(
    source: &S,
    targets: &mut [NewShardStore<T>],
    charter: Charter,
) -> Result<ImportReport, ImportError> {
    let mut tasks = Vec::new();
    let mut counts: BTreeMap<Bytes, StoredCounts> = BTreeMap::new();
    for row in source.rows(Space::Names, &[]) {
        let (key, value) = row?;
        let route = route_of(&key)?;
        let name: Name = record::decode(&value)?;
        tasks.push((name.seq, shard_of(route, charter.shards)));
        match counts.entry(key::route(route)) {
            Slot::Occupied(mut slot) => slot.get_mut().add(&name),
            Slot::Vacant(slot) => slot.insert(StoredCounts::default()).add(&name),
        }
    }
    let mut splitting = ShardSplitter {
        charter,
        numbering: TaskNumbering::of(charter, tasks),
        targets,
        rows: RowCounts::default(),
        retrying: vec![RetryingCounts::default(); usize::from(charter.shards)],
    };
    for space in Space::ALL {
        match space {
            Space::Counts => {}
            Space::Meta => splitting.meta(source)?,
            space => splitting.space(source, space)?,
        }
    }
    let jobs = splitting.operations(source)?;
    splitting.numbers()?;
    splitting.write_retrying_counts()?;
    let total = splitting.counts(&counts)?;
    let remembered =
        splitting.rows[Space::DoneEven as usize] + splitting.rows[Space::DoneOdd as usize];
    let beginnings = splitting.finish()?;
    Ok(ImportReport {
        counts: total,
        remembered,
        journal_starts: beginnings,
        jobs,
    })
}

struct ShardSplitter<'a, T> {
    charter: Charter,
    numbering: TaskNumbering,
    targets: &'a mut [NewShardStore<T>],
    /// The rows that were written.
    rows: RowCounts,
    /// The retrying tasks of each shard.
    retrying: Vec<RetryingCounts>,
}

impl<T: Store> ShardSplitter<'_, T> {
    fn put(
        &mut self,
        shard: ShardId,
        space: Space,
        key: impl Into<Bytes>,
        value: impl Into<Bytes>,
    ) -> Result<(), StoreError> {
        self.rows[space as usize] += 1;
        self.target(shard).put(space, key, value)
    }

    fn target(&mut self, shard: ShardId) -> &mut NewShardStore<T> {
        let target = self.targets.get_mut(usize::from(shard.0));
        target.expect("there is a store for each shard")
    }

    fn shard_of(&self, route: &str) -> ShardId {
        shard_of(route, self.charter.shards)
    }

    /// Returns the new number of a task, which a row refers to.
    fn number(&self, space: Space, seq: u64) -> Result<u64, ImportError> {
        let number = self.numbering.of_task(seq);
        number.ok_or(ImportError::Stray {
            space: space.name(),
            number: seq,
        })
    }

    /// Writes the rows of a space that each belong to a task or to a finished one.
    fn space(&mut self, source: &impl Store, space: Space) -> Result<(), ImportError> {
        for row in source.rows(space, &[]) {
            let (mut key, mut value) = row?;
            let shard = match space {
                Space::DoneEven | Space::DoneOdd => self.shard_of(route_of(&key)?),
                Space::Names => {
                    let name: Name = record::decode(&value)?;
                    let seq = self.number(space, name.seq)?;
                    let name = Name { seq, ..name };
                    self.add_retrying(&key, &name)?;
                    value = record::encode(&name);
                    crate::shard_of_seq(seq)
                }
                // Their keys end with the number.
                _ => {
                    let (number, renumbered) = self.renumbered(space, &key)?;
                    key = renumbered;
                    crate::shard_of_seq(number)
                }
            };
            self.put(shard, space, key, value)?;
        }
        Ok(())
    }

    /// Writes the row of a retrying task in their index, and counts it.
    fn add_retrying(&mut self, name_key: &[u8], name: &Name) -> Result<(), ImportError> {
        let malformed = || StoreError::damage("read a name", "the key is malformed");
        let (route, id) = key::name_of(name_key).ok_or_else(malformed)?;
        let Some(key) = name.retrying_key(route) else {
            return Ok(());
        };
        let shard = crate::shard_of_seq(name.seq);
        self.retrying[usize::from(shard.0)].add(route, name);
        let value = record::encode(&RetryingEntry { id });
        Ok(self.put(shard, Space::Meta, key, value)?)
    }

    /// Returns the new number that a key ends with, and the new key.
    fn renumbered(&self, space: Space, key: &[u8]) -> Result<(u64, Bytes), ImportError> {
        let short = || StoreError::damage("read a key", "the key is too short");
        let (before, seq) = key.split_last_chunk::<8>().ok_or_else(short)?;
        let number = self.number(space, u64::from_be_bytes(*seq))?;
        let key = [before, &number.to_be_bytes()].concat();
        Ok((number, key.into()))
    }

    /// Writes the rows of `meta`, without those of bulk operations and the audit.
    fn meta(&mut self, source: &impl Store) -> Result<(), ImportError> {
        for row in source.rows(Space::Meta, &[]) {
            let (key, value) = row?;
            match &*key {
                // Of each shard.
                key::LOW_WATER | key::DEDUPE_WINDOW => {
                    for target in self.targets.iter_mut() {
                        target.put(Space::Meta, key.clone(), value.clone())?;
                    }
                }
                // It is made anew.
                key::NUMBERS => {}
                // The index of retrying tasks is made from the names.
                other if other.starts_with(RETRYING_PREFIX) => {}
                key::APPLIED | key::SYNCED | key::HANDED_OVER => return Err(ImportError::OneShard),
                key::MENDING => return Err(ImportError::Mending),
                other if other.starts_with(JOBS) || other.starts_with(AUDIT) => {}
                other if other.starts_with(PAUSED) => {
                    let shard = self.shard_of(key::text_of(&other[PAUSED.len()..])?);
                    self.put(shard, Space::Meta, key, value)?;
                }
                other if other.starts_with(EXPIRY) => {
                    let (number, key) = self.renumbered(Space::Meta, other)?;
                    let shard = crate::shard_of_seq(number);
                    self.put(shard, Space::Meta, key, value)?;
                }
                other => {
                    let unknown = String::from_utf8_lossy(other).into_owned();
                    return Err(ImportError::Unknown(unknown));
                }
            }
        }
        Ok(())
    }

    /// Writes the bulk operations and the lines of the audit, each with numbers in the order of
    /// time. Returns the new numbers of bulk operations.
    fn operations(&mut self, source: &impl Store) -> Result<BTreeMap<u64, u64>, ImportError> {
        let (jobs, lines) = (jobs(source)?, audit(source)?);
        let low_water = match source.get(Space::Meta, key::LOW_WATER)? {
            Some(mark) => record::decode(&mark)?,
            None => 0,
        };
        // The audit also names bulk operations that are not kept any more.
        let mut known: BTreeMap<u64, (u64, ShardId)> = BTreeMap::new();
        for line in &lines {
            if let Some(job) = line.job {
                let shard = self.shard_of(&line.route);
                known.entry(job).or_insert((line.at, shard));
            }
        }
        for (id, job) in &jobs {
            known.insert(*id, (job.began_at, self.shard_of(&job.route)));
        }
        let mut order: Vec<_> = known.into_iter().collect();
        sharded_number::sort_by_time(&mut order, |(id, (at, _))| (*id, *at));
        let numbers: BTreeMap<u64, u64> = order
            .into_iter()
            .map(|(id, (_, shard))| (id, self.numbering.next(shard)))
            .collect();
        for (id, job) in jobs {
            let shard = self.shard_of(&job.route);
            let job = match job.state {
                JobState::Running => BulkJob {
                    state: JobState::Stopped,
                    // The last time that the store knows of, so that the result depends on the
                    // store only.
                    ended_at: job.began_at.max(low_water),
                    ..job
                },
                _ => job,
            };
            self.put(
                shard,
                Space::Meta,
                key::job(numbers[&id]),
                record::encode(&job),
            )?;
        }
        self.audit(lines, &numbers)?;
        Ok(numbers)
    }

    fn audit(
        &mut self,
        lines: Vec<AuditLine>,
        jobs: &BTreeMap<u64, u64>,
    ) -> Result<(), ImportError> {
        let mut of_shards = vec![Vec::new(); self.targets.len()];
        for line in lines {
            of_shards[usize::from(self.shard_of(&line.route).0)].push(line);
        }
        for (shard, lines) in super::shards(self.charter).zip(of_shards) {
            let most = usize::try_from(AuditLine::RETAINED).unwrap_or(usize::MAX);
            let left_out = lines.len().saturating_sub(most);
            for (line, number) in lines.into_iter().skip(left_out).zip(first_seq(shard)..) {
                let job = line.job.map(|job| jobs[&job]);
                let line = AuditLine {
                    number,
                    job,
                    ..line
                };
                self.put(
                    shard,
                    Space::Meta,
                    key::audit(line.ring_slot()),
                    line.encode(),
                )?;
            }
        }
        Ok(())
    }

    /// Writes which numbers are given next.
    fn numbers(&mut self) -> Result<(), StoreError> {
        for shard in super::shards(self.charter) {
            if let Some(end) = self.numbering.end(shard) {
                let value = record::encode(&end);
                self.target(shard).put(Space::Meta, key::NUMBERS, value)?;
            }
        }
        Ok(())
    }

    /// Writes the numbers of retrying tasks.
    fn write_retrying_counts(&mut self) -> Result<(), StoreError> {
        let retrying = std::mem::take(&mut self.retrying);
        for (shard, counts) in super::shards(self.charter).zip(retrying) {
            for (key, value) in counts.into_rows() {
                self.target(shard).put(Space::Meta, key, value)?;
            }
        }
        Ok(())
    }

    /// Writes the counts of routes, and their sums over each shard. Returns the sum over all.
    fn counts(
        &mut self,
        counts: &BTreeMap<Bytes, StoredCounts>,
    ) -> Result<StoredCounts, StoreError> {
        let mut sums = vec![StoredCounts::default(); self.targets.len()];
        let mut total = StoredCounts::default();
        for (key, counts) in counts {
            let shard = self.shard_of(route_of(key)?);
            total.merge(counts);
            sums[usize::from(shard.0)].merge(counts);
            let value = record::encode(counts);
            self.target(shard).put(Space::Counts, key.clone(), value)?;
        }
        for (target, sum) in self.targets.iter_mut().zip(sums) {
            if !sum.is_empty() {
                target.put(Space::Counts, key::route(""), record::encode(&sum))?;
            }
        }
        Ok(total)
    }

    /// Syncs the stores, and compares what they contain with what was written.
    fn finish(self) -> Result<Vec<JournalStart>, ImportError> {
        let mut beginnings = Vec::new();
        let mut found = RowCounts::default();
        for (shard, target) in super::shards(self.charter).zip(self.targets) {
            beginnings
                .push(target.finish(|contents| JournalStart::of(self.charter, shard, contents))?);
            target.count(&mut found)?;
        }
        for space in Space::ALL {
            let (before, after) = (self.rows[space as usize], found[space as usize]);
            if before != after {
                return Err(ImportError::Different {
                    space: space.name(),
                    before,
                    after,
                });
            }
        }
        Ok(beginnings)
    }
}

/// Reads the bulk operations.
fn jobs(source: &impl Store) -> Result<Vec<(u64, BulkJob)>, StoreError> {
    let mut jobs = Vec::new();
    for row in source.rows(Space::Meta, JOBS) {
        let (key, value) = row?;
        let Some(id) = key.strip_prefix(JOBS) else {
            break;
        };
        jobs.push((key::number_of(id)?, record::decode(&value)?));
    }
    Ok(jobs)
}

/// Reads the lines of the audit, in the order of time.
fn audit(source: &impl Store) -> Result<Vec<AuditLine>, StoreError> {
    let mut lines = Vec::new();
    for row in source.rows(Space::Meta, AUDIT) {
        let (key, value) = row?;
        if !key.starts_with(AUDIT) {
            break;
        }
        lines.push(AuditLine::decode(&value)?);
    }
    sharded_number::sort_by_time(&mut lines, |line: &AuditLine| (line.number, line.at));
    Ok(lines)
}

/// Returns the route that a key begins with.
fn route_of(key: &[u8]) -> Result<&str, StoreError> {
    let malformed = || StoreError::damage("read a key", "the key has no route");
    Ok(key::route_of(key).ok_or_else(malformed)?.0)
}
