use std::net::SocketAddr;

/// The family of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6. An IPv4 address mapped into IPv6 counts as IPv4.
    V6,
}

impl Family {
    /// Returns the family of an address.
    #[must_use]
    pub fn of(address: &SocketAddr) -> Self {
        match address {
            SocketAddr::V6(v6) if v6.ip().to_ipv4_mapped().is_none() => Self::V6,
            _ => Self::V4,
        }
    }

    /// Returns the other family.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::V4 => Self::V6,
            Self::V6 => Self::V4,
        }
    }
}
