//! Snapshots between nodes.

use std::{fs, path::Path, sync::Arc, time::Duration};

use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
};

use super::fixture::{CLUSTER, SHARDS, TestNode, node, node_providing, soon};
use crate::{
    Charter, ShardId,
    entry::EntryChange,
    link::{
        error::LinkError,
        fetch_snapshot::{self, FetchSnapshotError},
        frame::FrameReader,
        snapshot_chunk,
    },
    log::Member,
    replica::Replica,
    snapshot::{SnapshotProvider, SnapshotRequest, SnapshotUnavailable},
};
use hyper_delay_fjall::{Embedded, node_directory::NodeDirectory};
use hyper_delay_store::{Batch, ReadStore as _, Space};

const SHARD: ShardId = ShardId(1);

fn charter() -> Charter {
    Charter::new(CLUSTER, SHARDS).unwrap()
}

fn apply(replica: &mut Replica<Embedded>, seq: u64) {
    let mut batch = Batch::new();
    let mut value = vec![0; 10_000];
    fastrand::Rng::with_seed(seq).fill(&mut value);
    batch.put(Space::Tasks, seq.to_be_bytes(), value);
    let mut change = EntryChange::Writes(batch);
    let entry = replica.next(1, seq, seq, &mut change);
    replica.apply_own(seq, &entry, change).unwrap();
}

/// The disk of a node.
struct Disk {
    folder: TempDir,
    directory: NodeDirectory,
}

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory = NodeDirectory::lock(folder.path(), SHARDS).unwrap();
        Self { folder, directory }
    }

    /// Returns a replica with this many entries, which are synced.
    fn replica(&self, entries: u64) -> Replica<Embedded> {
        let store = Arc::new(self.directory.open(SHARD.0).unwrap());
        let mut replica = Replica::open(store, charter(), SHARD).unwrap();
        for seq in replica.applied().seq + 1..=entries {
            apply(&mut replica, seq);
        }
        replica.prepare_sync().run().unwrap();
        replica
    }

    /// Returns the names of the folders and files of all shards.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path().join("shards")).unwrap();
        let mut names: Vec<_> = names
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    }

    async fn take(
        &self,
        ours: &TestNode,
        from: &Member,
        least: u64,
    ) -> Result<Embedded, FetchSnapshotError> {
        let shard = SHARD;
        let wanted = (charter(), SnapshotRequest { shard, least });
        let directory = self.directory.clone();
        soon(fetch_snapshot::fetch(
            ours.endpoint.clone(),
            from,
            wanted,
            directory,
        ))
        .await
    }
}

fn provider_of(replica: &Replica<Embedded>) -> Arc<SnapshotProvider> {
    let store = replica.store().clone();
    SnapshotProvider::new(move |_| Ok(store.clone()))
}

fn applied(store: Embedded) -> u64 {
    let replica = Replica::open(Arc::new(store), charter(), SHARD).unwrap();
    replica.applied().seq
}

