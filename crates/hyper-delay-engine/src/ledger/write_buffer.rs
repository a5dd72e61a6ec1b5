use std::{ops::ControlFlow, sync::Arc};

use super::recent_values::RecentValues;
use crate::sizes::Sizes;
use hyper_delay_store::{Batch, Bytes, Space, Store, StoreError, WaitingChange};

/// The batch in hand, and reads that see it and every batch before it, whether the store has it yet
/// or not.
#[derive(Debug)]
pub(super) struct WriteBuffer<S> {
    store: Arc<S>,
    batch: Batch,
    recent: RecentValues,
    /// The number of the batch in hand; the first is 1.
    number: u64,
}

impl<S: Store> WriteBuffer<S> {
    pub(super) fn new(store: Arc<S>, sizes: Sizes) -> Self {
        Self {
            store,
            batch: Batch::new(),
            recent: RecentValues::new(sizes),
            number: 1,
        }
    }

    /// Returns the value of a key. It must be one that [`RecentValues`] keeps.
    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        match self.recent.get(space, key) {
            Some(value) => Ok(value.cloned()),
            None => self.store.get(space, key),
        }
    }

    /// Visits the keys of a space, some of them twice, and some that were removed. The space must
    /// be one that [`RecentValues`] keeps.
    pub(super) fn keys(
        &self,
        space: Space,
        mut visit: impl FnMut(&[u8]),
    ) -> Result<(), StoreError> {
        self.recent.keys(space).for_each(|key| visit(key));
        self.store.scan(space, &[], &mut |key, _| {
            visit(key);
            ControlFlow::Continue(())
        })
    }

    /// Sets a key.
    pub(super) fn put(&mut self, space: Space, key: impl Into<Bytes>, value: Bytes) {
        let key = key.into();
        let number = self.number;
        self.recent
            .insert((space, &key), number, || Some(value.clone()));
        self.batch.put(space, key, value);
    }

    /// Removes a key if it is there.
    pub(super) fn remove(&mut self, space: Space, key: impl Into<Bytes>) {
        let key = key.into();
        self.recent.insert((space, &key), self.number, || None);
        self.batch.remove(space, key);
    }

    /// Visits the rows of the store from a key on, without the changes of batches that it does not
    /// have yet, until `visit` breaks.
    pub(super) fn stored_rows(
        &self,
        space: Space,
        from: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.store.scan(space, from, &mut visit)
    }

    /// Removes all keys of a space at once, ahead of the batch in hand.
    pub(super) fn clear(&mut self, space: Space) -> Result<(), StoreError> {
        self.store.clear(space)?;
        self.recent.clear(space);
        Ok(())
    }

    /// Counts a task, or a revision of one, that the batch schedules.
    pub(super) fn count_schedule(&mut self) {
        self.batch.count_schedule();
    }

    /// Counts a task, or a revision of one, that the batch removes.
    pub(super) fn count_removal(&mut self) {
        self.batch.count_removal();
    }

    /// Notes a change of the waiting tasks.
    pub(super) fn note_due(&mut self, at: u64, seq: u64, is_new: bool) {
        self.batch
            .note_waiting_change(WaitingChange { at, seq, is_new });
    }

    /// Returns the batch in hand and begins the next one.
    pub(super) fn take(&mut self) -> Batch {
        self.number += 1;
        let next = Batch::sized_like(&self.batch);
        std::mem::replace(&mut self.batch, next)
    }

    /// Takes the last batch back. The one in hand must be empty.
    pub(super) fn resume(&mut self, batch: Batch) {
        debug_assert!(self.batch.is_empty(), "the batch in hand would be lost");
        self.number -= 1;
        self.batch = batch;
    }

    /// Notes that the first `batches` batches are in the store.
    pub(super) fn committed(&mut self, batches: u64) {
        self.recent.committed(batches);
    }
}

#[cfg(any(test, feature = "test-util"))]
impl<S: Store> WriteBuffer<S> {
    /// Commits the batch that was taken last. All others must be committed.
    pub(super) fn commit(
        &mut self,
        batch: Batch,
        durability: hyper_delay_store::Durability,
    ) -> Result<(), StoreError> {
        if !batch.is_empty() {
            self.store.commit(batch, durability)?;
        }
        self.committed(self.number - 1);
        Ok(())
    }
}

impl<S> WriteBuffer<S> {
    /// Returns the bytes of the batch in hand.
    pub(super) const fn bytes(&self) -> usize {
        self.batch.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper_delay_store::fake::Fake;

    #[test]
    fn resumed_batches_leave_memory_once_they_are_committed() {
        let mut writes = WriteBuffer::new(Arc::new(Fake::default()), Sizes::SMALL);
        writes.put(Space::Names, *b"first", Bytes::new(b"value"));
        for _ in 0..100 {
            let batch = writes.take();
            writes.resume(batch);
        }
        // The store has none of the batches, so it does not have what memory has forgotten.
        for committed in 1..=20_u64 {
            writes.take();
            writes.committed(committed);
            writes.put(Space::Names, committed.to_be_bytes(), Bytes::new(b"value"));
        }
        assert_eq!(writes.get(Space::Names, b"first").unwrap(), None);
    }
}
