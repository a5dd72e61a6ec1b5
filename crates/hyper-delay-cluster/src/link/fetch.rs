//! Takes a snapshot from another node.

use std::{
    io::{self, Read},
    sync::Arc,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc::{Receiver, Sender, channel},
};

use super::{
    Endpoint,
    error::LinkError,
    frame::Frames,
    hello::{self, Purpose},
    pieces::{self, Piece},
};
use crate::{log::Member, snapshot::SnapshotRequest};

/// Pieces that were received and not written.
const WAITING: usize = 4;

/// Where a snapshot goes.
#[derive(Debug)]
pub(crate) struct Sink(Sender<Vec<u8>>);

/// Reads a snapshot while it comes. Blocks.
#[derive(Debug)]
pub(crate) struct Incoming {
    pieces: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    taken: usize,
    is_over: bool,
}

/// Creates the two ends of a snapshot on this node. An empty piece is its end.
pub(crate) fn pipe() -> (Sink, Incoming) {
    let (sender, pieces) = channel(WAITING);
    let incoming = Incoming {
        pieces,
        piece: Vec::new(),
        taken: 0,
        is_over: false,
    };
    (Sink(sender), incoming)
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.piece.len() && !self.is_over {
            // Without an end it was cut off.
            let piece = self.pieces.blocking_recv();
            self.piece = piece.ok_or(io::ErrorKind::UnexpectedEof)?;
            self.taken = 0;
            self.is_over = self.piece.is_empty();
        }
        let read = (&self.piece[self.taken..]).read(buffer)?;
        self.taken += read;
        Ok(read)
    }
}

impl Endpoint {
    /// Fetches a snapshot from a node.
    ///
    /// # Errors
    ///
    /// If the node refuses, fails or cannot be reached, or if the receiver of the snapshot is gone.
    ///
    /// # Cancel safety
    ///
    /// The other side of `sink` finds that the snapshot is cut off.
    pub(crate) async fn fetch(
        &self,
        from: &Member,
        wanted: SnapshotRequest,
        sink: Sink,
    ) -> Result<(), LinkError> {
        let stream = self.connect(&from.address).await?;
        match &self.setup.tls {
            None => self.receive(stream, from, wanted, sink).await,
            Some(tls) => {
                let stream = hello::within(tls.connect(&from.address, stream)).await?;
                self.receive(stream, from, wanted, sink).await
            }
        }
    }

    async fn receive(
        &self,
        stream: impl AsyncRead + AsyncWrite,
        from: &Member,
        wanted: SnapshotRequest,
        Sink(sink): Sink,
    ) -> Result<(), LinkError> {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut frames = Frames::new(reader, hello::LONGEST);
        let ours = self.side(Some(Arc::clone(&from.node)), Purpose::Snapshot(wanted));
        hello::call(&mut frames, &mut writer, &ours).await?;
        frames.allow(pieces::LONGEST);
        loop {
            let content = pieces::next(&mut frames).await?;
            let (piece, is_last) = match Piece::decode(&content).ok_or(LinkError::NotANode)? {
                Piece::Bytes([]) => continue,
                Piece::Bytes(bytes) => (bytes.to_vec(), false),
                Piece::End => (Vec::new(), true),
                Piece::Failure(reason) => return Err(LinkError::EndsEarly(reason.to_owned())),
            };
            sink.send(piece).await.map_err(|_| LinkError::NotTaken)?;
            if is_last {
                return Ok(());
            }
        }
    }
}
