use super::write_buffer::WriteBuffer;
use hyper_delay_store::{
    Space, Store, StoreError,
    record::{self, key},
};

/// The numbers that are reserved on disk at a time. A crash wastes at most this many.
const BLOCK: u64 = 1 << 16;

/// Issues sequence numbers, each of them once.
#[derive(Debug)]
pub(super) struct SequenceNumbers {
    next: u64,
    /// The end of the reserved range.
    limit: u64,
    /// The limit that was last added to a batch.
    written: u64,
}

impl SequenceNumbers {
    /// Reads the end of the reserved range of a store. Without one, the next number is `first`.
    pub(super) fn open(store: &impl Store, first: u64) -> Result<Self, StoreError> {
        let next = match store.get(Space::Meta, key::NUMBERS)? {
            Some(value) => record::decode(&value)?,
            None => first,
        };
        Ok(Self {
            next,
            limit: next,
            written: next,
        })
    }

    /// Returns a new number. [`write`](Self::write) must follow before the batch is committed.
    pub(super) fn next(&mut self) -> u64 {
        let seq = self.next;
        self.next += 1;
        if self.next > self.limit {
            self.limit = self.next + BLOCK;
        }
        seq
    }

    /// Adds the limit to the batch if it has changed.
    pub(super) fn write(&mut self, writes: &mut WriteBuffer<impl Store>) {
        if self.written < self.limit {
            self.written = self.limit;
            writes.put(Space::Meta, key::NUMBERS, record::encode(&self.limit));
        }
    }
}
