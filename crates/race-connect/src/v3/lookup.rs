use std::{future::Future, io, sync::Arc};

use super::{Query, Records};

/// A resolver of DNS records, for [`Discovery`](super::Discovery).
///
/// With the feature `hickory`, a `hickory_resolver::Resolver` is one. The system's resolver,
/// `getaddrinfo`, cannot be one: it gives addresses only. References and `Arc`s of resolvers are
/// resolvers.
///
/// ```
/// use std::io;
/// use race_connect::v3::{Lookup, Query, RecordType, Records, ServiceRecord};
///
/// /// Knows one service, on this machine.
/// struct Here;
///
/// impl Lookup for Here {
///     async fn lookup(&self, query: Query) -> io::Result<Records> {
///         Ok(match query.kind {
///             RecordType::Https => Records::Https(vec![ServiceRecord::service(1, ".").port(8443)]),
///             RecordType::A => Records::A(vec![[127, 0, 0, 1].into()]),
///             RecordType::Aaaa => Records::Aaaa(Vec::new()),
///         })
///     }
/// }
/// ```
pub trait Lookup: Sync {
    /// Asks for the records of a name. CNAME records are followed, AliasMode records are not.
    ///
    /// # Errors
    ///
    /// If there is no answer, as after SERVFAIL or a timeout, or if an HTTPS record is malformed. A
    /// name that does not exist, or has no such records, is an empty list.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when a connection has been made. A resolver that keeps what arrives up
    /// to a second later fills its cache.
    fn lookup(&self, query: Query) -> impl Future<Output = io::Result<Records>> + Send;
}

impl<L: Lookup> Lookup for &L {
    fn lookup(&self, query: Query) -> impl Future<Output = io::Result<Records>> + Send {
        (**self).lookup(query)
    }
}

impl<L: Lookup + Send> Lookup for Arc<L> {
    fn lookup(&self, query: Query) -> impl Future<Output = io::Result<Records>> + Send {
        (**self).lookup(query)
    }
}
