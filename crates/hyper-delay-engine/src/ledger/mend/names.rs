use super::Mending;
use crate::ledger::entry_key;
use hyper_delay_store::{
    Bytes, Durability, Space, Store, StoreError,
    record::{
        self, EntryRow, ExpiryEntry, Name, RetryingCounts, RetryingEntry, StoredCounts, TaskEntry,
        key,
    },
};

/// The counts of the route whose names are being read, and of all routes so far.
#[derive(Debug, Default)]
struct RouteTotals {
    route: Box<str>,
    counts: StoredCounts,
    total: StoredCounts,
    /// Of this route, and the sum.
    retrying: RetryingCounts,
}

impl<S: Store> Mending<'_, S> {
    /// Removes every name without its content, gives the others an entry, and counts them.
    /// [`reconcile_entries`](Self::reconcile_entries) must have compared all entries. Returns the number of tasks.
    pub(super) fn restore_names(&mut self) -> Result<u64, StoreError> {
        self.for_each_row(Space::Counts, |mending, key, _| {
            mending.batch.remove(Space::Counts, key.clone());
            Ok(())
        })?;
        self.for_each_row(Space::Meta, |mending, key, _| {
            if key.starts_with(key::EXPIRY) || key.starts_with(key::RETRYING_PREFIX) {
                mending.batch.remove(Space::Meta, key.clone());
            }
            Ok(())
        })?;
        let mut counted = RouteTotals::default();
        self.for_each_row(Space::Names, |mending, key, value| {
            let Some((route, id)) = key::name_of(key) else {
                let error = StoreError::damage("read a name", "the key is malformed");
                return mending.drop_malformed(Space::Names, key, error);
            };
            match record::decode(value) {
                Ok(name) => {
                    if mending.restore_entry(key, (route, id), &name)? {
                        mending.count(&mut counted, route, &name);
                    }
                    Ok(())
                }
                Err(error) => mending.drop_malformed(Space::Names, key, error),
            }
        })?;
        self.put_route(&mut counted);
        self.put_counts("", counted.total);
        for (key, value) in counted.retrying.into_rows() {
            self.batch.put(Space::Meta, key, value);
        }
        self.batch.commit(Durability::Written)?;
        Ok(counted.total.total())
    }

    /// Gives a task an entry if it has none. Returns false if the task is removed.
    fn restore_entry(
        &mut self,
        key: &Bytes,
        (route, id): (&str, &str),
        name: &Name,
    ) -> Result<bool, StoreError> {
        self.note_number(name.seq);
        let (space, place) = entry_key(route, name);
        let owner = self.owner(space, &place)?;
        let is_own = owner.as_deref() == Some(key);
        if let Some(reason) = self.unrecoverable_reason(name)? {
            self.report.removed(route, id, name.seq, reason);
            self.batch.remove(Space::Names, key.clone());
            if is_own {
                self.batch.remove(space, place);
            }
            return Ok(false);
        }
        self.put_index_rows(route, id, name);
        if !is_own && !self.shares_number(name, owner)? {
            self.report.entries += 1;
            self.put_entry(route, id, name);
        }
        Ok(true)
    }

    /// Returns the key of the name that an entry refers to. `None` if there is no entry.
    pub(super) fn owner(&self, space: Space, place: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let Some(value) = self.batch.get(space, place)? else {
            return Ok(None);
        };
        let placed = super::unless_damaged(EntryRow::read(space, place, &value))?;
        Ok(placed.map(|placed| key::name(placed.entry.route, placed.entry.id)))
    }

    /// Returns whether the owner of an entry has the sequence number and the place of `name`. These
    /// tasks are separated later.
    fn shares_number(&self, name: &Name, owner: Option<Bytes>) -> Result<bool, StoreError> {
        let Some(owner) = owner else {
            return Ok(false);
        };
        let other = self.name(&owner)?;
        Ok(other.is_some_and(|other| (other.seq, other.place) == (name.seq, name.place)))
    }

    pub(super) fn put_entry(&mut self, route: &str, id: &str, name: &Name) {
        let (space, place) = entry_key(route, name);
        let entry = TaskEntry::of(route, id, name);
        self.batch.put(space, place, record::encode(&entry));
    }

    /// Gives a task its rows in the indexes of expiry and of retrying tasks.
    pub(super) fn put_index_rows(&mut self, route: &str, id: &str, name: &Name) {
        if let Some(key) = name.retrying_key(route) {
            let value = record::encode(&RetryingEntry { id });
            self.batch.put(Space::Meta, key, value);
        }
        if let Some(key) = name.expiry_key() {
            let value = record::encode(&ExpiryEntry { route, id });
            self.batch.put(Space::Meta, key, value);
        }
    }

    /// Counts a task. Names are sorted by route.
    fn count(&mut self, counted: &mut RouteTotals, route: &str, name: &Name) {
        if *counted.route != *route {
            self.put_route(counted);
            counted.route = route.into();
        }
        counted.counts.add(name);
        counted.total.add(name);
        counted.retrying.add(route, name);
    }

    /// Writes the counts of the route whose names were read.
    fn put_route(&mut self, counted: &mut RouteTotals) {
        self.put_counts(&counted.route, std::mem::take(&mut counted.counts));
        for (key, value) in counted.retrying.take_routes() {
            self.batch.put(Space::Meta, key, value);
        }
    }

    fn put_counts(&mut self, route: &str, counts: StoredCounts) {
        if !counts.is_empty() {
            let counts = record::encode(&counts);
            self.batch.put(Space::Counts, key::route(route), counts);
        }
    }
}
