//! A store in memory that simulates power failures, for tests.

use std::{
    collections::BTreeMap,
    iter,
    ops::{Bound, ControlFlow},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use super::{
    Batch, Bytes, DiskSpace, Durability, ReadStore, Snapshot, Space, SpaceRows, Store, StoreError,
    Visit,
};

/// A store in memory. A simulated power failure keeps what was synced and a prefix of the rest.
#[derive(Debug, Default)]
pub struct Fake {
    state: Mutex<FakeState>,
}

/// The behaviour of syncs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Syncs {
    /// A sync succeeds.
    #[default]
    Work,
    /// A sync fails, and so does every later write.
    Fail,
    /// A sync reports success and syncs nothing.
    Lie,
    /// A sync blocks until another behaviour is set.
    Hang,
    /// A sync panics.
    Panic,
}

/// The numbers of calls so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Commits.
    pub commits: usize,
    /// Syncs, including those of commits.
    pub syncs: usize,
    /// Checks of the disk space.
    pub disk_space_checks: usize,
    /// Cleared spaces.
    pub clears: usize,
    /// Keys that were read, also those that a scan visited.
    pub keys: usize,
}

#[derive(Debug, Default)]
struct FakeState {
    /// The contents that reads see.
    shown: SpaceMaps,
    /// The contents at the last sync.
    synced: SpaceMaps,
    /// The writes since the last sync, in order.
    unsynced: Vec<FakeWrite>,
    syncs: Syncs,
    /// After this many syncs the power fails.
    syncs_left: Option<usize>,
    broken: bool,
    /// Writes find damage.
    damaged: bool,
    calls: CallCounts,
    fails_disk_space_checks: bool,
    /// `None`: [`DiskSpace::UNLIMITED`].
    disk_space: Option<DiskSpace>,
}

type SpaceMaps = [BTreeMap<Vec<u8>, Bytes>; Space::ALL.len()];

#[derive(Debug, Clone)]
enum FakeWrite {
    Batch(Vec<(Space, Bytes, Option<Bytes>)>),
    Clear(Space),
}

impl Fake {
    /// Returns the store after a power failure, with the first `more` unsynced writes.
    pub fn power_loss(&self, more: usize) -> Self {
        let state = self.state();
        let mut contents = state.synced.clone();
        for write in &state.unsynced[..more] {
            write.apply(&mut contents);
        }
        Self {
            state: Mutex::new(FakeState {
                shown: contents.clone(),
                synced: contents,
                ..FakeState::default()
            }),
        }
    }

    /// Returns the store after a power failure in which each space reached the disk on its own: it
    /// has the first unsynced writes, as many as `survivors` returns for a space, given their number.
    pub fn power_loss_by_space(&self, mut survivors: impl FnMut(usize) -> usize) -> Self {
        let state = self.state();
        let survivors = Space::ALL.map(|_| survivors(state.unsynced.len()));
        let mut contents = state.synced.clone();
        for (place, write) in state.unsynced.iter().enumerate() {
            write.apply_to(&mut contents, |space| place < survivors[space as usize]);
        }
        Self {
            state: Mutex::new(FakeState {
                shown: contents.clone(),
                synced: contents,
                damaged: state.damaged,
                ..FakeState::default()
            }),
        }
    }

    /// Damages a file that is read at every write.
    pub fn damage(&self) {
        self.state().damaged = true;
    }

    /// Returns whether a file is damaged.
    pub fn is_damaged(&self) -> bool {
        self.state().damaged
    }

    /// Returns what a key had when the store was synced.
    pub fn on_disk(&self, space: Space, key: &[u8]) -> Option<Bytes> {
        self.state().synced[space as usize].get(key).cloned()
    }

    /// Returns the number of unsynced writes.
    pub fn unsynced(&self) -> usize {
        self.state().unsynced.len()
    }

    /// Sets the behaviour of syncs.
    pub fn set_syncs(&self, syncs: Syncs) {
        self.state().syncs = syncs;
    }

    /// Lets the power fail in the sync after this many.
    pub fn fail_power_after(&self, syncs: usize) {
        self.state().syncs_left = Some(syncs);
    }

    /// Lets every check of the disk space fail.
    pub fn fail_disk_space_checks(&self) {
        self.state().fails_disk_space_checks = true;
    }

    /// Sets the disk space.
    pub fn set_disk_space(&self, space: DiskSpace) {
        self.state().disk_space = Some(space);
    }

    /// Returns the numbers of calls so far.
    pub fn calls(&self) -> CallCounts {
        self.state().calls
    }

    /// Returns everything but one key.
    pub fn contents_without(&self, space: Space, key: &[u8]) -> impl PartialEq + use<> {
        let mut shown = self.state().shown.clone();
        shown[space as usize].remove(key);
        shown
    }

    /// Returns all keys and values of a space.
    pub fn all(&self, space: Space) -> Vec<(Vec<u8>, Bytes)> {
        let state = self.state();
        let all = state.shown[space as usize].iter();
        all.map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    fn state(&self) -> MutexGuard<'_, FakeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FakeState {
    fn write(&mut self, write: FakeWrite) -> Result<(), StoreError> {
        if self.broken {
            return Err(StoreError::new("write", "an earlier sync failed"));
        }
        if self.damaged {
            return Err(StoreError::damage("write", "a block is damaged"));
        }
        write.apply(&mut self.shown);
        self.unsynced.push(write);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.calls.syncs += 1;
        match &mut self.syncs_left {
            Some(0) => self.broken = true,
            Some(left) => *left -= 1,
            None => {}
        }
        match self.syncs {
            Syncs::Work if !self.broken => {
                for write in self.unsynced.drain(..) {
                    write.apply(&mut self.synced);
                }
                Ok(())
            }
            Syncs::Lie => Ok(()),
            Syncs::Panic => panic!("the disk panics"),
            Syncs::Work | Syncs::Fail | Syncs::Hang => {
                self.broken = true;
                Err(StoreError::new("sync", "the disk has failed"))
            }
        }
    }
}

impl FakeWrite {
    fn apply(&self, spaces: &mut SpaceMaps) {
        self.apply_to(spaces, |_| true);
    }

