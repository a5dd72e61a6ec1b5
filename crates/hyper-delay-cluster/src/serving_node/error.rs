use crate::{link::error::LinkListenError, log::LogUnanswered, node::NodeError};
use hyper_delay_server::tls::TlsError;

/// A node could not begin to serve, or has ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServingError {
    /// There is no cluster.
    #[error(
        "etcd has no cluster: make it with `hyper-delay cluster join --config FILE`, with the \
         configuration of this node; if there was one, keep every data_dir, and read \"etcd is lost\" \
         in docs/cluster.md first"
    )]
    NoCluster,
    /// The contents of the log are damaged. The error names the cure.
    #[error(transparent)]
    Damage(LogUnanswered),
    /// This node was not added to the cluster, or was removed.
    #[error(
        "{node:?} is no node of the cluster: add it with `hyper-delay cluster join --config FILE`; if \
         it was removed, move its data_dir away before"
    )]
    NoMember {
        /// The name of this node.
        node: String,
    },
    /// The files of TLS between nodes cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The address for links cannot be used.
    #[error(transparent)]
    Listen(#[from] LinkListenError),
    /// The stores cannot be used, or a thread has ended.
    #[error(transparent)]
    Node(#[from] NodeError),
}
