use super::Ledger;
use hyper_delay_store::{Durability, Store, StoreError};

impl<S: Store> Ledger<S> {
    /// Takes the current batch and commits it. No other batch may be uncommitted.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn commit(&mut self, durability: Durability, now: u64) -> Result<(), StoreError> {
        self.forget_expired(now)?;
        let batch = self.take_batch()?;
        self.rows.writes.commit(batch, durability)
    }
}
