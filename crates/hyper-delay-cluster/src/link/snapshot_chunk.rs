//! A snapshot on a connection, after the handshake.
//!
//! ```text
//! piece    = length: u32, kind: u8, content
//! snapshot = (bytes piece)* , end piece | failure piece
//! ```
//!
//! The bytes are those of a [backup](hyper_delay_archive::backup), whose checksums and end say whether it is
//! whole.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    time::timeout,
};

use super::{error::LinkError, frame::FrameReader};

/// The longest piece in bytes.
pub(super) const LONGEST: usize = 1 << 20;

/// A snapshot that does not move for this long has failed. TCP does not notice a process that is
/// stopped.
pub(super) const STALL: Duration = Duration::from_secs(30);

/// A part of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SnapshotChunk<'a> {
    /// Some of its bytes.
    Bytes(&'a [u8]),
    /// All were sent.
    End,
    /// It cannot be completed, for this reason.
    Failure(&'a str),
}

impl<'a> SnapshotChunk<'a> {
    fn parts(&self) -> (u8, &[u8]) {
        match self {
            Self::Bytes(bytes) => (b'b', bytes),
            Self::End => (b'e', b""),
            Self::Failure(reason) => (b'f', reason.as_bytes()),
        }
    }

    pub(super) fn decode(content: &'a [u8]) -> Option<Self> {
        match content.split_first()? {
            (b'b', bytes) => Some(Self::Bytes(bytes)),
            (b'e', []) => Some(Self::End),
            (b'f', reason) => str::from_utf8(reason).ok().map(Self::Failure),
            _ => None,
        }
    }

    /// Writes the piece, if the other side takes it in time.
    pub(super) async fn send(
        &self,
        writer: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), LinkError> {
        let (kind, content) = self.parts();
        let length = u32::try_from(content.len() + 1).expect("a piece is short");
        let sending = async {
            writer.write_all(&length.to_le_bytes()).await?;
            writer.write_all(&[kind]).await?;
            writer.write_all(content).await?;
            writer.flush().await
        };
        in_time(sending).await
    }
}

/// Reads the next piece.
pub(super) async fn next(
    frames: &mut FrameReader<impl AsyncRead + Unpin>,
) -> Result<impl std::ops::Deref<Target = [u8]>, LinkError> {
    in_time(frames.next()).await?.ok_or(LinkError::Closed)
}

async fn in_time<T>(part: impl Future<Output = io::Result<T>>) -> Result<T, LinkError> {
    match timeout(STALL, part).await {
        Ok(result) => result.map_err(LinkError::Broken),
        Err(_) => Err(LinkError::Stalled(STALL)),
    }
}
