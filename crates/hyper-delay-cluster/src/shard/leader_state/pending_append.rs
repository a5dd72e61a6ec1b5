//! An entry on its way to the journal.

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use crate::{
    call_id::{CallId, CallIds},
    entry::{EncodedEntry, EntryChange},
    log::{Fence, LogRequest},
    replica::Replica,
};
use hyper_delay_engine::{clock::Now, metrics::Metrics, scheduler::CommittedJob};
use hyper_delay_store::{Store, StoreError, WaitingChange};

/// An entry on its way to the journal, whose request is repeated until it is answered.
#[derive(Debug)]
pub(in crate::shard) struct PendingAppend {
    entry: EncodedEntry,
    /// The same bytes, for requests.
    bytes: Arc<[u8]>,
    change: EntryChange,
    /// Reported to the scheduler when it is applied.
    committed: Vec<CommittedJob>,
    /// The time of the ledger in Unix milliseconds.
    time: u64,
    /// When it began.
    started: Tick,
    /// The request in flight.
    pending_call: Option<CallId>,
    /// When the request is repeated, if none is in flight.
    retry_at: Tick,
}

/// What follows from an entry that is applied.
#[derive(Debug)]
pub(in crate::shard) struct AppliedAppend {
    /// The jobs of a batch. `None`: the entry clears a space.
    pub(in crate::shard) committed: Option<Vec<CommittedJob>>,
    /// The changes of waiting tasks.
    pub(in crate::shard) waiting_changes: Vec<WaitingChange>,
    /// The time of the ledger in Unix milliseconds.
    pub(in crate::shard) time: u64,
}

impl PendingAppend {
    /// An entry that is sent now. `time` is that of the ledger in Unix milliseconds.
    pub(in crate::shard) fn new(
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
            time,
            started: now.monotonic,
            pending_call: None,
            retry_at: now.monotonic,
        }
    }

    /// Returns the request that puts the entry at a place of the journal, if it must be sent now.
    pub(in crate::shard) fn request(
        &mut self,
        fence: Fence,
        seq: u64,
        calls: &mut CallIds,
        now: Now,
    ) -> Option<(CallId, LogRequest)> {
        self.next().filter(|at| now.monotonic >= *at)?;
        let call = calls.next();
        self.pending_call = Some(call);
        let entry = self.bytes.clone();
        Some((call, LogRequest::Append { fence, seq, entry }))
    }

    /// Returns whether this request is in flight.
    pub(in crate::shard) fn is_sent_with(&self, call: CallId) -> bool {
        self.pending_call == Some(call)
    }

    /// The request is repeated at `again` if it was this one.
    pub(in crate::shard) fn unanswered(&mut self, call: CallId, again: Tick) {
        if self
            .pending_call
            .take_if(|pending| *pending == call)
            .is_some()
        {
            self.retry_at = again;
        }
    }

    /// Returns when the request must be sent.
    pub(in crate::shard) fn next(&self) -> Option<Tick> {
        self.pending_call.is_none().then_some(self.retry_at)
    }

    /// Applies the entry, which the journal contains now.
    pub(in crate::shard) fn apply<S: Store>(
        mut self,
        replica: &mut Replica<S>,
        metrics: &Metrics,
        now: Now,
    ) -> Result<AppliedAppend, StoreError> {
        let taken = Duration::from_nanos(now.monotonic.since(self.started));
        metrics.commit_time.observe_time(taken);
        metrics.batch_size.observe(self.committed.len() as u64);
        let (committed, waiting_changes) = match &mut self.change {
            EntryChange::Writes(batch) => (Some(self.committed), batch.take_waiting_changes()),
            EntryChange::Clear(_) => (None, Vec::new()),
        };
        replica.apply_own(self.time, &self.entry, self.change)?;
        Ok(AppliedAppend {
            committed,
            waiting_changes,
            time: self.time,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard::fixture::at;
    use crate::{Charter, ShardId, log::LeaseId};
    use hyper_delay_store::{Batch, Space, fake::Fake};

    const CHARTER: Charter = Charter {
        cluster: 7,
        shards: 1,
    };
    const SHARD: ShardId = ShardId(0);
    const FENCE: Fence = Fence {
        shard: SHARD,
        epoch: 3,
        lease: LeaseId(5),
    };

    /// A replica, and an append of its next entry that began at 10 ns.
    fn append(mut change: EntryChange) -> (Replica<Fake>, PendingAppend) {
        let replica = Replica::open(Arc::default(), CHARTER, SHARD).unwrap();
        let entry = replica.next(FENCE.epoch, 1, 2_000, &mut change);
        let append = PendingAppend::new(entry, change, Vec::new(), 2_000, at(10));
        (replica, append)
    }

    #[test]
    fn an_unanswered_append_is_repeated_with_the_same_entry() {
        let (_, mut append) = append(EntryChange::Writes(Batch::new()));
        let mut calls = CallIds::default();
        let (call, first) = append.request(FENCE, 1, &mut calls, at(10)).unwrap();
        assert!(append.is_sent_with(call));
        assert_eq!(append.next(), None);
        assert_eq!(append.request(FENCE, 1, &mut calls, at(90)), None);
        append.unanswered(CallId(call.0 + 1), Tick::new(20));
        assert_eq!(append.next(), None, "that was another request");
        append.unanswered(call, Tick::new(50));
        assert_eq!(append.next(), Some(Tick::new(50)));
        assert_eq!(append.request(FENCE, 1, &mut calls, at(49)), None);
        let (again, second) = append.request(FENCE, 1, &mut calls, at(50)).unwrap();
        assert_eq!(second, first);
        assert!(append.is_sent_with(again) && !append.is_sent_with(call));
    }

    #[test]
    fn only_an_append_of_a_batch_commits_jobs() {
        for (change, commits) in [
            (EntryChange::Writes(Batch::new()), true),
            (EntryChange::Clear(Space::DoneEven), false),
        ] {
            let (mut replica, append) = append(change);
            let metrics = Metrics::default();
            let applied = append.apply(&mut replica, &metrics, at(70)).unwrap();
            assert_eq!(applied.committed.is_some(), commits);
            assert_eq!(applied.time, 2_000);
            assert_eq!(replica.applied().seq, 1);
        }
    }
}
