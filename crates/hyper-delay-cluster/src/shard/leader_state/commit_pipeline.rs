//! The way of the jobs of a leader to the journal: jobs become a batch, the batch an entry, and the
//! entry is applied once it is in the journal.
//!
//! One entry at a time is on its way, because the ledger reads what the entries before it have
//! written.

use std::collections::VecDeque;

use race_wheel::Tick;

use super::pending_append::{AppliedAppend, PendingAppend};
use crate::{
    call_id::{CallId, CallIds},
    entry::EntryChange,
    log::{Fence, LogRequest},
};
use hyper_delay_engine::{
    clock::Now,
    committer::{Group, GroupBuilder},
    ledger::Ledger,
    metrics::Metrics,
    scheduler::{CommitJob, CommittedJob},
};
use hyper_delay_store::{Store, StoreError};

/// The jobs of the scheduler that are not in the journal yet. See the [module](self).
#[derive(Debug)]
pub(in crate::shard) struct CommitPipeline<S> {
    stage: GroupBuilder<S>,
    /// Jobs that are not applied to the ledger yet.
    jobs: VecDeque<CommitJob>,
    pending: Option<PendingAppend>,
    /// The number of batches of the ledger that are in the store.
    batches: u64,
}

/// The next write of the ledger.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for each entry, and moved once"
)]
pub(in crate::shard) enum PreparedWrite {
    /// No job waits, or an entry is on its way.
    Nothing,
    /// The disk is full.
    NoRoom,
    /// Outcomes of jobs that change nothing.
    Outcomes(Vec<CommittedJob>),
    /// The contents of the next entry.
    Change(EntryChange, Vec<CommittedJob>),
}

impl<S: Store> CommitPipeline<S> {
    pub(super) fn new(ledger: Ledger<S>) -> Self {
        Self {
            stage: GroupBuilder::new(ledger),
            jobs: VecDeque::new(),
            pending: None,
            batches: 0,
        }
    }

    /// Adds jobs of the scheduler.
    pub(super) fn push(&mut self, jobs: Vec<CommitJob>) {
        self.jobs.extend(jobs);
    }

    /// Returns whether everything that was added is in the journal.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_none() && self.jobs.is_empty()
    }

    /// Applies jobs to the ledger until their changes are enough for an entry. `time` is that of the
    /// ledger in Unix milliseconds.
    pub(super) fn prepare(
        &mut self,
        time: u64,
        most_bytes: usize,
        store: &S,
        metrics: &Metrics,
    ) -> Result<PreparedWrite, StoreError> {
        if self.pending.is_some() || self.jobs.is_empty() {
            return Ok(PreparedWrite::Nothing);
        }
        let ledger = &mut self.stage.ledger;
        if let Some(space) = ledger.expired_space(time) {
            return Ok(PreparedWrite::Change(EntryChange::Clear(space), Vec::new()));
        }
        ledger.forget_expired(time)?;
        let disk_space = store.disk_space(ledger.tasks()?)?;
        metrics.note_disk_space(disk_space);
        if disk_space.is_exhausted() {
            return Ok(PreparedWrite::NoRoom);
        }
        let mut group = Group::default();
        self.stage.begin(disk_space);
        while let Some(job) = self.jobs.pop_front() {
            self.stage.apply(job, time, &mut group)?;
            if group.is_full() || self.stage.ledger.batch_bytes() >= most_bytes {
                break;
            }
        }
        self.stage.end();
        let batch = self.stage.ledger.take_batch()?;
        if batch.is_empty() {
            self.batch_stored();
            return Ok(PreparedWrite::Outcomes(group.committed));
        }
        Ok(PreparedWrite::Change(
            EntryChange::Writes(batch),
            group.committed,
        ))
    }

    /// Begins to append an entry. The one before it must have been taken.
    pub(super) fn append(&mut self, append: PendingAppend) {
        debug_assert!(self.pending.is_none(), "one entry at a time");
        self.pending = Some(append);
    }

    /// Returns the request that puts the entry at a place of the journal, if it must be sent now.
    pub(super) fn request(
        &mut self,
        fence: Fence,
        seq: u64,
        calls: &mut CallIds,
        now: Now,
    ) -> Option<(CallId, LogRequest)> {
        self.pending.as_mut()?.request(fence, seq, calls, now)
    }

    /// Returns the entry whose request is answered, if it is the one in flight.
    pub(super) fn take_answered(&mut self, call: CallId) -> Option<PendingAppend> {
        self.pending.take_if(|pending| pending.is_sent_with(call))
    }

    /// An entry of this pipeline is applied.
    pub(super) fn applied(&mut self, applied: &AppliedAppend) -> Result<(), StoreError> {
        match applied.committed {
            Some(_) => self.batch_stored(),
            None => self.stage.ledger.forget_expired(applied.time)?,
        }
        Ok(())
    }

    fn batch_stored(&mut self) {
        self.batches += 1;
        self.stage.ledger.committed(self.batches);
    }

    pub(super) fn unanswered(&mut self, call: CallId, again: Tick) {
        if let Some(pending) = &mut self.pending {
            pending.unanswered(call, again);
        }
    }

    /// Returns when a request must be sent.
    pub(super) fn next(&self) -> Option<Tick> {
        self.pending.as_ref()?.next()
    }
}

/// Hooks of the simulation to plant faults.
#[cfg(test)]
impl<S: Store> CommitPipeline<S> {
    /// Gives up an append that was not answered, as if it had failed.
    pub(in crate::shard) fn forget_unanswered(&mut self) {
        self.pending.take_if(|pending| pending.next().is_some());
    }

    /// Returns whether nothing was added yet.
    pub(in crate::shard) fn is_new(&self) -> bool {
        self.batches == 0 && self.is_empty()
    }

