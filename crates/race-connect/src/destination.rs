use std::{
    fmt, io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use race_core::AttemptHandle;

use crate::{
    handshakes::SharedEndpoints,
    v3::{Endpoint, Name, Origin},
};

/// What an attempt of a connector connects to: the argument of a [`Dial`](crate::Dial).
///
/// Clones belong to the same attempt.
#[derive(Clone)]
#[non_exhaustive]
pub struct Destination {
    /// The address, the transport, and what a handshake needs.
    pub endpoint: Endpoint,
    /// The origin. Certificates are checked by its host.
    pub origin: Origin,
    attempt: Arc<AttemptHandle>,
    has_progress: Arc<AtomicBool>,
    records: Option<SharedEndpoints>,
}

impl Destination {
    pub(crate) fn new(
        endpoint: Endpoint,
        origin: Origin,
        attempt: AttemptHandle,
        has_progress: Arc<AtomicBool>,
    ) -> Self {
        Self {
            endpoint,
            origin,
            attempt: Arc::new(attempt),
            has_progress,
            records: None,
        }
    }

    /// Lets handshakes wait for these records.
    pub(crate) fn records(mut self, records: SharedEndpoints) -> Self {
        self.records = Some(records);
        self
    }

    /// Returns the address to connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.endpoint.address
    }

    /// Returns the host of the origin, by which certificates are checked.
    #[must_use]
    pub fn host(&self) -> &Name {
        self.origin.host()
    }

    /// Returns the handle of the attempt, such as to [hold](AttemptHandle::hold) the next start.
    #[must_use]
    pub fn attempt(&self) -> &AttemptHandle {
        &self.attempt
    }

    /// Reports that the peer has answered, while the connection is not ready yet: after TCP has
    /// connected, before TLS. The next attempt starts later, by the attempt delay from here.
    pub fn progress(&self) {
        self.has_progress.store(true, Ordering::Relaxed);
        self.attempt.progress();
    }

    /// Waits until a handshake of TLS or QUIC may begin. Returns the `ECHConfigList` for it, if
    /// there is one.
    ///
    /// It waits only if DNS is protected and the client uses ECH, and then for the HTTPS records. A
    /// dial that uses ECH calls it before it sends the first byte that an observer must not see.
    ///
    /// # Errors
    ///
    /// - [`PermissionDenied`](io::ErrorKind::PermissionDenied) if the records do not allow a
    ///   connection to this endpoint, or if their query failed. A failed query ends the race, too.
    /// - [`ConnectionAborted`](io::ErrorKind::ConnectionAborted) if the race ended meanwhile, where
    ///   the handshake runs in a task of its own.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn handshake(&self) -> io::Result<Option<Arc<[u8]>>> {
        match &self.records {
            Some(records) => records.handshake(&self.endpoint).await,
            None => Ok(self.endpoint.ech.clone()),
        }
    }
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut destination = f.debug_struct("Destination");
        destination.field("endpoint", &self.endpoint);
        destination.field("origin", &self.origin);
        destination.finish_non_exhaustive()
    }
}
