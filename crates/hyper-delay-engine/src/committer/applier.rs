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
    group::Group,
    handover::{Handover, WriterEnded},
    hold::Hold,
    stage::Stage,
};
use crate::{
    clock::Clock,
    ledger::Ledger,
    metrics::Metrics,
    pulse::Pulses,
    scheduler::{Committed, Job},
};
use hyper_delay_store::{Room, Store, StoreError};

/// With less room than this for new tasks, a group is applied only after the one before it is
/// written, so that the measured room is exact.
const EXACT: u64 = 256 << 20;

/// Without jobs, the disk is looked at this often, so that others see whether it is full.
const IDLE_LOOK: Duration = Duration::from_secs(1);

/// Applies jobs to the ledger, in order, while the group before is written.
pub struct Applier<S> {
    store: Arc<S>,
    stage: Stage<S>,
    jobs: Receiver<Vec<Job>>,
    clock: Clock,
    handover: Arc<Handover>,
    metrics: Arc<Metrics>,
    pulses: Arc<Pulses>,
}

impl<S> fmt::Debug for Applier<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Applier").finish_non_exhaustive()
    }
}

/// Why the applier ends.
enum End {
    /// The writer has ended, and has reported why.
    Writer,
    Failed(StoreError),
}

impl From<WriterEnded> for End {
    fn from(_: WriterEnded) -> Self {
        Self::Writer
    }
}

impl From<StoreError> for End {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl<S: Store> Applier<S> {
    pub(super) fn new(
        store: Arc<S>,
        ledger: Ledger<S>,
        jobs: Receiver<Vec<Job>>,
        clock: Clock,
        handover: Arc<Handover>,
    ) -> Self {
        Self {
            store,
            stage: Stage::new(ledger),
            jobs,
            clock,
            handover,
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
    pub fn watched(mut self, pulses: Arc<Pulses>) -> Self {
        self.pulses = pulses;
        self
    }

    /// Applies jobs until all senders are gone or the writer has ended. The writer reports the
    /// errors.
    pub fn run(mut self) {
        let ended = self.apply_all();
        self.pulses.applier.rests();
        let result = match ended {
            Ok(()) => Ok(()),
            Err(End::Writer) => return,
            Err(End::Failed(error)) => Err(error),
        };
        self.handover.end_applier(result);
    }

    fn apply_all(&mut self) -> Result<(), End> {
        // The reserve starts to grow before another program can fill the disk.
        self.room()?;
        loop {
            let mut jobs = match self.jobs.recv_timeout(IDLE_LOOK) {
                Ok(jobs) => jobs.into_iter(),
                Err(RecvTimeoutError::Timeout) => {
                    self.room()?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            while jobs.len() > 0 {
                self.pulses.applier.works();
                self.apply_group(&mut jobs)?;
            }
            self.pulses.applier.rests();
        }
    }

    /// Applies jobs of one group and leaves it for the writer: these, until it is full, and those
    /// that have arrived meanwhile. The time and the room hold for this group only.
    fn apply_group(&mut self, jobs: &mut IntoIter<Job>) -> Result<(), End> {
        let mut group = self.reopen()?;
        let mut room = self.room()?;
        if room.new_tasks() < EXACT {
            group = self.written(group)?;
            room = self.room()?;
        }
        if room.is_exhausted() && !jobs.as_slice().iter().all(Job::is_schedule) {
            let changes;
            (changes, room) = self.hold(jobs.collect())?;
            *jobs = changes.into_iter();
        }
        let now = self.clock.now().wall_millis();
        // On a full disk this waits: it takes a little room.
        if room.new_tasks() > 0 {
            self.stage.ledger.forget_expired(now)?;
        }
        self.stage.begin(room);
        while let Some(job) = self.next(jobs, room) {
            self.stage.apply(job, now, &mut group)?;
            let can_split = room.new_tasks() >= EXACT && group.is_worth_a_sync();
            if group.is_full() || can_split && self.handover.is_writer_idle() {
                break;
            }
        }
        self.stage.end();
        if !group.committed.is_empty() {
            self.offer(group)?;
        }
        Ok(())
    }

    /// Returns the next job, from the queue if `jobs` are used up. On an exhausted disk the queue
    /// waits: its changes must be held.
    fn next(&self, jobs: &mut IntoIter<Job>, room: Room) -> Option<Job> {
        while jobs.len() == 0 && !room.is_exhausted() {
            *jobs = self.jobs.try_recv().ok()?.into_iter();
        }
        jobs.next()
    }

    fn offer(&mut self, mut group: Group) -> Result<(), StoreError> {
        group.batch = self.stage.ledger.take_batch()?;
        self.handover.offer(group);
        Ok(())
    }

    /// Takes the waiting group back, or begins one.
    fn reopen(&mut self) -> Result<Group, WriterEnded> {
        let (group, written) = self.handover.reopen()?;
        self.stage.ledger.committed(written);
        Ok(match group {
            Some(mut group) => {
                self.stage.ledger.resume(mem::take(&mut group.batch));
                group
            }
            None => Group::default(),
        })
    }

    /// Waits until a group that was reopened, and all before it, are written. Returns a new one.
    fn written(&mut self, group: Group) -> Result<Group, End> {
        if !group.committed.is_empty() {
            self.offer(group)?;
        }
        let written = self.handover.flush()?;
        self.stage.ledger.committed(written);
        Ok(Group::default())
    }

    /// Keeps changes of stored tasks until the disk has room for them, and refuses schedules
    /// meanwhile, at once: whether they repeat what is stored depends on the changes that wait.
    ///
    /// Returns the changes, in order, and the room that there is for them. All groups are written
    /// then.
    fn hold(&mut self, jobs: Vec<Job>) -> Result<(Vec<Job>, Room), End> {
        let mut hold = Hold::default();
        let mut next = jobs;
        loop {
            let refused = hold.add(next);
            if !refused.is_empty() {
                self.report(refused)?;
            }
            let room = self.room()?;
            if !room.is_exhausted() || hold.is_empty() {
                return Ok((hold.into_changes(), room));
            }
            hold.log();
            // A full disk is no reason to restart the server.
            self.pulses.applier.works();
            next = match self.jobs.recv_timeout(Hold::CHECK_INTERVAL) {
                Ok(jobs) if jobs.is_empty() => return Err(hold.ending().into()),
                Ok(jobs) => jobs,
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return Err(hold.ending().into()),
            };
        }
    }

    /// Reports jobs that change nothing. No group may wait before.
    fn report(&mut self, committed: Vec<Committed>) -> Result<(), End> {
        self.offer(Group {
            committed,
            ..Group::default()
        })?;
        self.handover.flush()?;
        Ok(())
    }

    fn room(&self) -> Result<Room, StoreError> {
        let room = self.store.room(self.stage.ledger.tasks()?)?;
        self.metrics.look(room);
        Ok(room)
    }
}

impl<S> Drop for Applier<S> {
    /// Ends the writer, too, if the applier has panicked or never ran.
    fn drop(&mut self) {
        self.handover.end_applier(Ok(()));
    }
}
