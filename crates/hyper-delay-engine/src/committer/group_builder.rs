use super::{disk_admission::DiskAdmission, group::Group};
use crate::{
    ledger::{Ledger, Op, Outcome},
    scheduler::{CommitJob, CommittedJob},
};
use hyper_delay_store::{DiskSpace, Store, StoreError};

/// Applies jobs to the ledger, one after another, and collects them in groups.
#[derive(Debug)]
pub struct GroupBuilder<S> {
    /// The ledger that jobs are applied to.
    pub ledger: Ledger<S>,
    admission: DiskAdmission,
}

impl<S: Store> GroupBuilder<S> {
    /// Applies jobs to this ledger.
    #[must_use]
    pub fn new(ledger: Ledger<S>) -> Self {
        Self {
            ledger,
            admission: DiskAdmission::default(),
        }
    }

    /// Begins a group, for whose new tasks the disk has this room.
    pub fn begin(&mut self, room: DiskSpace) {
        self.admission.begin_group(room);
    }

    /// Applies a job at `now`, in Unix milliseconds, and adds it to the group.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. The group must not be written after that.
    pub fn apply(&mut self, job: CommitJob, now: u64, group: &mut Group) -> Result<(), StoreError> {
        let CommitJob {
            mut op,
            token,
            most_pending,
        } = job;
        let outcome: Outcome = match &op {
            Op::Schedule(order) if !self.admission.admits(order) => {
                self.ledger.refuse_for_full_disk(order, now)?
            }
            Op::Schedule(order) => match self.ledger.quota_refusal(order, &most_pending, now)? {
                Some(refused) => refused,
                None => self.ledger.apply(&op, now)?,
            },
            op => self.ledger.apply(op, now)?,
        };
        if let Op::Schedule(order) = &mut op {
            group.bytes += order.content_bytes();
            order.payload = Box::default();
        }
        group.committed.push(CommittedJob { op, token, outcome });
        Ok(())
    }

    /// Ends a group.
    pub fn end(&mut self) {
        self.admission.end_group();
    }
}
