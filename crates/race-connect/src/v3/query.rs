use std::{
    fmt,
    hash::{Hash, Hasher},
    net::{Ipv4Addr, Ipv6Addr},
};

use super::{Name, ServiceRecord};

/// A DNS query to send. Queries are equal if their names and types are.
#[derive(Clone, Debug)]
pub struct Query {
    /// The name. CNAME records are followed as usual.
    pub name: Name,
    /// The type of the records.
    pub kind: RecordType,
    /// Whether the name comes from a record. A resolver's search domains apply only to the name
    /// that the caller gave.
    pub is_absolute: bool,
}

/// The type of the records that a [`Query`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordType {
    /// HTTPS records (RFC 9460). AliasMode records are not followed: the answer has the records of
    /// the name itself.
    Https,
    /// IPv6 addresses.
    Aaaa,
    /// IPv4 addresses.
    A,
}

/// The answer to a [`Query`]. An empty list, or a name that does not exist, is an answer; only a
/// query that failed has none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Records {
    /// The HTTPS records of a name.
    Https(Vec<ServiceRecord>),
    /// Its IPv6 addresses.
    Aaaa(Vec<Ipv6Addr>),
    /// Its IPv4 addresses.
    A(Vec<Ipv4Addr>),
}

impl Query {
    pub(super) fn new(name: &Name, kind: RecordType, is_absolute: bool) -> Self {
        Self {
            name: name.clone(),
            kind,
            is_absolute,
        }
    }
}

impl PartialEq for Query {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.kind) == (&other.name, other.kind)
    }
}

impl Eq for Query {}

impl Hash for Query {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, self.kind).hash(state);
    }
}

impl RecordType {
    /// Returns the answer that there are no records of this type.
    #[must_use]
    pub fn none(self) -> Records {
        match self {
            Self::Https => Records::Https(Vec::new()),
            Self::Aaaa => Records::Aaaa(Vec::new()),
            Self::A => Records::A(Vec::new()),
        }
    }
}

impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Https => "HTTPS",
            Self::Aaaa => "AAAA",
            Self::A => "A",
        })
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.kind)
    }
}
