//! The ledger on a disk that can lose its power.

mod audit;
mod model;
mod power_loss;
mod random;
mod world;

use super::Ledger;
use crate::store::{Durability, Store, StoreError};

impl<S: Store> Ledger<S> {
    /// Takes the current batch and commits it. No other batch may be uncommitted.
    pub(crate) fn commit(&mut self, durability: Durability, now: u64) -> Result<(), StoreError> {
        let batch = self.take_batch(now)?;
        self.writes.commit(batch, durability)
    }
}
