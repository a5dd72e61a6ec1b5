//! The disks of nodes, and their losses.

use std::sync::Arc;

use super::world::{MILLI, World};
use crate::{ShardId, replica::AppliedEntry, shard::Shard};
use hyper_delay_store::{
    DiskSpace, ReadStore as _, Space,
    fake::Fake,
    record::{self, key},
};

/// A second disk is only lost when nothing of before the first loss is on its way any more, and
/// the journal is not shortened by what was known then.
const PAUSE: u64 = 12_000 * MILLI;

/// Returns whether a replica has the content of a task.
pub(super) fn has_content(disk: &Fake, seq: u64) -> bool {
    let key = key::task(seq);
    disk.get(Space::Tasks, &key).expect("it is whole").is_some()
}

/// Losses of disks.
#[derive(Debug)]
pub(super) struct DiskFaults {
    /// Of their own, so that the rest of a history does not depend on them.
    random: fastrand::Rng,
    /// The percentage of power failures after which a node has lost its disk.
    lost: u8,
    last: u64,
    full: FullDisk,
}

/// A disk that is full for some time.
#[derive(Debug)]
struct FullDisk {
    /// Of its own, too.
    random: fastrand::Rng,
    /// The percentage of faults with which a disk fills up.
    percentage: u8,
    /// The node, and until when.
    now: Option<(usize, u64)>,
}

impl DiskFaults {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x6469_736b);
        Self {
            lost: *random.choice(&[0, 15, 60]).expect("there are three"),
            random,
            last: 0,
            full: FullDisk::new(seed ^ 0x6675_6c6c),
        }
    }

    /// Returns the bytes of a journal beyond which nodes are left behind.
    pub(super) fn retention(&mut self) -> u64 {
        let choice = self.random.choice([1_000, 5_000, 60_000]);
        choice.expect("there are three")
    }
}

impl FullDisk {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        Self {
            percentage: *random.choice(&[0, 5, 30]).expect("there are three"),
            random,
            now: None,
        }
    }
}

/// Returns the last entry that is on a disk for sure.
fn synced(disk: &Fake) -> u64 {
    let synced = disk.on_disk(Space::Meta, key::SYNCED);
    let synced = synced.map(|it| record::decode::<AppliedEntry>(&it).expect("it is whole"));
    synced.map_or(0, |it| it.seq)
}

impl World {
    /// The power of a node has failed, and perhaps its disk, too.
    pub(super) fn lose_disk(&mut self, node: usize) {
        if self.disks.random.u8(0..100) < self.disks.lost && self.may_lose_disk(node) {
            self.note_disk_contents(node);
            for disk in &mut self.nodes[node].disks {
                if self.disks.random.u8(0..4) > 0 {
                    *disk = Arc::default();
                }
            }
            self.disks.last = self.at;
            for shard in (0..self.charter.shards).map(ShardId) {
                self.check_trim(shard);
            }
        }
    }

    /// A file of a node that runs is damaged, now and then.
    pub(super) fn damage_disk(&mut self) {
        let node = self.disks.random.usize(0..self.nodes.len());
        if self.disks.random.u8(0..200) < self.disks.lost && self.may_lose_disk(node) {
            self.note_disk_contents(node);
            let shard = self.disks.random.usize(0..self.charter.shards.into());
            self.nodes[node].disks[shard].damage();
            self.disks.last = self.at;
            for shard in (0..self.charter.shards).map(ShardId) {
                self.check_trim(shard);
            }
        }
    }

    /// The disk of a node fills up now and then: with tasks, or to its last byte.
    pub(super) fn fill_disk(&mut self) {
        let full = &mut self.disks.full;
        if full.now.is_some_and(|(_, until)| self.at < until) {
            return;
        }
        self.free_disks();
        if self.is_faultless() {
            return;
        }
        let full = &mut self.disks.full;
        if full.random.u8(0..100) < full.percentage {
            let node = full.random.usize(0..self.nodes.len());
            let room = match full.random.bool() {
                true => DiskSpace::none(),
                false => DiskSpace::for_new_tasks(0),
            };
            for disk in &self.nodes[node].disks {
                disk.set_disk_space(room);
            }
            full.now = Some((node, self.at + full.random.u64(500..8_000) * MILLI));
        }
    }

