//! Receives a snapshot from another node.

use std::{
    io::{self, Read},
    sync::Arc,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc::{Receiver, Sender, channel},
};

use super::{
    LinkEndpoint,
    error::LinkError,
    frame::FrameReader,
    handshake::{self, LinkPurpose},
    snapshot_chunk::{self, SnapshotChunk},
};
use crate::{log::Member, snapshot::SnapshotRequest};

/// Pieces that were received and not written.
const WAITING: usize = 4;

/// Where a snapshot goes.
#[derive(Debug)]
pub(crate) struct SnapshotSink(Sender<Vec<u8>>);

/// Reads a snapshot while it comes. Blocks.
#[derive(Debug)]
pub(crate) struct SnapshotReader {
    pieces: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    taken: usize,
    is_over: bool,
}

/// Creates the two ends of a snapshot on this node. An empty piece is its end.
pub(crate) fn pipe() -> (SnapshotSink, SnapshotReader) {
    let (sender, pieces) = channel(WAITING);
    let incoming = SnapshotReader {
        pieces,
        piece: Vec::new(),
        taken: 0,
        is_over: false,
    };
    (SnapshotSink(sender), incoming)
}

impl Read for SnapshotReader {
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

impl LinkEndpoint {
    /// Fetches a snapshot from a node.
    ///
    /// # Errors
    ///
    /// If the node refuses, fails or cannot be reached, or if the receiver of the snapshot is gone.
    ///
    /// # Cancel safety
    ///
    /// The other side of `sink` finds that the snapshot is cut off.
    pub(crate) async fn receive_snapshot(
        &self,
        from: &Member,
        wanted: SnapshotRequest,
        sink: SnapshotSink,
    ) -> Result<(), LinkError> {
        let stream = self.connect(&from.address).await?;
        match &self.setup.tls {
            None => self.receive_chunks(stream, from, wanted, sink).await,
            Some(tls) => {
                let stream = handshake::with_timeout(tls.connect(&from.address, stream)).await?;
                self.receive_chunks(stream, from, wanted, sink).await
            }
        }
    }

    async fn receive_chunks(
        &self,
        stream: impl AsyncRead + AsyncWrite,
        from: &Member,
        wanted: SnapshotRequest,
        SnapshotSink(sink): SnapshotSink,
    ) -> Result<(), LinkError> {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut frames = FrameReader::new(reader, handshake::LONGEST);
        let ours = self.side(Some(Arc::clone(&from.node)), LinkPurpose::Snapshot(wanted));
        handshake::call(&mut frames, &mut writer, &ours).await?;
        frames.allow(snapshot_chunk::LONGEST);
        loop {
            let content = snapshot_chunk::next(&mut frames).await?;
            let (piece, is_last) =
                match SnapshotChunk::decode(&content).ok_or(LinkError::NotANode)? {
                    SnapshotChunk::Bytes([]) => continue,
                    SnapshotChunk::Bytes(bytes) => (bytes.to_vec(), false),
                    SnapshotChunk::End => (Vec::new(), true),
                    SnapshotChunk::Failure(reason) => {
                        return Err(LinkError::EndsEarly(reason.to_owned()));
                    }
                };
            sink.send(piece)
                .await
                .map_err(|_| LinkError::ReceiverGone)?;
            if is_last {
                return Ok(());
            }
        }
    }
}
