//! The snapshot that a shard waits for: its task, what is spooled meanwhile, and its store.

use std::{
    io,
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use tokio::{task::AbortHandle, time::sleep};

use super::{
    replies::FetchReply,
    shards,
    worker::{WorkerContext, WorkerMessage},
};
use crate::{
    ShardId,
    link::fetch_snapshot,
    log::{Log, LogAnswer, LogRequest},
    shard::SnapshotFetch,
    snapshot::{SnapshotRequest, spool::Spool},
};
use hyper_delay_fjall::{
    Embedded,
    node_directory::{NodeDirectory, WeakNodeDirectory},
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::node::fetching";

/// The pause between checks whether a replaced store is closed.
const LOOK: Duration = Duration::from_millis(200);

type JournalEntries = Vec<(u64, Arc<[u8]>)>;

/// The download of a snapshot by the thread of a shard. Dropping it ends the task.
#[derive(Debug, Default)]
pub(super) struct SnapshotDownload {
    attempt: u64,
    task: Option<AbortHandle>,
    spool: Option<Spool>,
    store: Option<Arc<Embedded>>,
    /// Why the last attempt has failed. The same reason is logged once.
    reported: String,
}

impl SnapshotDownload {
    /// Begins an attempt.
    pub(super) fn begin(
        &mut self,
        id: ShardId,
        fetch: SnapshotFetch,
        context: &Arc<WorkerContext<impl Log>>,
        own: &Sender<WorkerMessage>,
    ) -> io::Result<()> {
        self.end();
        self.attempt = fetch.attempt;
        self.spool = Some(Spool::create(&context.directory.spool_path(id.0))?);
        let reply = FetchReply::new(fetch.attempt, own.clone());
        let common_ = context.clone();
        let download = async move { reply.send(download(&common_, id, fetch).await) };
        self.task = Some(context.runtime.spawn(download).abort_handle());
        Ok(())
    }

    /// Keeps entries on the disk, while it has room for them.
    pub(super) fn spool(
        &mut self,
        entries: &[(u64, Arc<[u8]>)],
        directory: &NodeDirectory,
    ) -> io::Result<()> {
        let Some(spool) = self.spool.as_mut().filter(|_| !entries.is_empty()) else {
            return Ok(());
        };
        if !directory.has_disk_space_for(shards::bytes(entries) as u64) {
            let why = "the disk of data_dir has no room beside the reserve: free some";
            return Err(io::Error::new(io::ErrorKind::StorageFull, why));
        }
        spool.append(entries)
    }

    /// Returns the number of the last attempt.
    pub(super) const fn attempt(&self) -> u64 {
        self.attempt
    }

    /// The snapshot of an attempt is there.
    pub(super) fn fetched(&mut self, attempt: u64, store: Embedded) {
        if attempt == self.attempt {
            self.store = Some(Arc::new(store));
        }
    }

    /// Takes the store of the last attempt, if it is there.
    pub(super) const fn take_store(&mut self) -> Option<Arc<Embedded>> {
        self.store.take()
    }

    /// Returns the next entries of those that were spooled; none if there are no more.
    pub(super) fn next(&mut self, applied: u64) -> io::Result<JournalEntries> {
        match &mut self.spool {
            Some(spool) => spool.next(applied),
            None => Ok(Vec::new()),
        }
    }

    /// An attempt has failed.
    pub(super) fn failed(&mut self, id: ShardId, why: String) {
        self.end();
        if self.reported != why {
            tracing::warn!(
                target: TARGET,
                shard = id.0,
                reason = why,
                "a snapshot of a shard could not be taken; it is tried again",
            );
            self.reported = why;
        }
    }

    /// Nothing of the attempt is needed any more.
    pub(super) fn end(&mut self) {
        self.spool = None;
        self.store = None;
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }

    /// The shard has resumed, and everything that was spooled is applied.
    pub(super) fn finish(&mut self) {
        self.end();
        self.reported.clear();
    }

    pub(super) const fn has_spool(&self) -> bool {
        self.spool.is_some()
    }
}

impl Drop for SnapshotDownload {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns the store that a snapshot has become.
async fn download(
    context: &WorkerContext<impl Log>,
    id: ShardId,
    fetch: SnapshotFetch,
) -> Result<Embedded, String> {
    let provider = &fetch.provider;
    let endpoint = context.endpoint.get().cloned();
    let endpoint = endpoint.ok_or("this node does not listen for links yet")?;
    let members = match context.log.call(LogRequest::Members).await {
        Ok(LogAnswer::Members(members)) => members,
        Ok(other) => return Err(format!("{other:?} instead of the members")),
        Err(error) => return Err(error.to_string()),
    };
    let mut members = members.into_iter().map(|it| it.member);
    let member = members.find(|it| it.node == *provider);
    let member = member.ok_or_else(|| format!("node {provider} is no member any more"))?;
    tracing::info!(
        target: TARGET,
        shard = id.0,
        node = %provider,
        "this node takes a snapshot of a shard",
    );
    let wanted = SnapshotRequest {
        shard: id,
        least: fetch.least,
    };
    let wanted = (context.charter, wanted);
    let fetching = fetch_snapshot::fetch(endpoint, &member, wanted, context.directory.clone());
    let fetched = fetching.await;
    fetched.map_err(|error| format!("node {provider}: {error}"))
}

/// Removes the replaced stores of a shard when no reader uses them any more, until the node ends.
pub(super) async fn remove_replaced(directory: WeakNodeDirectory, shard: u16) {
    loop {
        sleep(LOOK).await;
        let directory = directory.clone();
        let removing = tokio::task::spawn_blocking(move || {
            let directory = directory.upgrade()?;
            Some(directory.remove_replaced(shard))
        });
        match removing.await {
            Ok(Some(Ok(false))) => {}
            Ok(Some(Err(error))) => {
                return tracing::warn!(
                    target: TARGET,
                    shard,
                    %error,
                    "the replaced store of a shard could not be removed; the next start does it",
                );
            }
            Ok(None | Some(Ok(true))) | Err(_) => return,
        }
    }
}
