use super::{Outcome, ScheduleOrder};
use hyper_delay_store::record::{Digest, FinishedTask, Name};

/// A task that has the name of a new one.
pub(super) enum Existing {
    /// It is stored.
    Task(Name),
    /// It is finished and still in the deduplication window.
    Done(FinishedTask),
}

impl Existing {
    /// Returns the digest of its content.
    pub(super) const fn digest(&self) -> Digest {
        match self {
            Self::Task(name) => name.digest,
            Self::Done(done) => done.digest,
        }
    }

    /// Returns the outcome of an order whose content is this one's.
    pub(super) fn same(&self, order: &ScheduleOrder) -> Outcome {
        Outcome::Same {
            fire_at: match self {
                Self::Task(name) => name.fire_at,
                Self::Done(_) => order.fire_at.saturating_sub(order.delay_ms.unwrap_or(0)),
            },
        }
    }
}
