use super::{ContentState, Mending, NO_CONTENT};
use crate::ledger::entry_key;
use hyper_delay_store::{
    Bytes, Space, Store, StoreError,
    record::{self, EntryRow, Name, TaskEntry, key},
};

impl<S: Store> Mending<'_, S> {
    /// Compares the entries of a space with the names.
    ///
    /// After this, every entry that is left has a name that refers to it. Contents are read only
    /// where both disagree.
    pub(super) fn reconcile_entries(&mut self, space: Space) -> Result<(), StoreError> {
        self.for_each_row(space, |mending, key, value| {
            match EntryRow::read(space, key, value) {
                Ok(placed) => mending.reconcile_entry(space, key, &placed),
                Err(error) => mending.drop_malformed(space, key, error),
            }
        })
    }

    fn reconcile_entry(
        &mut self,
        space: Space,
        key: &Bytes,
        placed: &EntryRow<'_>,
    ) -> Result<(), StoreError> {
        let TaskEntry { route, id, .. } = placed.entry;
        self.note_number(placed.seq);
        let name_key = key::name(route, id);
        let name = self.name(&name_key)?;
        if let Some(name) = &name {
            self.note_number(name.seq);
            if name.seq == placed.seq {
                self.reconcile_revision(space, key, placed, (name_key, name));
                return Ok(());
            }
            if name.seq > placed.seq && self.unrecoverable_reason(name)?.is_none() {
                // An older revision.
                self.batch.remove(space, key.clone());
                return Ok(());
            }
        }
        let ContentState::Readable {
            fire_at,
            digest,
            bytes,
        } = self.content(placed.seq)?
        else {
            self.batch.remove(space, key.clone());
            if name.is_none_or(|name| name.seq < placed.seq) {
                self.report.removed(route, id, placed.seq, NO_CONTENT);
            }
            return Ok(());
        };
        if let Some(name) = name {
            if name.seq > placed.seq {
                self.report.removed(route, id, name.seq, NO_CONTENT);
            }
            let (space, place) = entry_key(route, &name);
            self.batch.remove(space, place);
        }
        self.report.names += 1;
        let name = Name {
            seq: placed.seq,
            fire_at,
            place: placed.place,
            attempt: placed.entry.attempt,
            failures: placed.entry.failures,
            digest,
            terms: placed.entry.terms.clone(),
            bytes,
            failure: None,
        };
        let name = record::encode(&name);
        self.batch.put(Space::Names, name_key, name);
        Ok(())
    }

    /// Makes an entry and the name of the same revision agree.
    fn reconcile_revision(
        &mut self,
        space: Space,
        key: &Bytes,
        placed: &EntryRow<'_>,
        (name_key, name): (Bytes, &Name),
    ) {
        let entry = &placed.entry;
        let is_its_place = name.place == placed.place;
        if is_its_place && (name.attempt, name.failures) == (entry.attempt, entry.failures) {
            return;
        }
        if entry.attempt > name.attempt {
            if !is_its_place {
                let (space, place) = entry_key(entry.route, name);
                self.batch.remove(space, place);
            }
            let name = Name {
                place: placed.place,
                attempt: entry.attempt,
                failures: entry.failures,
                // It is from before the newer round, and maybe from before a kick.
                failure: None,
                ..name.clone()
            };
            let name = record::encode(&name);
            self.batch.put(Space::Names, name_key, name);
        } else if is_its_place {
            let entry = TaskEntry {
                attempt: name.attempt,
                failures: name.failures,
                ..entry.clone()
            };
            let entry = match placed.reason {
                Some(reason) => record::encode_dead(&entry, reason),
                None => record::encode(&entry),
            };
            self.batch.put(space, key.clone(), entry);
        } else {
            self.batch.remove(space, key.clone());
        }
    }
}
