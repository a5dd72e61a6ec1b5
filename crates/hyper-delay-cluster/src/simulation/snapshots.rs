//! Snapshots between the processes.

use std::sync::Arc;

use super::{
    PlantedFault,
    events::{ProcessId, SimulationEvent},
    world::{MILLI, World},
};
use crate::{
    ShardId,
    shard::{Shard, ShardEvent, SnapshotFetch},
    snapshot::{SnapshotRequest, fill},
};
use hyper_delay_archive::backup::BackupStream;
use hyper_delay_engine::clock::Now;
use hyper_delay_store::{
    Batch, Durability, ReadStore as _, Space, Store as _, fake::Fake, record::key,
};

/// The snapshot that a shard of a process receives.
#[derive(Debug, Default)]
pub(super) struct SnapshotReceiver {
    spool: Vec<(u64, Arc<[u8]>)>,
    /// The store, with its attempt.
    store: Option<(u64, Arc<Fake>)>,
}

impl SnapshotReceiver {
    /// Lets the shard resume with the store, if it is there. Returns the disk from now on.
    pub(super) fn replace(&mut self, shard: &mut Shard<Fake>, now: Now) -> Option<Arc<Fake>> {
        let (attempt, store) = self.store.take_if(|_| shard.is_replaceable())?;
        shard.replace(attempt, store.clone(), now).then_some(store)
    }

    /// Lets the shard apply what it has spooled, as far as there is space.
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
    pub(super) fn start_fetch(
        &mut self,
        life: ProcessId,
        shard: ShardId,
        fetch: Option<SnapshotFetch>,
        spool: Vec<(u64, Arc<[u8]>)>,
    ) {
        if fetch.is_none() && spool.is_empty() {
            return;
        }
        let process = self.nodes[life.node].process.as_mut().expect("it runs");
        let receiving = &mut process.receiving[usize::from(shard.0)];
        if fetch.is_some() {
            *receiving = SnapshotReceiver::default();
        }
        receiving.spool.extend(spool);
        if let Some(fetch) = fetch {
            let delay = self.random.u64(MILLI..500 * MILLI);
            self.after(delay, SimulationEvent::Snapshot(life, shard, fetch));
        }
    }

    /// A node is asked for a snapshot.
    pub(super) fn provide_snapshot(&mut self, to: ProcessId, shard: ShardId, fetch: SnapshotFetch) {
        let place = usize::from(shard.0);
        let mut nodes = self.nodes.iter();
        let provider = nodes.find(|node| node.member.node == fetch.provider);
        let provider = provider.filter(|node| {
            let provider = self.node_named(&node.member.node);
            if !self.versions.are_same(provider, to.node) {
                return false;
            }
            let process = node.process.as_ref();
            process.is_some_and(|process| process.shards[place].stopped().is_none())
        });
        let provider = provider.map(|node| node.disks[place].clone());
        let is_lost = !self.is_faultless() && self.random.u8(0..5) == 0;
        let snapshot = provider.filter(|_| !is_lost).map(|disk| bytes(&disk));
        let delay = match self.random.bool() {
            true => self.random.u64(MILLI..100 * MILLI),
            false => self.random.u64(MILLI..6_000 * MILLI),
        };
        self.after(
            delay,
            SimulationEvent::SnapshotArrived(to, shard, fetch, snapshot),
        );
    }

    /// The snapshot has come.
    pub(super) fn snapshot_arrived(
        &mut self,
        life: ProcessId,
        shard: ShardId,
        fetch: &SnapshotFetch,
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
            let failed = ShardEvent::FetchFailed(fetch.attempt, why);
            return self.shard(life, shard, Some(failed));
        }
        if self.planted == PlantedFault::SnapshotWithoutApplied {
            self.copy_applied_of_provider(&store, shard, fetch);
        }
        let process = self.nodes[life.node].process.as_mut().expect("it runs");
        let receiving = &mut process.receiving[usize::from(shard.0)];
        receiving.store = Some((fetch.attempt, Arc::new(store)));
        self.shard(life, shard, None);
    }

    /// Notes what the provider of a snapshot has applied by now.
    fn copy_applied_of_provider(&self, store: &Fake, shard: ShardId, fetch: &SnapshotFetch) {
        let mut nodes = self.nodes.iter();
        let provider = nodes.find(|node| node.member.node == fetch.provider);
        let disk = &provider.expect("it is a node").disks[usize::from(shard.0)];
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
    let mut stream = BackupStream::begin(snapshot, 0);
    let mut bytes = Vec::new();
    loop {
        let next = stream.next(64 << 10).expect("it is whole");
        if next.is_empty() {
            return bytes;
        }
        bytes.extend(next);
    }
}
