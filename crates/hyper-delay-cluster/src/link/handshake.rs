//! The handshake: each side identifies itself, and the accepting side answers whether it takes
//! the link.

use std::{fmt::Display, io, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    time::timeout,
};

use super::{
    error::LinkError,
    frame::{self, FrameReader},
};
use crate::{log::NodeName, snapshot::SnapshotRequest};

/// The version of what a link carries. It changes with every change of a message.
pub(super) const FORMAT: u32 = 4;

/// The version of this server.
pub(super) const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// The first bytes of every handshake.
const MAGIC: [u8; 8] = *b"hd-link\n";

/// The longest frame of a handshake in bytes.
pub(super) const LONGEST: usize = 4 << 10;

/// A handshake takes no longer, with that of TLS.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Begins a handshake, in every format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct HandshakePreface {
    magic: [u8; 8],
    format: u32,
    release: String,
    node: NodeName,
}

/// Follows the preface. A later release of the same format can append fields, which this one does not
/// read: so nodes can learn of each other what they know, before they send it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct HandshakeBody {
    cluster: u128,
    incarnation: LinkIncarnation,
    /// The node that is meant, as far as this one knows.
    to: Option<NodeName>,
    purpose: LinkPurpose,
    /// Why the side that was called does not take the link.
    refused: Option<String>,
}

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LinkPurpose {
    /// A link.
    Link,
    /// A snapshot of a shard.
    Snapshot(SnapshotRequest),
}

/// Which link of a node it is: later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct LinkIncarnation {
    /// When its process began, in Unix nanoseconds.
    pub(super) process: u64,
    /// The number of the link in its process.
    pub(super) link: u64,
}

/// A side of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HandshakeSide {
    pub(super) node: NodeName,
    pub(super) cluster: u128,
    pub(super) format: u32,
    pub(super) release: String,
    pub(super) incarnation: LinkIncarnation,
    /// The node that it wants to be linked to.
    pub(super) to: Option<NodeName>,
    /// The purpose of its connection.
    pub(super) purpose: LinkPurpose,
}

/// Why a side does not take the other one. The message is the cure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HandshakeRefusal {
    /// It speaks another version.
    #[error(
        "node {theirs} of hyper-delay {their_release} speaks version {their_format} of links, and \
         node {ours} of {our_release} speaks version {our_format}: upgrade node {older}"
    )]
    Format {
        /// The other side.
        theirs: NodeName,
        /// Its release.
        their_release: String,
        /// The version of its format.
        their_format: u32,
        /// This side.
        ours: NodeName,
        /// Its release.
        our_release: String,
        /// The version of its format.
        our_format: u32,
        /// The one with the lower version.
        older: NodeName,
    },
    /// It belongs to another cluster.
    #[error(
        "node {theirs} belongs to cluster {their_cluster:032x}, and node {ours} to {our_cluster:032x}: \
         correct `etcd` in the configuration of the one that is wrong, or `advertise`"
    )]
    Cluster {
        /// The other side.
        theirs: NodeName,
        /// Its cluster.
        their_cluster: u128,
        /// This side.
        ours: NodeName,
        /// Its cluster.
        our_cluster: u128,
    },
    /// It has the name of this node.
    #[error(
        "both sides are node {0}: give each node its own name as `node`, and its own address as \
         `advertise`"
    )]
    Itself(NodeName),
    /// It is another node than the one that is meant.
    #[error(
        "the link is for node {meant}, and the address is that of node {found}: correct `advertise` \
         of node {meant}"
    )]
    Other {
        /// The node that is meant.
        meant: NodeName,
        /// The one that is there.
        found: NodeName,
    },
    /// There is a newer link of a node with this name.
    #[error(
        "node {0} has a newer link already: if there are two processes with this name, give each \
         its own as `node`"
    )]
    Older(NodeName),
}

impl HandshakeSide {
    /// Decides whether this side takes the other one.
    pub(super) fn check(&self, other: &Self) -> Result<(), HandshakeRefusal> {
        if other.format != self.format {
            let older = if other.format < self.format {
                other
            } else {
                self
            };
            return Err(HandshakeRefusal::Format {
                theirs: other.node.clone(),
                their_release: other.release.clone(),
                their_format: other.format,
                ours: self.node.clone(),
                our_release: self.release.clone(),
                our_format: self.format,
                older: older.node.clone(),
            });
        }
        if other.cluster != self.cluster {
            return Err(HandshakeRefusal::Cluster {
                theirs: other.node.clone(),
                their_cluster: other.cluster,
                ours: self.node.clone(),
                our_cluster: self.cluster,
            });
        }
        if other.node == self.node {
            return Err(HandshakeRefusal::Itself(self.node.clone()));
        }
        for (from, to) in [(self, other), (other, self)] {
            if let Some(meant) = from.to.as_ref().filter(|meant| **meant != to.node) {
                return Err(HandshakeRefusal::Other {
                    meant: meant.clone(),
                    found: to.node.clone(),
                });
            }
        }
        Ok(())
    }
}