    /// Continues with another ledger.
    pub(in crate::shard) fn set_ledger(&mut self, ledger: Ledger<S>) {
        self.stage.ledger = ledger;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Charter, ShardId, log::LeaseId, replica::Replica};
    use hyper_delay_config::Config;
    use hyper_delay_engine::{
        ledger::{Op, Outcome, ScheduleOrder},
        scheduler::{CommitToken, SchedulerSettings},
    };
    use hyper_delay_protocol::{Compression, Headers};
    use hyper_delay_store::{DiskSpace, fake::Fake};

    const CHARTER: Charter = Charter {
        cluster: 7,
        shards: 1,
    };
    const FENCE: Fence = Fence {
        shard: ShardId(0),
        epoch: 3,
        lease: LeaseId(5),
    };
    const NOW: Now = Now {
        wall_nanos: 1_000_000_000_000,
        monotonic: Tick::ZERO,
    };
    const TIME: u64 = 1_000_000;

    /// A leader whose entries have at most 150 bytes of rows, unless one job has more.
    struct World {
        replica: Replica<Fake>,
        pipeline: CommitPipeline<Fake>,
        calls: CallIds,
    }

    impl World {
        fn new() -> Self {
            let store = Arc::<Fake>::default();
            let replica = Replica::open(store, CHARTER, FENCE.shard).unwrap();
            let settings = SchedulerSettings::from(Arc::new(Config::default()));
            let store = replica.store().clone();
            let ledger = Ledger::open_from(store, 1_000, 1, settings.sizes()).unwrap();
            Self {
                replica,
                pipeline: CommitPipeline::new(ledger),
                calls: CallIds::default(),
            }
        }

        fn prepare(&mut self) -> PreparedWrite {
            let store = self.replica.store();
            let metrics = Metrics::default();
            self.pipeline.prepare(TIME, 150, store, &metrics).unwrap()
        }

        /// Begins to append the next write. Returns its jobs.
        fn begin(&mut self) -> usize {
            let PreparedWrite::Change(mut change, committed) = self.prepare() else {
                panic!("no change");
            };
            let jobs = committed.len();
            let entry = self.replica.next(FENCE.epoch, 1, TIME, &mut change);
            let append = PendingAppend::new(entry, change, committed, TIME, NOW);
            self.pipeline.append(append);
            jobs
        }

        fn send(&mut self) -> CallId {
            let seq = self.replica.applied().seq + 1;
            let request = self.pipeline.request(FENCE, seq, &mut self.calls, NOW);
            request.unwrap().0
        }

        /// The journal contains the entry. Returns its outcomes.
        fn answered(&mut self, call: CallId) -> Vec<Outcome> {
            let append = self.pipeline.take_answered(call).unwrap();
            let metrics = Metrics::default();
            let applied = append.apply(&mut self.replica, &metrics, NOW).unwrap();
            self.pipeline.applied(&applied).unwrap();
            let committed = applied.committed.unwrap_or_default().into_iter();
            committed.map(|job| job.outcome).collect()
        }
    }

    fn job(op: Op) -> CommitJob {
        CommitJob {
            op,
            token: CommitToken::None,
            most_pending: Default::default(),
        }
    }

    fn schedule(id: &str, length: usize) -> CommitJob {
        job(Op::Schedule(ScheduleOrder {
            route: "r".into(),
            id: id.into(),
            named: true,
            at: TIME + 1,
            fire_at: TIME + 1,
            delay_ms: None,
            compression: Compression::None,
            payload: vec![1; length].into(),
            replace: false,
            headers: Headers::default(),
            terms: None,
        }))
    }

    #[test]
    fn jobs_that_change_nothing_need_no_entry() {
        let mut world = World::new();
        // The first entry also begins the deduplication window.
        world.pipeline.push(vec![schedule("y", 1)]);
        world.begin();
        let call = world.send();
        world.answered(call);
        assert!(world.pipeline.is_empty());
        let (route, id) = ("r".into(), "x".into());
        world.pipeline.push(vec![job(Op::Cancel { route, id })]);
        assert!(!world.pipeline.is_empty());
        let PreparedWrite::Outcomes(outcomes) = world.prepare() else {
            panic!("a cancel of no task");
        };
        assert_eq!(outcomes[0].outcome, Outcome::Cancelled(None));
        assert!(world.pipeline.is_empty());
    }

    #[test]
    fn the_next_entry_waits_until_the_one_before_is_applied() {
        let mut world = World::new();
        let jobs = vec![schedule("x", 200), schedule("y", 1), schedule("x", 200)];
        world.pipeline.push(jobs);
        assert_eq!(world.begin(), 1, "the first one is long enough");
        let call = world.send();
        assert!(matches!(world.prepare(), PreparedWrite::Nothing));
        assert!(world.pipeline.take_answered(CallId(call.0 + 1)).is_none());
        assert!(matches!(
            world.answered(call)[..],
            [Outcome::Scheduled { .. }]
        ));
        assert!(world.begin() > 0);
        let call = world.send();
        assert!(!world.pipeline.is_empty());
        let outcomes = world.answered(call);
        assert!(matches!(outcomes[0], Outcome::Scheduled { .. }));
    }

    #[test]
    fn a_full_disk_keeps_the_jobs() {
        let mut world = World::new();
        world.pipeline.push(vec![schedule("x", 1)]);
        world.replica.store().set_disk_space(DiskSpace::none());
        assert!(matches!(world.prepare(), PreparedWrite::NoRoom));
        world.replica.store().set_disk_space(DiskSpace::UNLIMITED);
        assert_eq!(world.begin(), 1);
    }
}
