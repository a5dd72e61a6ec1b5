use std::{
    fmt, mem,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
    vec::IntoIter,
};

use super::{
    full_disk::FullDiskQueue,
    group::Group,
    group_builder::GroupBuilder,
    group_slot::{GroupSlot, WriterEnded},
};
use crate::{
    clock::Clock,
    ledger::Ledger,
    metrics::Metrics,
    scheduler::{CommitJob, CommittedJob},
    thread_progress::ThreadProgress,
};
use hyper_delay_store::{DiskSpace, Store, StoreError};

/// With less room than this for new tasks, a group is applied only after the one before it is
/// written, so that the measured room is exact.
const EXACT: u64 = 256 << 20;

/// Without jobs, the disk is looked at this often, so that others see whether it is full.
const IDLE_LOOK: Duration = Duration::from_secs(1);

/// Applies jobs to the ledger, in order, while the group before is written.
pub struct Applier<S> {
    store: Arc<S>,
    builder: GroupBuilder<S>,
    jobs: Receiver<Vec<CommitJob>>,
    clock: Clock,
    slot: Arc<GroupSlot>,
    metrics: Arc<Metrics>,
    pulses: Arc<ThreadProgress>,
}

impl<S> fmt::Debug for Applier<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Applier").finish_non_exhaustive()
    }
}

/// The reason for which the applier ends.
enum ApplierError {
    /// The writer has ended, and has reported the reason.
    WriterEnded,
    Store(StoreError),
}

impl From<WriterEnded> for ApplierError {
    fn from(_: WriterEnded) -> Self {
        Self::WriterEnded
    }
}

impl From<StoreError> for ApplierError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl<S: Store> Applier<S> {
    pub(super) fn new(
        store: Arc<S>,
        ledger: Ledger<S>,
        jobs: Receiver<Vec<CommitJob>>,
        clock: Clock,
        slot: Arc<GroupSlot>,
    ) -> Self {
        Self {
            store,
            builder: GroupBuilder::new(ledger),
            jobs,
            clock,
            slot,
            metrics: Arc::default(),
            pulses: Arc::default(),
        }
    }

    /// Notes the room on the disk there. Default: nothing sees it.
    pub fn with_metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Notes in `pulses` when it works.
    pub fn with_progress(mut self, pulses: Arc<ThreadProgress>) -> Self {
        self.pulses = pulses;
        self
    }

    /// Applies jobs until all senders are gone or the writer has ended. The writer reports the
    /// errors.
    pub fn run(mut self) {
        let ended = self.apply_all();
        self.pulses.applier.begin_wait();
        let result = match ended {
            Ok(()) => Ok(()),
            Err(ApplierError::WriterEnded) => return,
            Err(ApplierError::Store(error)) => Err(error),
        };
        self.slot.end_applier(result);
    }

