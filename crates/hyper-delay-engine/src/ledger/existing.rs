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
}
