use std::{fmt, net::SocketAddr, sync::Arc};

use super::Name;
use crate::Family;

/// The transport of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// QUIC, over UDP.
    Quic,
    /// TCP, with TLS if the origin is secure.
    Tcp,
}

/// One address of a service, with what a connection to it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Endpoint {
    /// The address to connect to. An IPv4 address that is reached over NAT64 is an IPv6 address
    /// here.
    pub address: SocketAddr,
    /// The transport.
    pub transport: Transport,
    /// The protocols to offer in the handshake: all that the client speaks over this transport, as
    /// RFC 9460, section 7.1.2 asks for. Empty for an origin without TLS.
    pub alpn: Arc<[Vec<u8>]>,
    /// The `ECHConfigList` of the service, if it has one and the client uses it.
    pub ech: Option<Arc<[u8]>>,
    /// The name of the service in an HTTPS record; `None` for addresses of the host without one. It
    /// is not the name in certificates: that is the host of the origin.
    pub service: Option<Name>,
    pub(super) family: Family,
}

impl Endpoint {
    /// An address without a service, over TCP.
    pub(crate) fn of_address(address: SocketAddr) -> Self {
        Self {
            address,
            transport: Transport::Tcp,
            alpn: Arc::new([]),
            ech: None,
            service: None,
            family: Family::of(&address),
        }
    }

    /// Returns the family that counts for the order: IPv4 if the address is reached over NAT64.
    #[must_use]
    pub fn family(&self) -> Family {
        self.family
    }

    /// Returns the address and the transport.
    #[must_use]
    pub fn peer(&self) -> Peer {
        Peer {
            address: self.address,
            transport: self.transport,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.peer().fmt(f)
    }
}

/// An address and a transport: no two attempts for one host have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// The address.
    pub address: SocketAddr,
    /// The transport.
    pub transport: Transport,
}

impl Peer {
    pub(crate) fn tcp(address: SocketAddr) -> Self {
        Self {
            address,
            transport: Transport::Tcp,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.transport {
            Transport::Tcp => self.address.fmt(f),
            Transport::Quic => write!(f, "{} (QUIC)", self.address),
        }
    }
}