    /// Applies what it writes to the spaces that `is_reached` returns true for.
    fn apply_to(&self, spaces: &mut SpaceMaps, is_reached: impl Fn(Space) -> bool) {
        match self {
            Self::Clear(space) if is_reached(*space) => spaces[*space as usize].clear(),
            Self::Clear(_) => {}
            Self::Batch(writes) => {
                let reached = writes.iter().filter(|(space, ..)| is_reached(*space));
                for (space, key, value) in reached {
                    let space = &mut spaces[*space as usize];
                    match value {
                        Some(value) => space.insert(key.to_vec(), value.clone()),
                        None => space.remove(&**key),
                    };
                }
            }
        }
    }
}

impl ReadStore for Fake {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let mut state = self.state();
        state.calls.keys += 1;
        Ok(state.shown[space as usize].get(key).cloned())
    }

    fn scan(&self, space: Space, from: &[u8], visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let mut state = self.state();
        let mut keys = 0;
        for (key, value) in state.shown[space as usize].range(from.to_vec()..) {
            keys += 1;
            if visit(key, value) == ControlFlow::Break(()) {
                break;
            }
        }
        state.calls.keys += keys;
        Ok(())
    }

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let state = self.state();
        let all = Space::ALL.map(|space| (space, state.shown[space as usize].clone()));
        let rows = all.into_iter().flat_map(|(space, rows)| {
            rows.into_iter()
                .map(move |(key, value)| Ok((space, key.into(), value)))
        });
        Ok(Snapshot {
            commit: state.calls.commits as u64,
            rows: Box::new(rows),
        })
    }
}

impl Store for Fake {
    fn rows(&self, space: Space, from: &[u8]) -> SpaceRows<'_> {
        let mut from = Bound::Included(from.to_vec());
        Box::new(iter::from_fn(move || {
            let mut state = self.state();
            let mut rest = state.shown[space as usize].range((from.clone(), Bound::Unbounded));
            let (key, value) = rest.next()?;
            let row = (Bytes::from(&**key), value.clone());
            from = Bound::Excluded(key.clone());
            state.calls.keys += 1;
            Some(Ok(row))
        }))
    }

    fn commit(&self, batch: Batch, durability: Durability) -> Result<(), StoreError> {
        let mut state = self.state();
        state.calls.commits += 1;
        state.write(FakeWrite::Batch(batch.into_writes().collect()))?;
        match durability {
            Durability::Written => Ok(()),
            Durability::Synced => {
                drop(state);
                self.sync()
            }
        }
    }

    fn clear(&self, space: Space) -> Result<(), StoreError> {
        let mut state = self.state();
        state.calls.clears += 1;
        state.write(FakeWrite::Clear(space))
    }

    fn disk_space(&self, _: u64) -> Result<DiskSpace, StoreError> {
        let mut state = self.state();
        state.calls.disk_space_checks += 1;
        match state.fails_disk_space_checks {
            true => Err(StoreError::new("look at the disk", "it has failed")),
            false => Ok(state.disk_space.unwrap_or(DiskSpace::UNLIMITED)),
        }
    }

    fn sync(&self) -> Result<(), StoreError> {
        loop {
            let mut state = self.state();
            if state.syncs != Syncs::Hang {
                return state.sync();
            }
            drop(state);
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(store: &Fake, key: &[u8], durability: Durability) -> Result<(), StoreError> {
        let mut batch = Batch::new();
        batch.put(Space::Meta, key, *b"value");
        store.commit(batch, durability)
    }

    fn keys(store: &Fake) -> Vec<Vec<u8>> {
        store
            .all(Space::Meta)
            .into_iter()
            .map(|(key, _)| key)
            .collect()
    }

    #[test]
    fn a_power_loss_keeps_synced_writes_and_a_prefix_of_the_others() {
        let store = Fake::default();
        put(&store, b"1", Durability::Synced).unwrap();
        put(&store, b"2", Durability::Written).unwrap();
        put(&store, b"3", Durability::Written).unwrap();
        assert_eq!(keys(&store), [b"1", b"2", b"3"]);
        assert_eq!(keys(&store.power_loss(0)), [b"1"]);
        assert_eq!(keys(&store.power_loss(1)), [b"1", b"2"]);
        store.sync().unwrap();
        assert_eq!(keys(&store.power_loss(0)), [b"1", b"2", b"3"]);
    }

    #[test]
    fn writes_fail_after_a_failed_sync() {
        let store = Fake::default();
        store.set_syncs(Syncs::Fail);
        put(&store, b"1", Durability::Synced).unwrap_err();
        store.set_syncs(Syncs::Work);
        put(&store, b"2", Durability::Written).unwrap_err();
        store.sync().unwrap_err();
        assert!(keys(&store.power_loss(0)).is_empty());
    }

    #[test]
    fn a_lying_sync_keeps_nothing() {
        let store = Fake::default();
        store.set_syncs(Syncs::Lie);
        put(&store, b"1", Durability::Synced).unwrap();
        assert!(keys(&store.power_loss(0)).is_empty());
    }
}