/// Calls another node. Returns it, if both sides take the link.
pub(super) async fn call<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    frames: &mut FrameReader<R>,
    writer: &mut W,
    ours: &HandshakeSide,
) -> Result<HandshakeSide, LinkError> {
    with_timeout(async {
        send(writer, ours, None).await?;
        let (theirs, refused) = receive(frames, ours).await?;
        ours.check(&theirs)?;
        match refused {
            None => Ok(theirs),
            Some(reason) => Err(LinkError::RefusedByPeer(reason)),
        }
    })
    .await
}

/// Waits for a node that calls. It is to be [answered](answer).
pub(super) async fn wait<R: AsyncRead + Unpin>(
    frames: &mut FrameReader<R>,
    ours: &HandshakeSide,
) -> Result<HandshakeSide, LinkError> {
    with_timeout(receive(frames, ours))
        .await
        .map(|(theirs, _)| theirs)
}

/// Answers a node that has called.
pub(super) async fn answer<W: AsyncWrite + Unpin>(
    writer: &mut W,
    ours: &HandshakeSide,
    refused: Option<&(dyn Display + Sync)>,
) -> Result<(), LinkError> {
    with_timeout(send(writer, ours, refused)).await
}

/// Limits the time of a handshake.
pub(super) async fn with_timeout<T>(
    part: impl Future<Output = Result<T, LinkError>>,
) -> Result<T, LinkError> {
    timeout(PATIENCE, part)
        .await
        .unwrap_or(Err(LinkError::Slow))
}

async fn send<W: AsyncWrite + Unpin>(
    writer: &mut W,
    ours: &HandshakeSide,
    refused: Option<&(dyn Display + Sync)>,
) -> Result<(), LinkError> {
    let preface = HandshakePreface {
        magic: MAGIC,
        format: ours.format,
        release: ours.release.clone(),
        node: ours.node.clone(),
    };
    let rest = HandshakeBody {
        cluster: ours.cluster,
        incarnation: ours.incarnation,
        to: ours.to.clone(),
        purpose: ours.purpose,
        refused: refused.map(ToString::to_string),
    };
    let mut out = Vec::new();
    frame::append(&(preface, rest), &mut out).map_err(LinkError::TooLong)?;
    writer.write_all(&out).await.map_err(broken)?;
    writer.flush().await.map_err(broken)
}

/// The connection broke during the handshake.
fn broken(error: io::Error) -> LinkError {
    match error.kind() {
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => LinkError::HungUp,
        _ => LinkError::Broken(error),
    }
}

fn is_tls_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|it| it.is::<rustls::Error>())
}

/// Returns the other side, and why it refuses the link if it does.
async fn receive<R: AsyncRead + Unpin>(
    frames: &mut FrameReader<R>,
    ours: &HandshakeSide,
) -> Result<(HandshakeSide, Option<String>), LinkError> {
    let content = match frames.next().await {
        Ok(Some(content)) => content,
        Ok(None) => return Err(LinkError::HungUp),
        // With TLS 1.3 the side that connects learns of a refused certificate only now.
        Err(error) if is_tls_error(&error) => return Err(LinkError::Tls(error)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(LinkError::NotANode);
        }
        Err(error) => return Err(broken(error)),
    };
    let (preface, rest) =
        postcard::take_from_bytes::<HandshakePreface>(&content).map_err(|_| LinkError::NotANode)?;
    if preface.magic != MAGIC {
        return Err(LinkError::NotANode);
    }
    let mut theirs = HandshakeSide {
        node: preface.node,
        cluster: ours.cluster,
        format: preface.format,
        release: preface.release,
        incarnation: ours.incarnation,
        to: None,
        purpose: LinkPurpose::Link,
    };
    if theirs.format != ours.format {
        // What follows is of another format.
        return Ok((theirs, None));
    }
    let (rest, _) =
        postcard::take_from_bytes::<HandshakeBody>(rest).map_err(|_| LinkError::NotANode)?;
    theirs.cluster = rest.cluster;
    theirs.incarnation = rest.incarnation;
    theirs.to = rest.to;
    theirs.purpose = rest.purpose;
    Ok((theirs, rest.refused))
}
