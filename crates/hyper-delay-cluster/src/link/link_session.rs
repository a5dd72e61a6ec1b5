//! A link after its handshake.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::de::DeserializeOwned;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    time,
};

use super::{
    error::LinkError,
    frame::{self, Frame, FrameReader},
    handshake::{self, HandshakeSide},
    outbox::{LinkOutbox, OutboxClosed},
    peer_clocks::{self, PeerClocks},
};
use crate::ShardId;
use hyper_delay_engine::clock::Now;

/// The number of questions in a row without an answer after which a link ends.
const QUESTIONS: u32 = 4;

/// The two directions of a link, and what is at this end.
#[derive(Debug)]
pub(super) struct LinkSession<'a, R, W> {
    pub(super) frames: FrameReader<R>,
    pub(super) writer: W,
    pub(super) outbox: &'a LinkOutbox,
    pub(super) clocks: &'a PeerClocks,
    /// The other side.
    pub(super) other: &'a HandshakeSide,
    /// The link ends when the other side sends nothing for this long, or for [`QUESTIONS`]
    /// periods of [`peer_clocks::PERIOD`] if that is shorter.
    pub(super) silence: Duration,
}

/// The liveness of the other side, by questions for its time.
#[derive(Debug, Default)]
struct ClockProbe {
    /// When it was asked for its time, if it has not answered.
    asked_at: Option<Now>,
    /// The number of questions since it has sent anything.
    unanswered: u32,
}

fn lock(probe: &Mutex<ClockProbe>) -> MutexGuard<'_, ClockProbe> {
    probe.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> LinkSession<'_, R, W> {
    /// Writes what is in the outbox, and passes on what is read, until the link ends. Returns why.
    pub(super) async fn run<M: DeserializeOwned>(
        mut self,
        on_message: impl FnMut(ShardId, M) -> Result<(), LinkError>,
    ) -> LinkError {
        self.frames.allow(frame::LONGEST);
        let probe = Mutex::default();
        let reading = read(
            &mut self.frames,
            self.outbox,
            self.clocks,
            self.other,
            &probe,
            on_message,
        );
        let error = tokio::select! {
            error = reading => error,
            error = write(&mut self.writer, self.outbox) => error,
            error = self.outbox.closed() => error,
            error = probe_clock(self.outbox, self.clocks, &probe, self.silence) => error,
        };
        self.outbox.close(OutboxClosed::LinkEnded);
        error
    }
}

async fn read<R: AsyncRead + Unpin, M: DeserializeOwned>(
    frames: &mut FrameReader<R>,
    outbox: &LinkOutbox,
    clocks: &PeerClocks,
    other: &HandshakeSide,
    probe: &Mutex<ClockProbe>,
    mut on_message: impl FnMut(ShardId, M) -> Result<(), LinkError>,
) -> LinkError {
    loop {
        let content = match frames.next().await {
            Ok(Some(content)) => content,
            Ok(None) => return LinkError::Closed,
            Err(error) => return LinkError::Broken(error),
        };
        lock(probe).unanswered = 0;
        match frame::decode::<Frame<M>>(&content) {
            Ok(Frame::Message(shard, message)) => {
                if let Err(error) = on_message(shard, message) {
                    return error;
                }
            }
            Ok(Frame::ClockRequest) => {
                outbox.append(&Frame::<()>::ClockReply(clocks.now().wall_nanos));
                outbox.flush();
            }
            Ok(Frame::ClockReply(wall_nanos)) => {
                if let Some(sent) = lock(probe).asked_at.take() {
                    clocks.record(&other.node, sent, wall_nanos);
                }
            }
            Err(source) => {
                return LinkError::Undecodable {
                    node: other.node.clone(),
                    theirs: other.release.clone(),
                    ours: handshake::RELEASE,
                    source,
                };
            }
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(writer: &mut W, outbox: &LinkOutbox) -> LinkError {
    let mut bytes = Vec::new();
    loop {
        outbox.take(&mut bytes).await;
        let written = async {
            writer.write_all(&bytes).await?;
            writer.flush().await
        };
        if let Err(error) = written.await {
            return LinkError::Broken(error);
        }
    }
}

/// Asks for the time of the other side, again only after it has answered. Returns when it has said
/// nothing for too long: what is between the nodes can keep a connection open that leads nowhere.
async fn probe_clock(
    outbox: &LinkOutbox,
    clocks: &PeerClocks,
    probe: &Mutex<ClockProbe>,
    silence: Duration,
) -> LinkError {
    // Counted in questions, so that a process that was stopped does not take its own time for that
    // of the other side.
    let period = peer_clocks::PERIOD.min(silence / QUESTIONS);
    loop {
        {
            let mut probe = lock(probe);
            if probe.unanswered >= QUESTIONS {
                return LinkError::Silent(period * QUESTIONS);
            }
            probe.unanswered += 1;
            if probe.asked_at.is_none() {
                probe.asked_at = Some(clocks.now());
                outbox.append(&Frame::<()>::ClockRequest);
                outbox.flush();
            }
        }
        time::sleep(period).await;
    }
}
