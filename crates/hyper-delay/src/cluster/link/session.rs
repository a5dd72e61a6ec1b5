//! A link after its handshake.

use std::sync::{Mutex, PoisonError};

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
use crate::{clock::Now, cluster::ShardId};

/// The two directions of a link, and what is at this end.
#[derive(Debug)]
pub(super) struct Session<'a, R, W> {
    pub(super) frames: Frames<R>,
    pub(super) writer: W,
    pub(super) outbox: &'a Outbox,
    pub(super) clocks: &'a Clocks,
    /// The other side.
    pub(super) other: &'a Side,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Session<'_, R, W> {
    /// Writes what is in the outbox, and passes on what is read, until the link ends. Returns why.
    pub(super) async fn run<M: DeserializeOwned>(
        mut self,
        take: impl FnMut(ShardId, M) -> Result<(), LinkError>,
    ) -> LinkError {
        self.frames.allow(frame::LONGEST);
        let asked = Mutex::new(None);
        let reading = read(
            &mut self.frames,
            self.outbox,
            self.clocks,
            self.other,
            &asked,
            take,
        );
        let error = tokio::select! {
            error = reading => error,
            error = write(&mut self.writer, self.outbox) => error,
            error = self.outbox.ended() => error,
            never = ask(self.outbox, self.clocks, &asked) => match never {},
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
    asked: &Mutex<Option<Now>>,
    mut take: impl FnMut(ShardId, M) -> Result<(), LinkError>,
) -> LinkError {
    loop {
        let content = match frames.next().await {
            Ok(Some(content)) => content,
            Ok(None) => return LinkError::Closed,
            Err(error) => return LinkError::Broken(error),
        };
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
                let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(sent) = asked.take() {
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

/// Asks for the time of the other side, again only after it has answered.
async fn ask(
    outbox: &Outbox,
    clocks: &Clocks,
    asked: &Mutex<Option<Now>>,
) -> std::convert::Infallible {
    loop {
        {
            let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            if asked.is_none() {
                *asked = Some(clocks.now());
                outbox.append(&Frame::<()>::Clock);
                outbox.flush();
            }
        }
        time::sleep(clocks::PERIOD).await;
    }
}
