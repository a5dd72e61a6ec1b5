use crate::{
    record::{self, key},
    store::{Batch, Space, Store, StoreError},
};

/// Numbers are set aside so many at a time; what a crash leaves unused is lost, of 2<sup>64</sup>.
const BLOCK: u64 = 1 << 16;

/// The sequence numbers, of which none is ever given twice.
#[derive(Debug)]
pub(super) struct Numbers {
    next: u64,
    /// The first that is not set aside on disk.
    limit: u64,
    written: u64,
}

impl Numbers {
    pub(super) fn open(store: &impl Store) -> Result<Self, StoreError> {
        let next = match store.get(Space::Meta, key::NUMBERS)? {
            Some(value) => record::decode(&value)?,
            None => 1,
        };
        Ok(Self {
            next,
            limit: next,
            written: next,
        })
    }

    pub(super) fn next(&mut self) -> u64 {
        let seq = self.next;
        self.next += 1;
        if self.next > self.limit {
            self.limit = self.next + BLOCK;
        }
        seq
    }

    /// Puts the limit into the batch that uses numbers below it.
    pub(super) fn write(&mut self, batch: &mut Batch) {
        if self.written < self.limit {
            self.written = self.limit;
            batch.put(Space::Meta, key::NUMBERS, record::encode(&self.limit));
        }
    }
}
