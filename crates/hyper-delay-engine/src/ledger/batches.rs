use super::Ledger;
use hyper_delay_store::{Batch, Space, Store, StoreError};

/// The batches of the operations.
impl<S: Store> Ledger<S> {
    /// Forgets the names of finished tasks that have expired, if it is time for that. `now` is in
    /// Unix milliseconds. The names are removed at once, ahead of the current batch.
    ///
    /// # Errors
    ///
    /// If the store cannot be written. The ledger must not be used after that.
    pub fn forget_expired(&mut self, now: u64) -> Result<(), StoreError> {
        self.dedupe_window.rotate(&mut self.rows.writes, now)
    }

    /// Ends the current batch and returns it.
    ///
    /// Batches must be committed in the order in which they were taken; no outcome of a batch may
    /// be reported before that. Operations of the next batch see the changes of this one.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. The ledger must not be used after that.
    pub fn take_batch(&mut self) -> Result<Batch, StoreError> {
        self.rows.write_counts()?;
        self.jobs.write(&mut self.rows.writes);
        self.numbers.write(&mut self.rows.writes);
        Ok(self.rows.writes.take())
    }

    /// Makes the batch that was taken last the current one again.
    pub(crate) fn reopen_batch(&mut self, batch: Batch) {
        self.rows.writes.resume(batch);
    }

    /// Notes that the first `batches` batches that were taken are committed.
    pub fn committed(&mut self, batches: u64) {
        self.rows.writes.committed(batches);
    }
}

/// For a store that is fed from a journal.
impl<S: Store> Ledger<S> {
    /// Returns the space that [`forget_expired`](Self::forget_expired) would clear at `now`, in
    /// Unix milliseconds, if it can contain anything.
    #[must_use]
    pub fn expired_space(&self, now: u64) -> Option<Space> {
        self.dedupe_window.expired(now)
    }

    /// Returns the bytes of the current batch.
    #[must_use]
    pub fn batch_bytes(&self) -> usize {
        self.rows.writes.bytes()
    }
}
