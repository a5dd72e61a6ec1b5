//! What reads tell of the retrying tasks, beside the names of all tasks on the same disks.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::world::World;
use crate::{ShardId, merged::MergedStore};
use hyper_delay_engine::ledger::{LedgerView, ListingQuery};
use hyper_delay_protocol::Filter;
use hyper_delay_store::{
    Bytes, Space, StoreError,
    fake::Fake,
    record::{self, Name, key},
};

/// The route, the id and the revision of a task.
type Revision = (String, String, u64);

/// How much a page reads.
#[derive(Debug, Clone, Copy)]
struct PageSize {
    most: usize,
    keys: usize,
}

impl World {
    /// In the end the index of retrying tasks is that of the tasks.
    pub(super) fn retrying_agrees(&self) -> Result<(), String> {
        for shard in (0..self.charter.shards).map(ShardId) {
            let disk = &self.nodes[0].disks[usize::from(shard.0)];
            let names = disk.all(Space::Names).into_iter();
            let tasks: BTreeSet<_> = names
                .filter_map(|(key, value)| {
                    let (route, _) = key::name_of(&key)?;
                    let name: Name = record::decode(&value).expect("it was encoded");
                    name.retrying_key(route).map(|key| key.to_vec())
                })
                .collect();
            let meta = disk.all(Space::Meta).into_iter();
            let rows: BTreeSet<_> = meta
                .map(|(key, _)| key)
                .filter(|key| key.starts_with(key::RETRYING))
                .collect();
            let view = LedgerView::new(disk.clone());
            let count = view.retrying("").expect("it is whole");
            if rows != tasks || count != rows.len() as u64 {
                let (rows, tasks) = (rows.len(), tasks.len());
                return Err(format!(
                    "{tasks} tasks of {shard:?} retry, the index has {rows} and counts {count}"
                ));
            }
        }
        Ok(())
    }

    /// Compares the lists of retrying tasks of all shards and their numbers with the names on the
    /// disks of a node. `turn` decides how much a page reads. Returns how many tasks there are.
    pub(super) fn check_retrying_at(
        &self,
        node: usize,
        names: &[(Vec<u8>, Bytes)],
        turn: u64,
    ) -> Result<u64, String> {
        let disks = self.nodes[node].disks.iter().cloned();
        let view = LedgerView::new(Arc::new(MergedStore::new(disks)));
        let size = PageSize {
            most: 1 + turn as usize % 5,
            keys: 2 + turn as usize % 30,
        };
        let (mut retrying, mut counts) = (BTreeSet::new(), BTreeMap::new());
        for (key, value) in names {
            let (route, id) = key::name_of(key).ok_or("a key is malformed")?;
            let name: Name = record::decode(value).expect("it was encoded");
            if name.is_retrying() {
                retrying.insert((route.to_owned(), id.to_owned(), name.seq));
                *counts.entry(route.to_owned()).or_insert(0) += 1;
            }
        }
        let listed = listed(&view, size).map_err(|error| error.to_string())?;
        if !listed.iter().eq(&retrying) {
            return Err(format!("{listed:?} are listed, {retrying:?} retry"));
        }
        let counted = counted(&view).map_err(|error| error.to_string())?;
        // Rows that a node of 0.3 has left are counted until the next leader has looked for them.
        if counted != (counts, retrying.len() as u64) && !self.versions.is_upgrade() {
            return Err(format!("{counted:?} are counted, {retrying:?} retry"));
        }
        Ok(retrying.len() as u64)
    }
}

/// Returns the retrying tasks on all pages, sorted: one that is listed twice is there twice.
fn listed(
    view: &LedgerView<MergedStore<Fake>>,
    size: PageSize,
) -> Result<Vec<Revision>, StoreError> {
    let (mut found, mut after) = (Vec::new(), None::<Bytes>);
    loop {
        let query = ListingQuery {
            space: Space::Waiting,
            route: None,
            filter: &Filter::default(),
            after: after.as_deref(),
        };
        let page = view.list_retrying(&query, size.most, size.keys)?;
        let rows = page.rows.iter();
        found.extend(rows.map(|(row, name)| (row.route.to_string(), row.id.to_string(), name.seq)));
        match page.next {
            Some(next) => after = Some(next),
            None => {
                found.sort_unstable();
                return Ok(found);
            }
        }
    }
}

/// Returns the numbers of retrying tasks by route, and of all.
fn counted(
    view: &LedgerView<MergedStore<Fake>>,
) -> Result<(BTreeMap<String, u64>, u64), StoreError> {
    let mut counts = BTreeMap::new();
    view.retrying_counts(|route, count| {
        counts.insert(route.to_owned(), count);
    })?;
    Ok((counts, view.retrying("")?))
}
