//! Sends a snapshot to a node that has connected.

use tokio::{
    io::AsyncWrite,
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep_until},
};

use super::{
    error::LinkError,
    handshake::{self, HandshakeSide},
    snapshot_chunk::SnapshotChunk,
};
use crate::snapshot::SnapshotStream;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::link::give";

/// Bytes that a node sends in a second: its disk and its processors are there for its shards first.
const RATE: u64 = 32 << 20;

/// Answers the call, and sends the snapshot. Returns why it has ended.
pub(super) async fn run(
    given: Result<SnapshotStream, LinkError>,
    (ours, other): (&HandshakeSide, &HandshakeSide),
    writer: &mut (impl AsyncWrite + Unpin),
    permit: OwnedSemaphorePermit,
) -> LinkError {
    let refused = given.as_ref().err().map(|it| it as _);
    if let Err(error) = handshake::answer(writer, ours, refused).await {
        return error;
    }
    drop(permit);
    let sent = match given {
        Ok(given) => {
            tracing::info!(
                target: TARGET,
                node = %other.node,
                "a node takes a snapshot from this one",
            );
            send(given, writer).await
        }
        Err(error) => Err(error),
    };
    sent.map_or_else(|error| error, LinkError::SnapshotSent)
}

/// Returns the number of bytes.
async fn send(
    mut given: SnapshotStream,
    writer: &mut (impl AsyncWrite + Unpin),
) -> Result<u64, LinkError> {
    let mut bytes = 0;
    // Time that the other side has needed is not made up for.
    let mut next = Instant::now();
    loop {
        let piece = match given.next().await {
            Ok(piece) => piece,
            Err(error) => {
                let reason = error.to_string();
                SnapshotChunk::Failure(&reason).send(writer).await?;
                return Err(error.into());
            }
        };
        if piece.is_empty() {
            SnapshotChunk::End.send(writer).await?;
            return Ok(bytes);
        }
        sleep_until(next).await;
        let length = piece.len() as u64;
        next = next.max(Instant::now())
            + std::time::Duration::from_nanos(length * 1_000_000_000 / RATE);
        SnapshotChunk::Bytes(&piece).send(writer).await?;
        bytes += length;
    }
}
