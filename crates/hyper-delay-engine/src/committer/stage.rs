use super::{admission::Admission, group::Group};
use crate::{
    ledger::{Ledger, Op, Outcome},
    scheduler::{Committed, Job},
};
use hyper_delay_store::{Room, Store, StoreError};

/// Applies jobs to the ledger, one after another, and collects them in groups.
#[derive(Debug)]
pub struct Stage<S> {
    /// The ledger that jobs are applied to.
    pub ledger: Ledger<S>,
    admission: Admission,
}

impl<S: Store> Stage<S> {
    /// Applies jobs to this ledger.
    #[must_use]
    pub fn new(ledger: Ledger<S>) -> Self {
        Self {
            ledger,
            admission: Admission::default(),
        }
    }

    /// Begins a group, for whose new tasks the disk has this room.
    pub fn begin(&mut self, room: Room) {
        self.admission.begin(room);
    }

    /// Applies a job at `now`, in Unix milliseconds, and adds it to the group.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. The group must not be written after that.
    pub fn apply(&mut self, job: Job, now: u64, group: &mut Group) -> Result<(), StoreError> {
        let Job {
            mut op,
            token,
            most_pending,
        } = job;
        let outcome: Outcome = match &op {
            Op::Schedule(order) if !self.admission.admits(order) => {
                self.ledger.refuse(order, now)?
            }
            Op::Schedule(order) => match self.ledger.over_quota(order, &most_pending, now)? {
                Some(refused) => refused,
                None => self.ledger.apply(&op, now)?,
            },
            op => self.ledger.apply(op, now)?,
        };
        if let Op::Schedule(order) = &mut op {
            group.bytes += order.content_bytes();
            order.payload = Box::default();
        }
        group.committed.push(Committed { op, token, outcome });
        Ok(())
    }

    /// Ends a group.
    pub fn end(&mut self) {
        self.admission.end();
    }
}
