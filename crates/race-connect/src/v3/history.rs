use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// What a client remembers of addresses: how long a handshake with them took. Known addresses come
/// before unknown ones, and fast ones before slow ones, where RFC 6724 has no preference.
///
/// It belongs to its owner: use one for each network and for each user whose connections must not
/// be linked, and [`forget`](Self::forget) it when the network changes. One connection in
/// [`FRESH`](Self::FRESH) ignores it, so that clients with different histories converge. At most
/// [`CAPACITY`](Self::CAPACITY) addresses are remembered; then the one that was used least recently
/// goes.
#[derive(Debug, Default)]
pub struct AddressHistory {
    known: Mutex<Known>,
    connections: AtomicU32,
}

#[derive(Debug, Default)]
struct Known {
    addresses: HashMap<IpAddr, Used>,
    /// The number of uses so far.
    uses: u64,
}

#[derive(Clone, Copy, Debug)]
struct Used {
    handshake: Duration,
    /// The number of the latest use.
    latest: u64,
}

impl AddressHistory {
    /// One of this many connections ignores the history.
    pub const FRESH: u32 = 16;

    /// The most addresses that are remembered.
    pub const CAPACITY: usize = 1_024;

    /// Creates an empty history.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers how long the first handshake with an address took: that of TCP or QUIC, without
    /// that of TLS. Later times count for a quarter.
    pub fn remember(&self, address: IpAddr, handshake: Duration) {
        let address = address.to_canonical();
        let mut known = self.known();
        known.uses += 1;
        let latest = known.uses;
        let handshake = match known.addresses.get(&address) {
            Some(used) => used.handshake / 4 * 3 + handshake / 4,
            None => handshake,
        };
        known.addresses.insert(address, Used { handshake, latest });
        if known.addresses.len() > Self::CAPACITY {
            let oldest = known.addresses.iter().min_by_key(|it| it.1.latest);
            if let Some(oldest) = oldest.map(|it| *it.0) {
                known.addresses.remove(&oldest);
            }
        }
    }

    /// Returns the time that handshakes with an address take; `None` if it is unknown.
    #[must_use]
    pub fn handshake(&self, address: IpAddr) -> Option<Duration> {
        let known = self.known();
        known
            .addresses
            .get(&address.to_canonical())
            .map(|it| it.handshake)
    }

    /// Forgets everything, because the network has changed.
    pub fn forget(&self) {
        self.known().addresses.clear();
    }

    /// Counts a connection. Whether it may use the history.
    pub(super) fn is_for_next(&self) -> bool {
        let count = self.connections.fetch_add(1, Ordering::Relaxed);
        count % Self::FRESH != Self::FRESH - 1
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
