//! The backup that a connection asks for, piece by piece.
//!
//! A client asks for the next piece when it has stored the one before, so a slow one needs no
//! memory here. A task of its own keeps the snapshot, and drops it if the client does not ask in
//! time: tables that were compacted away stay on the disk until then.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use super::{ConnectionContext, responder::read_blocking};
use crate::log_limit::{LogLimit, Warning};
use hyper_delay_archive::backup::BackupStream;
use hyper_delay_protocol::{Code, Refusal, Reply};
use hyper_delay_store::{ReadStore, StoreError};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::connection::backup";

/// The most backups that a server makes at a time.
pub(crate) const MAX_BACKUPS: usize = 2;

/// A backup is dropped if no piece is asked for in this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The most bytes of a piece.
const MAX_PIECE_BYTES: usize = 192 << 10;

const FORBIDDEN: &str = "without tokens a backup is made for connections from this machine only: run \
    the command on the server's machine, with its loopback address, or set tokens";

const BUSY: &str =
    "as many backups are being made as may be at a time: ask again when one of them has ended";

/// The backup of a connection, if it makes one.
#[derive(Debug)]
pub(super) struct BackupSession {
    snapshot: Option<SnapshotTask>,
    /// The backup is dropped if no piece is asked for in this time.
    idle_timeout: Duration,
}

impl Default for BackupSession {
    fn default() -> Self {
        Self {
            snapshot: None,
            idle_timeout: IDLE_TIMEOUT,
        }
    }
}

/// Receives a piece of the backup.
type PieceSender = oneshot::Sender<Result<Vec<u8>, StoreError>>;

/// The requests that the task of a backup waits for, and its idle timeout.
struct PieceRequests {
    received: mpsc::Receiver<PieceSender>,
    idle_timeout: Duration,
}

/// The task that keeps a backup.
#[derive(Debug)]
struct SnapshotTask {
    requests: mpsc::Sender<PieceSender>,
    /// The position of the next piece.
    offset: u64,
    task: JoinHandle<()>,
}

impl BackupSession {
    /// Returns the piece from `offset` on. Position 0 begins a new backup.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. The backup has ended then.
    pub(super) async fn piece<S: ReadStore>(
        &mut self,
        shared: &Arc<ConnectionContext<S>>,
        is_permitted: bool,
        offset: u64,
    ) -> Result<Reply, StoreError> {
        if !is_permitted {
            return Ok(refused(Code::Forbidden, FORBIDDEN));
        }
        if offset == 0 {
            if let Some(SnapshotTask { requests, task, .. }) = self.snapshot.take() {
                // Its task gives its permit back before it ends.
                drop(requests);
                let _ = task.await;
            }
            let Ok(permit) = shared.backups.clone().try_acquire_owned() else {
                return Ok(refused(Code::Busy, BUSY));
            };
            self.snapshot = Some(take_snapshot(shared, permit, self.idle_timeout).await?);
        }
        let Some(snapshot) = self.snapshot.as_mut().filter(|it| it.offset == offset) else {
            return Ok(out_of_order(offset, self.snapshot.as_ref()));
        };
        let (sender, piece) = oneshot::channel();
        let sent = snapshot.requests.send(sender).await;
        let Some(piece) = sent.ok().and(piece.await.ok()) else {
            self.snapshot = None;
            return Ok(out_of_order(offset, None));
        };
        let data = piece.inspect_err(|_| self.snapshot = None)?;
        let more = !data.is_empty();
        match &mut self.snapshot {
            Some(snapshot) if more => snapshot.offset += data.len() as u64,
            _ => self.snapshot = None,
        }
        Ok(Reply::Backup {
            offset,
            data: data.into(),
            more,
        })
    }
}

/// Takes a snapshot and starts the task that keeps it.
async fn take_snapshot<S: ReadStore>(
    shared: &Arc<ConnectionContext<S>>,
    permit: OwnedSemaphorePermit,
    idle_timeout: Duration,
) -> Result<SnapshotTask, StoreError> {
    let store = shared.store.clone();
    let now = shared.clock.now().wall_millis();
    let stream = read_blocking(move || Ok(BackupStream::begin(store.snapshot()?, now))).await?;
    tracing::info!(target: TARGET, "a backup was begun");
    let (requests, received) = mpsc::channel(1);
    let most = piece_bytes(shared.config.max_line_bytes);
    let logs = shared.logs.clone();
    let serving = serve_pieces(
        stream,
        most,
        PieceRequests {
            received,
            idle_timeout,
        },
        permit,
        logs,
    );
    Ok(SnapshotTask {
        requests,
        offset: 0,
        task: tokio::spawn(serving),
    })
}

/// The bytes of a piece that fit into a line.
fn piece_bytes(line: usize) -> usize {
    /// The bytes around the base64.
    const LINE: usize = 256;
    (line.saturating_sub(LINE) / 4 * 3).clamp(3, MAX_PIECE_BYTES)
}

async fn serve_pieces(
    mut stream: BackupStream,
    most: usize,
    mut requests: PieceRequests,
    permit: OwnedSemaphorePermit,
    logs: Arc<LogLimit>,
) {
    let mut is_whole = false;
    loop {
        let reply = match timeout(requests.idle_timeout, requests.received.recv()).await {
            Ok(Some(reply)) => reply,
            Ok(None) if is_whole => {
                tracing::info!(
                    target: TARGET,
                    bytes = stream.offset(),
                    "a backup was read to its end",
                );
                return;
            }
            Ok(None) => {
                let bytes = stream.offset();
                logs.warn(Warning::Backup, format_args!("after {bytes} bytes"));
                return;
            }
            Err(_) => {
                tracing::warn!(
                    target: TARGET,
                    "a backup was dropped: no piece of it was asked for in time",
                );
                return;
            }
        };
        let piece = read_blocking(move || {
            let piece = stream.next(most)?;
            Ok((stream, piece))
        });
        match piece.await {
            Ok((rest, piece)) => {
                stream = rest;
                is_whole = piece.is_empty();
                let _ = reply.send(Ok(piece));
            }
            Err(error) => {
                drop(permit);
                let _ = reply.send(Err(error));
                return;
            }
        }
    }
}

fn refused(code: Code, message: impl Into<String>) -> Reply {
    Reply::Error(Refusal::new(code, message))
}

fn out_of_order(offset: u64, snapshot: Option<&SnapshotTask>) -> Reply {
    let state = match snapshot {
        Some(snapshot) => format!("the next piece of the backup begins at {}", snapshot.offset),
        None => "this connection has no backup under way (any more)".to_owned(),
    };
    refused(
        Code::BadField,
        format!("offset is {offset}, and {state}: begin again without offset"),
    )
}

#[cfg(test)]
mod tests;
