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

use super::{Shared, asker::read};
use crate::log_limit::{LogLimit, Warning};
use hyper_delay_archive::backup::Stream;
use hyper_delay_protocol::{Code, Refusal, Reply};
use hyper_delay_store::{ReadStore, StoreError};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::connection::backup";

/// The most backups that a server makes at a time.
pub(crate) const MOST: usize = 2;

/// A backup is dropped if no piece is asked for in this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most bytes of a piece.
const PIECE: usize = 192 << 10;

const FORBIDDEN: &str = "without tokens a backup is made for connections from this machine only: run \
    the command on the server's machine, with its loopback address, or set tokens";

const BUSY: &str =
    "as many backups are being made as may be at a time: ask again when one of them has ended";

/// The backup of a connection, if one is under way.
#[derive(Debug)]
pub(super) struct Backup {
    keeper: Option<Keeper>,
    /// The backup is dropped if no piece is asked for in this time.
    patience: Duration,
}

impl Default for Backup {
    fn default() -> Self {
        Self {
            keeper: None,
            patience: PATIENCE,
        }
    }
}

/// Receives a piece of the backup.
type Ask = oneshot::Sender<Result<Vec<u8>, StoreError>>;

/// What the task of a backup waits for, and how long.
struct Asks {
    received: mpsc::Receiver<Ask>,
    patience: Duration,
}

/// The task that keeps a backup.
#[derive(Debug)]
struct Keeper {
    asks: mpsc::Sender<Ask>,
    /// The position of the next piece.
    offset: u64,
    task: JoinHandle<()>,
}

impl Backup {
    /// Returns the piece from `offset` on. Position 0 begins a new backup.
    ///
    /// # Errors
    ///
    /// If the store cannot be read. The backup has ended then.
    pub(super) async fn piece<S: ReadStore>(
        &mut self,
        shared: &Arc<Shared<S>>,
        is_permitted: bool,
        offset: u64,
    ) -> Result<Reply, StoreError> {
        if !is_permitted {
            return Ok(refused(Code::Forbidden, FORBIDDEN));
        }
        if offset == 0 {
            if let Some(Keeper { asks, task, .. }) = self.keeper.take() {
                // Its task gives its permit back before it ends.
                drop(asks);
                let _ = task.await;
            }
            let Ok(permit) = shared.backups.clone().try_acquire_owned() else {
                return Ok(refused(Code::Busy, BUSY));
            };
            self.keeper = Some(begin(shared, permit, self.patience).await?);
        }
        let Some(keeper) = self.keeper.as_mut().filter(|it| it.offset == offset) else {
            return Ok(out_of_order(offset, self.keeper.as_ref()));
        };
        let (tell, told) = oneshot::channel();
        let asked = keeper.asks.send(tell).await;
        let Some(piece) = asked.ok().and(told.await.ok()) else {
            self.keeper = None;
            return Ok(out_of_order(offset, None));
        };
        let data = piece.inspect_err(|_| self.keeper = None)?;
        let more = !data.is_empty();
        match &mut self.keeper {
            Some(keeper) if more => keeper.offset += data.len() as u64,
            _ => self.keeper = None,
        }
        Ok(Reply::Backup {
            offset,
            data: data.into(),
            more,
        })
    }
}

/// Takes a snapshot and starts the task that keeps it.
async fn begin<S: ReadStore>(
    shared: &Arc<Shared<S>>,
    permit: OwnedSemaphorePermit,
    patience: Duration,
) -> Result<Keeper, StoreError> {
    let store = shared.store.clone();
    let now = shared.clock.now().wall_millis();
    let stream = read(move || Ok(Stream::begin(store.snapshot()?, now))).await?;
    tracing::info!(target: TARGET, "a backup was begun");
    let (asks, received) = mpsc::channel(1);
    let most = piece_of(shared.config.max_line_bytes);
    let logs = shared.logs.clone();
    let kept = keep(stream, most, Asks { received, patience }, permit, logs);
    Ok(Keeper {
        asks,
        offset: 0,
        task: tokio::spawn(kept),
    })
}

/// The bytes of a piece that fit into a line.
fn piece_of(line: usize) -> usize {
    /// The bytes around the base64.
    const LINE: usize = 256;
    (line.saturating_sub(LINE) / 4 * 3).clamp(3, PIECE)
}

async fn keep(
    mut stream: Stream,
    most: usize,
    mut asks: Asks,
    permit: OwnedSemaphorePermit,
    logs: Arc<LogLimit>,
) {
    let mut is_whole = false;
    loop {
        let ask = match timeout(asks.patience, asks.received.recv()).await {
            Ok(Some(ask)) => ask,
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
        let piece = read(move || {
            let piece = stream.next(most)?;
            Ok((stream, piece))
        });
        match piece.await {
            Ok((rest, piece)) => {
                stream = rest;
                is_whole = piece.is_empty();
                let _ = ask.send(Ok(piece));
            }
            Err(error) => {
                drop(permit);
                let _ = ask.send(Err(error));
                return;
            }
        }
    }
}

fn refused(code: Code, message: impl Into<String>) -> Reply {
    Reply::Error(Refusal::new(code, message))
}

fn out_of_order(offset: u64, keeper: Option<&Keeper>) -> Reply {
    let state = match keeper {
        Some(keeper) => format!("the next piece of the backup begins at {}", keeper.offset),
        None => "this connection has no backup under way (any more)".to_owned(),
    };
    refused(
        Code::BadField,
        format!("offset is {offset}, and {state}: begin again without offset"),
    )
}

#[cfg(test)]
mod tests;
