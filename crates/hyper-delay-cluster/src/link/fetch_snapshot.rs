//! Fetches a snapshot of a shard into a new store.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::{
    LinkEndpoint,
    error::LinkError,
    receive_snapshot::{SnapshotReader, pipe},
};
use crate::{
    Charter,
    log::Member,
    snapshot::{FillError, SnapshotRequest, fill},
};
use hyper_delay_fjall::{Embedded, node_directory::NodeDirectory};
use hyper_delay_store::StoreError;

/// A snapshot could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchSnapshotError {
    /// It did not come.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// It could not be written.
    #[error(transparent)]
    Fill(#[from] FillError),
    /// The new store cannot be used.
    #[error("the store for the snapshot: {}", .0.reason())]
    Store(#[from] StoreError),
    /// The thread has panicked.
    #[error("writing the snapshot has panicked")]
    Panicked,
}

/// Fetches a snapshot of a shard from a node. Returns the store that is that of the shard from now
/// on, also for the next start. What was received is removed if this fails.
///
/// # Errors
///
/// If the snapshot does not come, is not whole, or does not contain what is wanted, or the disk
/// fails.
///
/// # Cancel safety
///
/// The new store is removed, unless it is in its place already.
pub(crate) async fn fetch(
    endpoint: Arc<LinkEndpoint>,
    from: &Member,
    (charter, wanted): (Charter, SnapshotRequest),
    directory: NodeDirectory,
) -> Result<Embedded, FetchSnapshotError> {
    let (sink, incoming) = pipe();
    let writing = spawn_blocking(move || write(&directory, incoming, (charter, wanted)));
    let fetched = endpoint.receive_snapshot(from, wanted, sink).await;
    let written = writing.await.unwrap_or(Err(FetchSnapshotError::Panicked));
    match (fetched, written) {
        // The disk is the reason why the rest was not received.
        (Err(LinkError::ReceiverGone), Err(error)) => Err(error),
        (Err(error), _) => Err(error.into()),
        (Ok(()), written) => written,
    }
}

fn write(
    directory: &NodeDirectory,
    incoming: SnapshotReader,
    (charter, wanted): (Charter, SnapshotRequest),
) -> Result<Embedded, FetchSnapshotError> {
    let receiving = directory.receive(wanted.shard.0)?;
    let wanted = (charter, wanted);
    fill(receiving.store(), incoming, wanted, directory.headroom())?;
    Ok(receiving.finish()?)
}