    fn apply_all(&mut self) -> Result<(), ApplierError> {
        // The reserve starts to grow before another program can fill the disk.
        self.measure_room()?;
        loop {
            let mut jobs = match self.jobs.recv_timeout(IDLE_LOOK) {
                Ok(jobs) => jobs.into_iter(),
                Err(RecvTimeoutError::Timeout) => {
                    self.measure_room()?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            while jobs.len() > 0 {
                self.pulses.applier.begin_work();
                self.apply_group(&mut jobs)?;
            }
            self.pulses.applier.begin_wait();
        }
    }

    /// Applies jobs of one group and leaves it for the writer: these, until it is full, and those
    /// that have arrived meanwhile. The time and the room hold for this group only.
    fn apply_group(&mut self, jobs: &mut IntoIter<CommitJob>) -> Result<(), ApplierError> {
        let mut group = self.reopen()?;
        let mut room = self.measure_room()?;
        if room.new_tasks() < EXACT {
            group = self.wait_until_written(group)?;
            room = self.measure_room()?;
        }
        if room.is_exhausted() && !jobs.as_slice().iter().all(CommitJob::is_schedule) {
            let changes;
            (changes, room) = self.wait_for_room(jobs.collect())?;
            *jobs = changes.into_iter();
        }
        let now = self.clock.now().wall_millis();
        // On a full disk this waits: it takes a little room.
        if room.new_tasks() > 0 {
            self.builder.ledger.forget_expired(now)?;
        }
        self.builder.begin(room);
        while let Some(job) = self.next_job(jobs, room) {
            self.builder.apply(job, now, &mut group)?;
            let can_split = room.new_tasks() >= EXACT && group.is_worth_a_sync();
            if group.is_full() || can_split && self.slot.is_writer_idle() {
                break;
            }
        }
        self.builder.end();
        if !group.committed.is_empty() {
            self.offer(group)?;
        }
        Ok(())
    }

    /// Returns the next job, from the queue if `jobs` are used up. On an exhausted disk the queue
    /// waits: its changes must be held.
    fn next_job(&self, jobs: &mut IntoIter<CommitJob>, room: DiskSpace) -> Option<CommitJob> {
        while jobs.len() == 0 && !room.is_exhausted() {
            *jobs = self.jobs.try_recv().ok()?.into_iter();
        }
        jobs.next()
    }

    fn offer(&mut self, mut group: Group) -> Result<(), StoreError> {
        group.batch = self.builder.ledger.take_batch()?;
        self.slot.offer(group);
        Ok(())
    }

    /// Takes the waiting group back, or begins one.
    fn reopen(&mut self) -> Result<Group, WriterEnded> {
        let (group, written) = self.slot.reopen()?;
        self.builder.ledger.committed(written);
        Ok(match group {
            Some(mut group) => {
                self.builder
                    .ledger
                    .reopen_batch(mem::take(&mut group.batch));
                group
            }
            None => Group::default(),
        })
    }

    /// Waits until a group that was reopened, and all before it, are written. Returns a new one.
    fn wait_until_written(&mut self, group: Group) -> Result<Group, ApplierError> {
        if !group.committed.is_empty() {
            self.offer(group)?;
        }
        let written = self.slot.flush()?;
        self.builder.ledger.committed(written);
        Ok(Group::default())
    }

    /// Keeps changes of stored tasks until the disk has room for them, and refuses schedules
    /// meanwhile, at once: whether they repeat what is stored depends on the changes that wait.
    ///
    /// Returns the changes, in order, and the room that there is for them. All groups are written
    /// then.
    fn wait_for_room(
        &mut self,
        jobs: Vec<CommitJob>,
    ) -> Result<(Vec<CommitJob>, DiskSpace), ApplierError> {
        let mut hold = FullDiskQueue::default();
        let mut next = jobs;
        loop {
            let refused = hold.add(next);
            if !refused.is_empty() {
                self.report_unchanged(refused)?;
            }
            let room = self.measure_room()?;
            if !room.is_exhausted() || hold.is_empty() {
                return Ok((hold.into_changes(), room));
            }
            hold.log();
            // A full disk is no reason to restart the server.
            self.pulses.applier.begin_work();
            next = match self.jobs.recv_timeout(FullDiskQueue::CHECK_INTERVAL) {
                Ok(jobs) if jobs.is_empty() => return Err(hold.shutdown_error().into()),
                Ok(jobs) => jobs,
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return Err(hold.shutdown_error().into()),
            };
        }
    }

    /// Reports jobs that change nothing. No group may wait before.
    fn report_unchanged(&mut self, committed: Vec<CommittedJob>) -> Result<(), ApplierError> {
        self.offer(Group {
            committed,
            ..Group::default()
        })?;
        self.slot.flush()?;
        Ok(())
    }

    fn measure_room(&self) -> Result<DiskSpace, StoreError> {
        let room = self.store.disk_space(self.builder.ledger.tasks()?)?;
        self.metrics.note_disk_space(room);
        Ok(room)
    }
}

impl<S> Drop for Applier<S> {
    /// Ends the writer, too, if the applier has panicked or never ran.
    fn drop(&mut self) {
        self.slot.end_applier(Ok(()));
    }
}
