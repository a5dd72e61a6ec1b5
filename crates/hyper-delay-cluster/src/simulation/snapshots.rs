//! Snapshots between the processes.

use std::sync::Arc;

use super::{
    Planted,
    events::{Happening, Life},
    world::{MILLI, World},
};
use crate::{
    ShardId,
    shard::{Event, Fetch, Shard},
    snapshot::{SnapshotRequest, fill},
};
use hyper_delay_archive::backup::Stream;
use hyper_delay_engine::clock::Now;
use hyper_delay_store::{
    Batch, Durability, ReadStore as _, Space, Store as _, fake::Fake, record::key,
};

/// What a shard of a process receives.
#[derive(Debug, Default)]
pub(super) struct Receiving {
    spool: Vec<(u64, Arc<[u8]>)>,
    /// The store, with its attempt.
    store: Option<(u64, Arc<Fake>)>,
}

impl Receiving {
    /// Lets the shard go on with the store, if it is there. Returns the disk from now on.
    pub(super) fn replace(&mut self, shard: &mut Shard<Fake>, now: Now) -> Option<Arc<Fake>> {
        let (attempt, store) = self.store.take_if(|_| shard.is_replaceable())?;
        shard.replace(attempt, store.clone(), now).then_some(store)
    }

    /// Lets the shard apply what it has spooled, as far as there is room.
    pub(super) fn drain(&self, shard: &mut Shard<Fake>, now: Now) {
        let rest = |applied| {
            let rest = self.spool.iter().filter(|(seq, _)| *seq > applied);
            Ok(rest.cloned().collect())
        };
        while shard.drain(rest, now) {}
    }
}

impl World {
    /// A shard of a process asks for a snapshot, and spools.
    pub(super) fn receives(
        &mut self,
        life: Life,
        shard: ShardId,
        fetch: Option<Fetch>,
        spool: Vec<(u64, Arc<[u8]>)>,
    ) {
        if fetch.is_none() && spool.is_empty() {
            return;
        }
        let process = self.nodes[life.node].process.as_mut().expect("it runs");
        let receiving = &mut process.receiving[usize::from(shard.0)];
        if fetch.is_some() {
            *receiving = Receiving::default();
        }
        receiving.spool.extend(spool);
        if let Some(fetch) = fetch {
            let delay = self.random.u64(MILLI..500 * MILLI);
            self.after(delay, Happening::Snapshot(life, shard, fetch));
        }
    }

    /// A node is asked for a snapshot.
    pub(super) fn gives(&mut self, to: Life, shard: ShardId, fetch: Fetch) {
        let place = usize::from(shard.0);
        let mut nodes = self.nodes.iter();
        let giver = nodes.find(|node| node.member.node == fetch.giver);
        let giver = giver.filter(|node| {
            let process = node.process.as_ref();
            process.is_some_and(|process| process.shards[place].stopped().is_none())
        });
        let giver = giver.map(|node| node.disks[place].clone());
        let is_lost = !self.is_faultless() && self.random.u8(0..5) == 0;
        let snapshot = giver.filter(|_| !is_lost).map(|disk| bytes(&disk));
        let delay = match self.random.bool() {
            true => self.random.u64(MILLI..100 * MILLI),
            false => self.random.u64(MILLI..6_000 * MILLI),
        };
        self.after(delay, Happening::Snapshotted(to, shard, fetch, snapshot));
    }

    /// The snapshot has come.
    pub(super) fn has_received(
        &mut self,
        life: Life,
        shard: ShardId,
        fetch: &Fetch,
        snapshot: Option<Vec<u8>>,
    ) {
        let store = Fake::default();
        let least = fetch.least;
        let filled = match snapshot {
            None => Err("the giver has failed".to_owned()),
            Some(bytes) => fill(
                &store,
                &*bytes,
                (self.charter, SnapshotRequest { shard, least }),
                0,
            )
            .map_err(|error| error.to_string()),
        };
        if let Err(why) = filled {
            let failed = Event::NotFetched(fetch.attempt, why);
            return self.shard(life, shard, Some(failed));
        }
        if self.planted == Planted::SnapshotWithoutApplied {
            self.takes_applied_of_giver(&store, shard, fetch);
        }
        let process = self.nodes[life.node].process.as_mut().expect("it runs");
        let receiving = &mut process.receiving[usize::from(shard.0)];
        receiving.store = Some((fetch.attempt, Arc::new(store)));
        self.shard(life, shard, None);
    }

    /// Notes what the giver of a snapshot has applied by now.
    fn takes_applied_of_giver(&self, store: &Fake, shard: ShardId, fetch: &Fetch) {
        let mut nodes = self.nodes.iter();
        let giver = nodes.find(|node| node.member.node == fetch.giver);
        let disk = &giver.expect("it is a node").disks[usize::from(shard.0)];
        if let Some(applied) = disk.get(Space::Meta, key::APPLIED).expect("it is whole") {
            let mut note = Batch::new();
            note.put(Space::Meta, key::APPLIED, applied.clone());
            note.put(Space::Meta, key::SYNCED, applied);
            store.commit(note, Durability::Synced).expect("it works");
        }
    }
}

fn bytes(disk: &Fake) -> Vec<u8> {
    let snapshot = disk.snapshot().expect("it is whole");
    let mut stream = Stream::begin(snapshot, 0);
    let mut bytes = Vec::new();
    loop {
        let next = stream.next(64 << 10).expect("it is whole");
        if next.is_empty() {
            return bytes;
        }
        bytes.extend(next);
    }
}
