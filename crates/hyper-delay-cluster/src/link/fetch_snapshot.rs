//! Fetches a snapshot of a shard into a new store.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::{
    Endpoint,
    error::LinkError,
    fetch::{Incoming, pipe},
};
use crate::{
    Charter,
    log::Member,
    snapshot::{NotFilled, SnapshotRequest, fill},
};
use hyper_delay_fjall::{Embedded, replicas::NodeDirectory};
use hyper_delay_store::StoreError;

/// A snapshot was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotTaken {
    /// It did not come.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// It could not be written.
    #[error(transparent)]
    Filled(#[from] NotFilled),
    /// The new store cannot be used.
    #[error("the store for the snapshot: {}", .0.reason())]
    Store(#[from] StoreError),
    /// The thread has panicked.
    #[error("writing the snapshot has panicked")]
    Panicked,
}

/// Takes a snapshot of a shard from a node. Returns the store that is that of the shard from now
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
    endpoint: Arc<Endpoint>,
    from: &Member,
    (charter, wanted): (Charter, SnapshotRequest),
    directory: NodeDirectory,
) -> Result<Embedded, NotTaken> {
    let (sink, incoming) = pipe();
    let writing = spawn_blocking(move || write(&directory, incoming, (charter, wanted)));
    let fetched = endpoint.fetch(from, wanted, sink).await;
    let written = writing.await.unwrap_or(Err(NotTaken::Panicked));
    match (fetched, written) {
        // The disk is the reason why nobody took the rest.
        (Err(LinkError::NotTaken), Err(error)) => Err(error),
        (Err(error), _) => Err(error.into()),
        (Ok(()), written) => written,
    }
}

fn write(
    directory: &NodeDirectory,
    incoming: Incoming,
    (charter, wanted): (Charter, SnapshotRequest),
) -> Result<Embedded, NotTaken> {
    let receiving = directory.receive(wanted.shard.0)?;
    let wanted = (charter, wanted);
    fill(receiving.store(), incoming, wanted, directory.kept())?;
    Ok(receiving.finish()?)
}
