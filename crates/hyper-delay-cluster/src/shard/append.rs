//! The steps of a commit: jobs become a batch, the batch an entry, and the entry is applied once it
//! is in the journal.
//!
//! One entry at a time is on its way, because the ledger reads what the entries before it have
//! written.

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{Shard, lead::Leading};
use crate::{
    calls::CallId,
    entry::{Change, Encoded},
    log::{Appended, Request},
    replica::Wanted,
};
use hyper_delay_engine::{
    clock::Now,
    committer::Group,
    metrics::Metrics,
    scheduler::{Committed, Input},
};
use hyper_delay_store::{Store, StoreError};

/// An entry on its way to the journal.
#[derive(Debug)]
pub(super) struct Writing {
    entry: Encoded,
    /// The same bytes, for requests.
    bytes: Arc<[u8]>,
    change: Change,
    /// What is reported once it is applied.
    committed: Vec<Committed>,
    /// The time of the ledger in Unix milliseconds.
    now: u64,
    /// When it began.
    begun: Tick,
    /// The request under way.
    pub(super) asked: Option<CallId>,
    /// When the request is repeated, if none is under way.
    again: Tick,
}

impl Writing {
    /// An entry that is sent now.
    pub(super) fn new(
        entry: Encoded,
        change: Change,
        committed: Vec<Committed>,
        time: u64,
        now: Now,
    ) -> Self {
        Self {
            bytes: entry.bytes.as_slice().into(),
            entry,
            change,
            committed,
            now: time,
            begun: now.monotonic,
            asked: None,
            again: now.monotonic,
        }
    }
}

/// What the ledger has to write next.
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for each entry, and moved once"
)]
enum Prepared {
    Nothing,
    /// The disk is full.
    NoRoom,
    /// Outcomes of jobs that change nothing.
    Told(Vec<Committed>),
    Change(Change, Vec<Committed>),
}

impl<S: Store> Leading<S> {
    /// Applies jobs to the ledger until their changes are enough for an entry.
    fn prepare(
        &mut self,
        now: u64,
        most_bytes: usize,
        store: &S,
        metrics: &Metrics,
    ) -> Result<Prepared, StoreError> {
        if self.jobs.is_empty() {
            return Ok(Prepared::Nothing);
        }
        let ledger = &mut self.stage.ledger;
        if let Some(space) = ledger.space_to_forget(now) {
            return Ok(Prepared::Change(Change::Clear(space), Vec::new()));
        }
        ledger.forget_expired(now)?;
        let room = store.room(ledger.tasks()?)?;
        metrics.look(room);
        if room.is_exhausted() {
            return Ok(Prepared::NoRoom);
        }
        let mut group = Group::default();
        self.stage.begin(room);
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
            return Ok(Prepared::Told(group.committed));
        }
        Ok(Prepared::Change(Change::Writes(batch), group.committed))
    }
}

impl<S: Store> Shard<S> {
    /// Writes what the scheduler has asked for.
    pub(super) fn write(&mut self, now: Now) {
        while let Some(leading) = &mut self.leading {
            if let Some(writing) = &leading.writing {
                if writing.asked.is_none() && now.monotonic >= writing.again {
                    self.send();
                }
                return;
            }
            let most_bytes = self.setup.group_bytes;
            let time = now.wall_millis().max(self.replica.applied().now);
            match leading.prepare(time, most_bytes, self.replica.store(), &self.setup.metrics) {
                Ok(Prepared::Nothing) => return,
                Ok(Prepared::NoRoom) => return self.lacks_room(Wanted::CHANGE, now),
                Ok(Prepared::Told(committed)) => self.committed(committed, now),
                Ok(Prepared::Change(mut change, committed)) => {
                    let nonce = self.calls.next().0;
                    let epoch = leading.fence.epoch;
                    let entry = self.replica.next(epoch, nonce, time, &mut change);
                    leading.writing = Some(Writing::new(entry, change, committed, time, now));
                }
                Err(error) => return self.stop(error),
            }
        }
    }

    fn send(&mut self) {
        let seq = self.applied() + 1;
        let call = self.calls.next();
        if let Some(leading) = &mut self.leading
            && let Some(writing) = &mut leading.writing
        {
            writing.asked = Some(call);
            let request = Request::Append {
                fence: leading.fence,
                seq,
                entry: writing.bytes.clone(),
            };
            self.effects.calls.push((call, request));
        }
    }

    /// The log says what has become of the entry.
    pub(super) fn appended(&mut self, call: CallId, appended: Appended, now: Now) {
        let Some(leading) = &mut self.leading else {
            return;
        };
        let Some(writing) = leading.writing.take_if(|it| it.asked == Some(call)) else {
            return;
        };
        if appended != Appended::Done {
            let fence = leading.fence;
            return self.resign(fence);
        }
        let Writing {
            entry,
            mut change,
            committed,
            now: time,
            begun,
            ..
        } = writing;
        let metrics = &self.setup.metrics;
        let taken = Duration::from_nanos(now.monotonic.since(begun));
        metrics.commit_time.observe_time(taken);
        metrics.batch_size.observe(committed.len() as u64);
        let (is_batch, due) = match &mut change {
            Change::Writes(batch) => (true, batch.take_due()),
            Change::Clear(_) => (false, Vec::new()),
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
            && let Some(writing) = &mut leading.writing
            && writing.asked.take_if(|asked| *asked == call).is_some()
        {
            writing.again = again;
        }
    }

    /// Returns when the request is repeated.
    pub(super) fn append_next(&self) -> Option<Tick> {
        let writing = self.leading.as_ref()?.writing.as_ref()?;
        writing.asked.is_none().then_some(writing.again)
    }

    fn committed(&mut self, committed: Vec<Committed>, now: Now) {
        self.input(Input::Committed(committed), now);
    }
}
