//! One flipped bit in each kind of file of a replica, while its node runs under load. Tables are
//! rewritten, and the node starts again. The replica is whole or is replaced by a copy, and the other
//! shards of the node continue.

use std::{
    fs,
    io::{Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::Instant,
};

use super::fixture::{Cluster, PATIENCE, SHARDS};
use crate::shard::ShardEvent;
use hyper_delay_store::Space;

/// The shard whose replica is damaged.
const SHARD: usize = 1;

/// A kind of file, by where it is below the folder of the replica.
#[derive(Debug, Clone, Copy)]
enum FlippedFile {
    /// Of the files that begin so, the first. What is wrong with it is found at the next start.
    File(&'static str),
    /// The first table of a space, which a rewrite meets.
    Table(Space),
}

const KINDS: [FlippedFile; 10] = [
    FlippedFile::File("store/0.jnl"),
    FlippedFile::File("store/version"),
    FlippedFile::File("store/keyspaces/0/"),
    FlippedFile::File("store/keyspaces/2/current"),
    FlippedFile::File("store/keyspaces/2/v"),
    FlippedFile::Table(Space::Names),
    FlippedFile::Table(Space::Waiting),
    FlippedFile::Table(Space::Counts),
    FlippedFile::Table(Space::Meta),
    FlippedFile::Table(Space::Tasks),
];

impl Cluster {
    /// Schedules a task in each shard, and lets a node write a table of those of the damaged one.
    async fn load(&mut self, node: usize, round: &mut usize) {
        *round += 1;
        // The keys of each table lie among those of the others: it is not only moved.
        let number = *round * 7_919 % 300_000 * SHARDS;
        for shard in 0..SHARDS {
            self.schedule(number + shard).await;
        }
        // Once it has failed, it takes no more.
        let _ = self.node(node).node.shards()[SHARD].store().seal_all();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_bit_in_a_file_of_a_running_node_is_healed_and_other_shards_go_on() {
    let mut cluster = Cluster::new();
    cluster.start_all().await;
    let mut rounds = 0;
    for kind in KINDS {
        let node = (cluster.leader_of(SHARD).await + 1) % 3;
        for _ in 0..2 {
            cluster.load(node, &mut rounds).await;
        }
        cluster.all_have_everything().await;
        let store = cluster.node(node).node.shards()[SHARD].store();
        store.flush_all();
        let names = store.folder_of(Space::Names).to_owned();
        // A copy has a folder of its own.
        let replica = names.ancestors().nth(3).expect("it is in one");
        let file = match kind {
            FlippedFile::File(name) => {
                let begins = replica.join(name).to_str().unwrap().to_owned();
                first(replica, |file| file.to_str().unwrap().starts_with(&begins))
            }
            FlippedFile::Table(space) => {
                let tables = store.folder_of(space).join("tables");
                first(replica, |file| file.starts_with(&tables))
            }
        };
        drop(store);
        flip(&file);
        let begun = Instant::now();
        for round in 0.. {
            cluster.load(node, &mut rounds).await;
            let is_met = matches!(kind, FlippedFile::Table(_));
            if let FlippedFile::Table(Space::Tasks) = kind {
                // Nothing reads contents again but a delivery, which says so.
                let handle = &cluster.node(node).node.shards()[SHARD];
                if let Some(damage) = handle.store().find_damage(&|| false) {
                    handle.event(ShardEvent::Damaged(damage));
                }
            }
            // It is rewritten, as the bit is of no use, or the replica is replaced.
            if !file.exists() || !is_met && round == 3 {
                break;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{kind:?}: nothing reads {file:?}"
            );
        }
        let others = (0..SHARDS).filter(|shard| *shard != SHARD);
        for other in others {
            let running = cluster.node(node);
            let goes_on = !running.has_replaced(other) && !running.has_stopped(other);
            assert!(goes_on, "{kind:?}: shard {other}");
        }
        cluster.stop(node).await;
        cluster.start(node).await;
        cluster.load(node, &mut rounds).await;
        cluster.all_have_everything().await;
    }
    cluster.stop_all().await;
}

/// Returns the first file that is so.
fn first(folder: &Path, is_it: impl Fn(&Path) -> bool) -> PathBuf {
    let mut files = Vec::new();
    walk(folder, &mut files);
    files.sort();
    let found = files.into_iter().find(|file| is_it(file));
    found.expect("there is a file of each kind")
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => walk(&path, files),
            false => files.push(path),
        }
    }
}

/// Flips a bit of what is written of a file: in a table, among its rows.
fn flip(file: &Path) {
    let bytes = fs::read(file).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0);
    let place = written.expect("something is written") / 8;
    let mut writer = fs::OpenOptions::new().write(true).open(file).unwrap();
    writer.seek(SeekFrom::Start(place as u64)).unwrap();
    writer.write_all(&[bytes[place] ^ 1]).unwrap();
}
