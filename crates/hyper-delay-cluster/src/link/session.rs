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
    clocks::{self, Clocks},
    error::LinkError,
    frame::{self, Frame, Frames},
    hello::{self, Side},
    outbox::{End, Outbox},
};
use crate::ShardId;
use hyper_delay_engine::clock::Now;

/// The number of questions in a row without an answer after which a link ends.
const QUESTIONS: u32 = 4;

/// The two directions of a link, and what is at this end.
#[derive(Debug)]
pub(super) struct Session<'a, R, W> {
    pub(super) frames: Frames<R>,
    pub(super) writer: W,
    pub(super) outbox: &'a Outbox,
    pub(super) clocks: &'a Clocks,
    /// The other side.
    pub(super) other: &'a Side,
    /// The link ends when the other side says nothing for this long, or for [`QUESTIONS`] periods of
    /// [`clocks::PERIOD`] if that is shorter.
    pub(super) silence: Duration,
}

/// What is known of the other side.
#[derive(Debug, Default)]
struct Heard {
    /// When it was asked for its time, if it has not answered.
    asked: Option<Now>,
    /// How often it was asked since it has said something.
    questions: u32,
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Session<'_, R, W> {
    /// Writes what is in the outbox, and passes on what is read, until the link ends. Returns why.
    pub(super) async fn run<M: DeserializeOwned>(
        mut self,
        take: impl FnMut(ShardId, M) -> Result<(), LinkError>,
    ) -> LinkError {
        self.frames.allow(frame::LONGEST);
        let heard = Mutex::default();
        let reading = read(
            &mut self.frames,
            self.outbox,
            self.clocks,
            self.other,
            &heard,
            take,
        );
        let error = tokio::select! {
            error = reading => error,
            error = write(&mut self.writer, self.outbox) => error,
            error = self.outbox.ended() => error,
            error = ask(self.outbox, self.clocks, &heard, self.silence) => error,
        };
        self.outbox.end(End::Over);
        error
    }
}

async fn read<R: AsyncRead + Unpin, M: DeserializeOwned>(
    frames: &mut Frames<R>,
    outbox: &Outbox,
    clocks: &Clocks,
    other: &Side,
    heard: &Mutex<Heard>,
    mut take: impl FnMut(ShardId, M) -> Result<(), LinkError>,
) -> LinkError {
    loop {
        let content = match frames.next().await {
            Ok(Some(content)) => content,
            Ok(None) => return LinkError::Closed,
            Err(error) => return LinkError::Broken(error),
        };
        lock(heard).questions = 0;
        match frame::decode::<Frame<M>>(&content) {
            Ok(Frame::Of(shard, message)) => {
                if let Err(error) = take(shard, message) {
                    return error;
                }
            }
            Ok(Frame::Clock) => {
                outbox.append(&Frame::<()>::Time(clocks.now().wall_nanos));
                outbox.flush();
            }
            Ok(Frame::Time(wall_nanos)) => {
                if let Some(sent) = lock(heard).asked.take() {
                    clocks.heard(&other.node, sent, wall_nanos);
                }
            }
            Err(source) => {
                return LinkError::Undecodable {
                    node: other.node.clone(),
                    theirs: other.release.clone(),
                    ours: hello::RELEASE,
                    source,
                };
            }
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(writer: &mut W, outbox: &Outbox) -> LinkError {
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
async fn ask(
    outbox: &Outbox,
    clocks: &Clocks,
    heard: &Mutex<Heard>,
    silence: Duration,
) -> LinkError {
    // Counted in questions, so that a process that was stopped does not take its own time for that
    // of the other side.
    let period = clocks::PERIOD.min(silence / QUESTIONS);
    loop {
        {
            let mut heard = lock(heard);
            if heard.questions >= QUESTIONS {
                return LinkError::Silent(period * QUESTIONS);
            }
            heard.questions += 1;
            if heard.asked.is_none() {
                heard.asked = Some(clocks.now());
                outbox.append(&Frame::<()>::Clock);
                outbox.flush();
            }
        }
        time::sleep(period).await;
    }
}
