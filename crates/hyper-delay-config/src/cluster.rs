//! The cluster to which a server belongs.

mod advertise;
mod parse;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use serde::Serialize;

use super::serialize_path::{serialize_optional_path, serialize_path};

pub(super) use parse::parse;

/// The cluster to which a server belongs, and what it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cluster {
    /// The URLs of the members of etcd, with `http` or `https` and a port. At least one.
    pub etcd: Vec<String>,
    /// The name of this node, which no other node of the cluster has: 1 to 64 letters, digits, `.`,
    /// `-` and `_`, of which the first is no `-`.
    pub node: String,
    /// The host and port under which other nodes reach this one. The port is not 0.
    pub advertise: String,
    /// The address and port on which links from other nodes are accepted; the port is not 0.
    /// Default: `advertise` if its host is an address, `127.0.0.1` if that is `localhost`, else
    /// every address of the machine (`[::]`), with its port.
    pub bind_addr: SocketAddr,
    /// Milliseconds without a heartbeat after which other nodes take over what this one leads:
    /// 500 to 60,000. Default: 2,000.
    pub lease_ms: u64,
    /// The files of TLS between nodes; null: links are plain. Default: null.
    pub tls: Option<NodeTlsFiles>,
    /// The files of TLS for etcd. Default: null, which means the authorities of the system for URLs
    /// with `https`.
    pub etcd_tls: Option<EtcdTlsFiles>,
    /// The user, if etcd requires users. Default: null.
    pub etcd_user: Option<EtcdUser>,
}

/// The files of TLS between nodes, in PEM. Relative to the working directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeTlsFiles {
    /// The certificate of this node, for servers and clients, with the host of `advertise`.
    #[serde(serialize_with = "serialize_path")]
    pub cert: PathBuf,
    /// The private key of that certificate.
    #[serde(serialize_with = "serialize_path")]
    pub key: PathBuf,
    /// The authority that signs the certificates of all nodes, and of nothing else.
    #[serde(serialize_with = "serialize_path")]
    pub ca: PathBuf,
}

/// The files of TLS for etcd, in PEM. Relative to the working directory. At least one is given, and
/// `cert` and `key` only together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EtcdTlsFiles {
    /// The authorities of etcd's certificates. Default: those of the system.
    #[serde(serialize_with = "serialize_optional_path")]
    pub ca: Option<PathBuf>,
    /// The certificate with which the server shows who it is, if etcd asks for one.
    #[serde(serialize_with = "serialize_optional_path")]
    pub cert: Option<PathBuf>,
    /// The private key of that certificate.
    #[serde(serialize_with = "serialize_optional_path")]
    pub key: Option<PathBuf>,
}

/// A user of etcd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EtcdUser {
    /// The name.
    pub name: String,
    /// The file with the password, to which only its owner has access. Relative to the working
    /// directory.
    #[serde(serialize_with = "serialize_path")]
    pub password_file: PathBuf,
}

impl Cluster {
    /// Returns the length of the lease: the time without a heartbeat after which it expires.
    #[doc(hidden)]
    #[must_use]
    pub const fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }
}