fn member(node: &TestNode) -> Member {
    node.leader().member
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_takes_the_place_of_the_replica() {
    let (there, here) = (Disk::new(), Disk::new());
    let replica = there.replica(150);
    let (leading, ours) = (
        node_providing("b", provider_of(&replica)).await,
        node("a").await,
    );
    let old = here.replica(3);
    let store = here.take(&ours, &member(&leading), 150).await.unwrap();
    assert_eq!(here.names(), ["1", "1.1"]);
    let rows = |store: &Embedded| {
        let rows = store.snapshot().unwrap().rows.map(|it| it.unwrap());
        let rows = rows.map(|(space, key, value)| (space as usize, key, value));
        rows.collect::<Vec<_>>()
    };
    assert!(rows(&store) == rows(replica.store()));
    // The old one stays until no reader uses it any more.
    assert!(!here.directory.remove_replaced(SHARD.0).unwrap());
    assert_eq!(old.applied().seq, 3);
    drop(old);
    assert!(here.directory.remove_replaced(SHARD.0).unwrap());
    assert_eq!(here.names(), ["1.1"]);
    drop(store);
    assert_eq!(applied(here.directory.open(SHARD.0).unwrap()), 150);
    assert_eq!(here.names(), ["1.1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_cannot_give_says_why() {
    let (there, here) = (Disk::new(), Disk::new());
    let replica = there.replica(5);
    let ours = node("a").await;
    let refused = async |from: &TestNode, least, why: &str| {
        let error = here.take(&ours, &member(from), least).await.unwrap_err();
        assert!(matches!(
            error,
            FetchSnapshotError::Link(LinkError::RefusedByPeer(_))
        ));
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(here.names(), [""; 0]);
    };
    let never = node("b").await;
    refused(&never, 0, "this node gives no snapshots").await;
    let old = node_providing("c", provider_of(&replica)).await;
    refused(&old, 6, "has synced entry 5, and entry 6 is needed").await;
    let stopped = SnapshotProvider::new(|shard| {
        let (shard, reason) = (shard.0, "it is broken".into());
        Err(SnapshotUnavailable::Stopped { shard, reason })
    });
    let stopped = node_providing("d", stopped).await;
    refused(
        &stopped,
        0,
        "shard 1 has stopped on this node: it is broken",
    )
    .await;
    let busy = provider_of(&replica);
    let wanted = SnapshotRequest {
        shard: SHARD,
        least: 0,
    };
    let given = (busy.open(wanted).await, busy.open(wanted).await);
    let giving = node_providing("e", busy).await;
    refused(&giving, 0, "this node gives 2 snapshots already").await;
    drop(given);
    here.take(&ours, &member(&giving), 5).await.unwrap();
}

/// Passes on this many bytes of the answer of a node, and ends then.
async fn cut_after(bytes: u64, to: std::net::SocketAddr) -> Member {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string().into();
    tokio::spawn(async move {
        let (mut ours, _) = listener.accept().await.unwrap();
        let mut theirs = TcpStream::connect(to).await.unwrap();
        let (mut reader, mut writer) = ours.split();
        let (answers, mut asks) = theirs.split();
        let mut answers = tokio::io::AsyncReadExt::take(answers, bytes);
        tokio::select! {
            _ = tokio::io::copy(&mut reader, &mut asks) => {}
            _ = tokio::io::copy(&mut answers, &mut writer) => {}
        }
    });
    let node = "b".into();
    Member { node, address }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_a_snapshot_whose_giver_dies() {
    let (there, here) = (Disk::new(), Disk::new());
    let replica = there.replica(150);
    let (leading, ours) = (
        node_providing("b", provider_of(&replica)).await,
        node("a").await,
    );
    drop(here.replica(3));
    for bytes in [0, 200, 300_000, 1_400_000] {
        let from = cut_after(bytes, leading.address).await;
        let error = here.take(&ours, &from, 150).await.unwrap_err();
        assert!(
            matches!(error, FetchSnapshotError::Link(_)),
            "{bytes}: {error}"
        );
        assert_eq!(here.names(), ["1"], "{bytes}");
    }
    assert_eq!(applied(here.directory.open(SHARD.0).unwrap()), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_removes_what_a_killed_process_has_left() {
    let here = Disk::new();
    drop(here.replica(3));
    let shards = here.folder.path().join("shards");
    let copy = |to: &str| copy_folder(&shards.join("1"), &shards.join(to));
    copy("1.unfinished");
    copy("1.2");
    copy("1.1");
    copy("11");
    fs::write(shards.join("1.1/damaged"), "a block").unwrap();
    fs::write(shards.join("1.spool"), "entries").unwrap();
    drop(here.directory.open(SHARD.0).unwrap());
    assert_eq!(here.names(), ["1.2", "11"]);
    let asides = fs::read_dir(here.folder.path()).unwrap();
    let asides = asides.map(|it| it.unwrap().path());
    let aside = asides
        .into_iter()
        .find(|it| it.to_string_lossy().contains("damaged-"));
    assert!(aside.unwrap().join("1.1").is_dir());
    // A store that was being received is never that of the shard.
    fs::rename(shards.join("1.2"), shards.join("1.unfinished")).unwrap();
    assert_eq!(applied(here.directory.open(SHARD.0).unwrap()), 0);
    assert_eq!(here.names(), ["1", "11"]);
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy_folder(&path, &to),
            false => drop(fs::copy(&path, to).unwrap()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_that_stands_still_has_failed() {
    let (mut theirs, ours) = tokio::io::duplex(64);
    theirs.write_all(&[2, 0, 0, 0, b'b', 7]).await.unwrap();
    let mut frames = FrameReader::new(ours, snapshot_chunk::LONGEST);
    assert_eq!(*snapshot_chunk::next(&mut frames).await.unwrap(), [b'b', 7]);
    let error = snapshot_chunk::next(&mut frames).await.err().unwrap();
    assert!(matches!(error, LinkError::Stalled(Duration { .. })));
    let (mut ours, _theirs) = tokio::io::duplex(64);
    let long = [7; 100];
    let error = snapshot_chunk::SnapshotChunk::Bytes(&long)
        .send(&mut ours)
        .await;
    assert!(matches!(error.unwrap_err(), LinkError::Stalled(_)));
}
