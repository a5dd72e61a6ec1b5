//! Why a link ends.

use std::{io, sync::Arc, time::Duration};

use super::{frame::FrameTooLong, handshake::HandshakeRefusal};
use crate::{log::NodeName, snapshot::SnapshotUnavailable};

/// Why a link has ended or could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// The other side has ended it.
    #[error("the other side has closed it")]
    Closed,
    /// It is broken.
    #[error("it is broken: {0}")]
    Broken(#[source] io::Error),
    /// There is no connection.
    #[error(
        "{address} cannot be reached: {source}; correct `advertise` of that node, or let the network \
         pass this port"
    )]
    Unreachable {
        /// Where the node is to be.
        address: Arc<str>,
        /// The error of the operating system.
        source: io::Error,
    },
    /// There is no connection after some time.
    #[error(
        "{0} does not answer: start that node, correct its `advertise`, or let the network pass this \
         port"
    )]
    NoAnswer(Arc<str>),
    /// The handshake of TLS has failed.
    #[error(
        "the handshake of TLS has failed: {0}; give every node of the cluster a certificate that \
         is signed by `ca` and names the host of its `advertise`, and `tls` to all nodes or none"
    )]
    Tls(#[source] io::Error),
    /// The address has no host that a certificate can name.
    #[error("{0} has no host that a certificate can name: give host:port as `advertise`")]
    NoHost(Arc<str>),
    /// The handshake has taken too long.
    #[error(
        "the handshake has taken too long: it is no node of a cluster, is overloaded, or one side \
         has `tls` and the other one has not"
    )]
    Slow,
    /// The other side has ended the connection before the handshake.
    #[error(
        "the connection was closed before the handshake: only one of the two nodes has `tls`, \
         `advertise` leads to another port, or the other node is ending"
    )]
    HungUp,
    /// The received bytes are no handshake.
    #[error(
        "what came is not from a node of a cluster: `advertise` leads to another port, or only one \
         of the two nodes has `tls`"
    )]
    NotANode,
    /// This side does not take the other one.
    #[error("this node refuses it: {0}")]
    Refused(#[from] HandshakeRefusal),
    /// The other side does not take this one, for this reason.
    #[error("the other side refuses it: {0}")]
    RefusedByPeer(String),
    /// A frame cannot be decoded.
    #[error(
        "a frame of node {node} cannot be decoded ({source}): it runs hyper-delay {theirs}, and \
         this node runs {ours}; if the versions are the same, the network damages what it carries: \
         use `tls`"
    )]
    Undecodable {
        /// The other side.
        node: NodeName,
        /// Its version.
        theirs: String,
        /// The version of this side.
        ours: &'static str,
        /// The error.
        source: postcard::Error,
    },
    /// There is no such shard.
    #[error("node {node} says something of shard {shard}, which this cluster has not")]
    NoShard {
        /// The other side.
        node: NodeName,
        /// The number.
        shard: u16,
    },
    /// The other side does not read.
    #[error("more than {0} bytes wait to be sent: the other side does not read them")]
    TooSlow(usize),
    /// Nothing comes from the other side.
    #[error(
        "nothing has come over it for {0:?}: the other node is stopped or overloaded, or what is \
         between the nodes drops what it should pass on"
    )]
    Silent(Duration),
    /// A message has no room in a frame.
    #[error(transparent)]
    TooLong(FrameTooLong),
    /// This node sends no snapshot.
    #[error(transparent)]
    SnapshotUnavailable(#[from] SnapshotUnavailable),
    /// The other side could not complete its snapshot.
    #[error("the snapshot of the other side ends early: {0}")]
    EndsEarly(String),
    /// The receiver of the snapshot is gone.
    #[error("the snapshot is not taken any more")]
    ReceiverGone,
    /// Nothing of a snapshot could be sent, or came, for some time.
    #[error("nothing of the snapshot moved for {0:?}")]
    Stalled(Duration),
    /// A snapshot was sent.
    #[error("a snapshot of {0} bytes was given")]
    SnapshotSent(u64),
    /// The node has a newer link.
    #[error("a newer link of the same node took its place")]
    Replaced,
}

/// Why a node does not listen for links.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkListenError {
    /// Other machines can reach it, and nothing authenticates them.
    #[error(
        "{0} is for links from other machines, and without `tls` in `cluster` every host that reaches \
         it can be a node: set it, or a loopback address such as 127.0.0.1:7002, or \"open\": true if \
         the network keeps strangers out"
    )]
    Exposed(std::net::SocketAddr),
    /// The address cannot be used.
    #[error(
        "{address} is for links from other nodes, and listening on it failed: {source}; end the \
         program that uses it, or set another `bind_addr` or `advertise` in `cluster`"
    )]
    Unusable {
        /// The address.
        address: std::net::SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
}