    /// All disks have room again.
    pub(super) fn free_disks(&mut self) {
        if let Some((node, _)) = self.disks.full.now.take() {
            for disk in &self.nodes[node].disks {
                disk.set_disk_space(DiskSpace::UNLIMITED);
            }
        }
    }

    /// Returns whether the cluster must bear the loss of a disk: the other nodes have said what they
    /// have, and by that each shard is on one of them, whose disk is not damaged: a damage that a node
    /// has not met is the loss of that disk.
    fn may_lose_disk(&self, lost: usize) -> bool {
        if self.is_faultless() || self.at < self.disks.last + PAUSE {
            return false;
        }
        (0..self.charter.shards).all(|shard| {
            let first = self.first(ShardId(shard));
            let mut others = (0..self.nodes.len()).filter(|node| *node != lost);
            let has_all = |node| {
                let (reported, synced) = (self.reported(node, shard), self.synced_on(node, shard));
                reported.min(synced) + 1 >= first
            };
            others.any(has_all)
        }) && (0..self.nodes.len()).all(|node| node == lost || self.has_reported(node))
    }

    /// Returns whether what is known of a node was found out after its last loss.
    fn has_reported(&self, node: usize) -> bool {
        let process = self.nodes[node].process.as_ref();
        process.is_some_and(|process| process.shards.iter().all(Shard::is_known))
    }

    /// Returns what the log knows of a node.
    fn reported(&self, node: usize, shard: u16) -> u64 {
        let reports = &self.log.shard(ShardId(shard)).reports;
        let report = reports.get(&self.nodes[node].member.node);
        report.copied().unwrap_or_default()
    }

    fn first(&self, shard: ShardId) -> u64 {
        let first = self.log.shard(shard).journal.first_key_value();
        *first.expect("a journal is never empty").0
    }

    /// Returns the last entry of a shard that is on the disk of a node.
    fn synced_on(&self, node: usize, shard: u16) -> u64 {
        let disk = &self.nodes[node].disks[usize::from(shard)];
        if disk.is_damaged() { 0 } else { synced(disk) }
    }

    /// Notes what a node had on its disks.
    fn note_disk_contents(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        let had = node
            .max_synced
            .iter_mut()
            .zip(&mut node.max_synced_since_start);
        for (disk, (had, has_had)) in node.disks.iter().zip(had) {
            *had = synced(disk).max(*had);
            *has_had = synced(disk).max(*has_had);
        }
    }

    /// The log has noted what a node has: not more than it has had since it was started.
    pub(super) fn check_report(&mut self, node: usize, shard: ShardId) {
        self.note_disk_contents(node);
        let noted = self.reported(node, shard.0);
        let has_had = self.nodes[node].max_synced_since_start[usize::from(shard.0)];
        if noted > has_had {
            let name = &self.nodes[node].member.node;
            let broken = format!("the log says {noted} of {name}, which has had {has_had}");
            self.check(Err(broken));
        }
    }

    /// The journal was shortened, or a disk was lost: a majority had all before it on its disks, and one node still
    /// has.
    pub(super) fn check_trim(&mut self, shard: ShardId) {
        let first = self.first(shard);
        let nodes = 0..self.nodes.len();
        for node in nodes.clone() {
            self.note_disk_contents(node);
        }
        let place = usize::from(shard.0);
        let had = nodes
            .clone()
            .filter(|node| self.nodes[*node].max_synced[place] + 1 >= first);
        let (had, all) = (had.count(), self.nodes.len());
        let has = nodes
            .clone()
            .filter(|node| self.synced_on(*node, shard.0) + 1 >= first);
        let result = match (had, has.count()) {
            (had, _) if had <= all / 2 => Err(format!(
                "the journal begins with {first}, and {had} of {all} nodes had all before it"
            )),
            (_, 0) => Err(format!(
                "the journal begins with {first}, and no node has all before it"
            )),
            _ => Ok(()),
        };
        self.check(result);
    }
}
