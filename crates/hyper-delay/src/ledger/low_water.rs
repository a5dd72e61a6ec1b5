use crate::{
    record::{self, key},
    store::{Batch, Space, Store, StoreError},
};

/// A time before which nothing waits, on disk: a start reads from there, and need not step over the remains of
/// all that was ever removed.
#[derive(Debug)]
pub(super) struct LowWater {
    at: u64,
}

impl LowWater {
    pub(super) fn open(store: &impl Store) -> Result<Self, StoreError> {
        let at = match store.get(Space::Meta, key::LOW_WATER)? {
            Some(value) => record::decode(&value)?,
            None => 0,
        };
        Ok(Self { at })
    }

    pub(super) const fn at(&self) -> u64 {
        self.at
    }

    /// Something waits from `at` on: in the same batch as that.
    pub(super) fn lower(&mut self, at: u64, batch: &mut Batch) {
        if at < self.at {
            self.set(at, batch);
        }
    }

    /// Nothing waits before `at`.
    pub(super) fn raise(&mut self, at: u64, batch: &mut Batch) {
        if at > self.at {
            self.set(at, batch);
        }
    }

    fn set(&mut self, at: u64, batch: &mut Batch) {
        self.at = at;
        batch.put(Space::Meta, key::LOW_WATER, record::encode(&at));
    }
}
