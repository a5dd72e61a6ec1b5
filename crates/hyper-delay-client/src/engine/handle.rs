use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::{Answer, Command, Outgoing, Sending};
use crate::RequestError;
use crate::settings::Settings;
use crate::wire::{Reply, Request, Tag};

/// An error shows at most this many bytes of an unexpected reply.
const TOLD: usize = 256;

/// Sends commands to the client's task, which ends after the last handle is dropped.
#[derive(Debug)]
pub(crate) struct Handle {
    commands: mpsc::UnboundedSender<Command>,
    tags: AtomicU64,
    room: Arc<Semaphore>,
    max_line_bytes: usize,
}

impl Handle {
    pub(crate) fn new(settings: &Settings, commands: mpsc::UnboundedSender<Command>) -> Self {
        Self {
            commands,
            tags: AtomicU64::new(0),
            room: Arc::new(Semaphore::new(settings.outstanding)),
            max_line_bytes: settings.max_line_bytes,
        }
    }

    /// Returns a tag that no other request has.
    pub(crate) fn tag(&self) -> Tag {
        Tag(self.tags.fetch_add(1, Ordering::Relaxed))
    }

    /// Sends a command. Returns false if the client is closed.
    pub(crate) fn command(&self, command: Command) -> bool {
        self.commands.send(command).is_ok()
    }

    /// Waits for room, sends a request and waits for the reply.
    pub(crate) async fn request<R: Reply>(
        &self,
        request: Request<'_>,
        sending: Sending,
    ) -> Result<R, RequestError> {
        let (reply, _) = self.request_by(request, sending).await?;
        Ok(reply)
    }

    /// Like [`request`](Self::request). Also returns the connection of the reply.
    pub(crate) async fn request_by<R: Reply>(
        &self,
        mut request: Request<'_>,
        sending: Sending,
    ) -> Result<(R, u64), RequestError> {
        // The credit bounds confirmed acks. If they waited for room, deliveries could stall.
        let room = match sending {
            Sending::On(_) => None,
            Sending::Again | Sending::Once | Sending::Next(_) => {
                let room = Arc::clone(&self.room).acquire_owned().await;
                Some(room.expect("the semaphore is never closed"))
            }
        };
        let tag = self.tag();
        request.tag = Some(tag);
        let line = request.line();
        self.check(&line)?;

        let (reply, answer) = oneshot::channel();
        let outgoing = Outgoing {
            tag,
            line,
            sending,
            reply,
            _room: room,
        };
        if !self.command(Command::Request(outgoing)) {
            return Err(RequestError::Closed);
        }
        // The client's task drops the sender when it ends.
        let answer = answer.await.unwrap_or(Err(RequestError::Closed));
        let Answer { connection, line } = answer?;
        Ok((understand(&line)?, connection))
    }

    /// Checks the length of a line that includes its end.
    pub(crate) fn check(&self, line: &[u8]) -> Result<(), RequestError> {
        let (bytes, limit) = (line.len() - 1, self.max_line_bytes);
        if bytes > limit {
            Err(RequestError::TooLong { bytes, limit })
        } else {
            Ok(())
        }
    }
}

fn understand<R: Reply>(line: &[u8]) -> Result<R, RequestError> {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }

    let garbled = |source| {
        let answer = String::from_utf8_lossy(&line[..line.len().min(TOLD)]).into_owned();
        RequestError::Garbled { answer, source }
    };
    let Kind { kind } = serde_json::from_slice(line).map_err(|error| garbled(Some(error)))?;
    if !R::KINDS.contains(&kind.as_str()) {
        return Err(garbled(None));
    }
    serde_json::from_slice(line).map_err(|error| garbled(Some(error)))
}
