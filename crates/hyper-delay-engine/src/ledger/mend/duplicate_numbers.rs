use std::collections::HashSet;

use super::Mending;
use crate::ledger::entry_key;
use hyper_delay_store::{
    Bytes, Space, Store, StoreError,
    record::{self, Name, key},
};

impl<S: Store> Mending<'_, S> {
    /// Gives tasks with the same sequence number and equal contents different numbers: an older
    /// server could issue a number again after an accepted loss. `shared` must be sorted, and no
    /// content may have a number from [`next`](Self::next) on.
    pub(super) fn renumber_duplicates(&mut self, shared: &[u64]) -> Result<(), StoreError> {
        if shared.is_empty() {
            return Ok(());
        }
        let mut seen = HashSet::new();
        self.for_each_row(Space::Names, |mending, key, value| {
            let name: Name = record::decode(value)?;
            if shared.binary_search(&name.seq).is_err() {
                return Ok(());
            }
            let (route, id) = key::name_of(key)
                .ok_or_else(|| StoreError::damage("read a name", "the key is malformed"))?;
            if seen.insert(name.seq) {
                mending.put_entry(route, id, &name);
                mending.put_index_rows(route, id, &name);
                return Ok(());
            }
            mending.renumber(key, (route, id), name)
        })
    }

    fn renumber(
        &mut self,
        key: &Bytes,
        (route, id): (&str, &str),
        name: Name,
    ) -> Result<(), StoreError> {
        let (space, place) = entry_key(route, &name);
        if self.owner(space, &place)?.as_ref() == Some(key) {
            self.batch.remove(space, place);
        }
        if let Some(key) = name.retrying_key(route) {
            self.batch.remove(Space::Meta, key);
        }
        let content = self.batch.get(Space::Tasks, &key::task(name.seq))?;
        let name = Name {
            seq: self.next,
            ..name
        };
        self.note_number(name.seq);
        if let Some(content) = content {
            self.batch.put(Space::Tasks, key::task(name.seq), content);
        }
        self.put_entry(route, id, &name);
        self.put_index_rows(route, id, &name);
        let name = record::encode(&name);
        self.batch.put(Space::Names, key.clone(), name);
        self.report.renumbered += 1;
        Ok(())
    }
}
