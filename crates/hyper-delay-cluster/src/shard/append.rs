//! The steps of a commit: jobs become a batch, the batch an entry, and the entry is applied once it
//! is in the journal.
//!
//! One entry at a time is on its way, because the ledger reads what the entries before it have
//! written.

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{Shard, leadership::LeaderState};
use crate::{
    call_id::CallId,
    entry::{EncodedEntry, EntryChange},
    log::{AppendOutcome, LogRequest},
    replica::RequiredDiskSpace,
};
use hyper_delay_engine::{
    clock::Now,
    committer::Group,
    metrics::Metrics,
    scheduler::{CommittedJob, SchedulerInput},
};
use hyper_delay_store::{Store, StoreError};

/// An entry on its way to the journal.
#[derive(Debug)]
pub(super) struct PendingAppend {
    entry: EncodedEntry,
    /// The same bytes, for requests.
    bytes: Arc<[u8]>,
    change: EntryChange,
    /// Reported to the scheduler when it is applied.
    committed: Vec<CommittedJob>,
    /// The time of the ledger in Unix milliseconds.
    now: u64,
    /// When it began.
    started: Tick,
    /// The request in flight.
    pub(super) pending_call: Option<CallId>,
    /// When the request is repeated, if none is in flight.
    retry_at: Tick,
}

impl PendingAppend {
    /// An entry that is sent now.
    pub(super) fn new(
        entry: EncodedEntry,
        change: EntryChange,
        committed: Vec<CommittedJob>,
        time: u64,
        now: Now,
    ) -> Self {
        Self {
            bytes: entry.bytes.as_slice().into(),
            entry,
            change,
            committed,
            now: time,
            started: now.monotonic,
            pending_call: None,
            retry_at: now.monotonic,
        }
    }
}

/// The next write of the ledger.
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for each entry, and moved once"
)]
enum PreparedWrite {
    Nothing,
    /// The disk is full.
    NoRoom,
    /// Outcomes of jobs that change nothing.
    Outcomes(Vec<CommittedJob>),
    Change(EntryChange, Vec<CommittedJob>),
}

impl<S: Store> LeaderState<S> {
    /// Applies jobs to the ledger until their changes are enough for an entry.
    fn prepare(
        &mut self,
        now: u64,
        most_bytes: usize,
        store: &S,
        metrics: &Metrics,
    ) -> Result<PreparedWrite, StoreError> {
        if self.jobs.is_empty() {
            return Ok(PreparedWrite::Nothing);
        }
        let ledger = &mut self.stage.ledger;
        if let Some(space) = ledger.expired_space(now) {
            return Ok(PreparedWrite::Change(EntryChange::Clear(space), Vec::new()));
        }
        ledger.forget_expired(now)?;
        let disk_space = store.disk_space(ledger.tasks()?)?;
        metrics.note_disk_space(disk_space);
        if disk_space.is_exhausted() {
            return Ok(PreparedWrite::NoRoom);
        }
        let mut group = Group::default();
        self.stage.begin(disk_space);
        while let Some(job) = self.jobs.pop_front() {
            self.stage.apply(job, now, &mut group)?;
            if group.is_full() || self.stage.ledger.batch_bytes() >= most_bytes {
                break;
            }
        }
        self.stage.end();
        let batch = self.stage.ledger.take_batch()?;
        if batch.is_empty() {
            self.batches += 1;
            self.stage.ledger.committed(self.batches);
            return Ok(PreparedWrite::Outcomes(group.committed));
        }
        Ok(PreparedWrite::Change(
            EntryChange::Writes(batch),
            group.committed,
        ))
    }
}

impl<S: Store> Shard<S> {
    /// Writes what the scheduler has asked for.
    pub(super) fn write_next(&mut self, now: Now) {
        while let Some(leading) = &mut self.leading {
            if let Some(writing) = &leading.pending_append {
                if writing.pending_call.is_none() && now.monotonic >= writing.retry_at {
                    self.send_append();
                }
                return;
            }
            let most_bytes = self.setup.group_bytes;
            let time = now.wall_millis().max(self.replica.applied().now);
            match leading.prepare(time, most_bytes, self.replica.store(), &self.setup.metrics) {
                Ok(PreparedWrite::Nothing) => return,
                Ok(PreparedWrite::NoRoom) => {
                    return self.wait_for_disk_space(RequiredDiskSpace::CHANGE, now);
                }
                Ok(PreparedWrite::Outcomes(committed)) => self.committed(committed, now),
                Ok(PreparedWrite::Change(mut change, committed)) => {
                    let nonce = self.calls.next().0;
                    let epoch = leading.fence.epoch;
                    let entry = self.replica.next(epoch, nonce, time, &mut change);
                    leading.pending_append =
                        Some(PendingAppend::new(entry, change, committed, time, now));
                }
                Err(error) => return self.stop(error),
            }
        }
    }

    fn send_append(&mut self) {
        let seq = self.applied() + 1;
        let call = self.calls.next();
        if let Some(leading) = &mut self.leading
            && let Some(writing) = &mut leading.pending_append
        {
            writing.pending_call = Some(call);
            let request = LogRequest::Append {
                fence: leading.fence,
                seq,
                entry: writing.bytes.clone(),
            };
            self.effects.calls.push((call, request));
        }
    }

    /// Handles the result of an append.
    pub(super) fn appended(&mut self, call: CallId, appended: AppendOutcome, now: Now) {
        let Some(leading) = &mut self.leading else {
            return;
        };
        let Some(writing) = leading
            .pending_append
            .take_if(|it| it.pending_call == Some(call))
        else {
            return;
        };
        if appended != AppendOutcome::Done {
            let fence = leading.fence;
            return self.resign(fence);
        }
        let PendingAppend {
            entry,
            mut change,
            committed,
            now: time,
            started: begun,
            ..
        } = writing;
        let metrics = &self.setup.metrics;
        let taken = Duration::from_nanos(now.monotonic.since(begun));
        metrics.commit_time.observe_time(taken);
        metrics.batch_size.observe(committed.len() as u64);
        let (is_batch, due) = match &mut change {
            EntryChange::Writes(batch) => (true, batch.take_waiting_changes()),
            EntryChange::Clear(_) => (false, Vec::new()),
        };
        if let Err(error) = self.replica.apply_own(time, &entry, change) {
            return self.stop(error);
        }
        leading.forecast.committed(&due);
        let ledger = &mut leading.stage.ledger;
        if is_batch {
            leading.batches += 1;
            ledger.committed(leading.batches);
            self.committed(committed, now);
        } else if let Err(error) = ledger.forget_expired(time) {
            self.stop(error);
        }
    }

    pub(super) fn append_unanswered(&mut self, call: CallId, again: Tick) {
        if let Some(leading) = &mut self.leading
            && let Some(writing) = &mut leading.pending_append
            && writing
                .pending_call
                .take_if(|pending| *pending == call)
                .is_some()
        {
            writing.retry_at = again;
        }
    }

    /// Returns when the request is repeated.
    pub(super) fn append_next(&self) -> Option<Tick> {
        let writing = self.leading.as_ref()?.pending_append.as_ref()?;
        writing.pending_call.is_none().then_some(writing.retry_at)
    }

    fn committed(&mut self, committed: Vec<CommittedJob>, now: Now) {
        self.input(SchedulerInput::Committed(committed), now);
    }
}
