use super::write_buffer::WriteBuffer;
use hyper_delay_store::{
    Space, Store, StoreError,
    record::{self, key},
};

/// The low-water mark: no task waits for an earlier time. Stored on disk.
///
/// A start scans the waiting tasks from this mark, and so skips the tombstones of removed tasks.
#[derive(Debug)]
pub(super) struct LowWaterMark {
    at: u64,
}

impl LowWaterMark {
    /// Reads the mark of a store. Default: 0.
    pub(super) fn open(store: &impl Store) -> Result<Self, StoreError> {
        let at = match store.get(Space::Meta, key::LOW_WATER)? {
            Some(value) => record::decode(&value)?,
            None => 0,
        };
        Ok(Self { at })
    }

    /// Returns the mark in Unix milliseconds.
    pub(super) const fn at(&self) -> u64 {
        self.at
    }

    /// Lowers the mark to `at` if it is later. `writes` add a task due at `at`.
    pub(super) fn lower(&mut self, at: u64, writes: &mut WriteBuffer<impl Store>) {
        if at < self.at {
            self.set(at, writes);
        }
    }

    /// Raises the mark to `at` if it is earlier. No task may be waiting for a time before `at`.
    pub(super) fn raise(&mut self, at: u64, writes: &mut WriteBuffer<impl Store>) {
        if at > self.at {
            self.set(at, writes);
        }
    }

    fn set(&mut self, at: u64, writes: &mut WriteBuffer<impl Store>) {
        self.at = at;
        writes.put(Space::Meta, key::LOW_WATER, record::encode(&at));
    }
}
