//! The right to write what another node sends.

use std::sync::atomic::{AtomicU64, Ordering};

use race_wheel::Tick;

/// The right to write deliveries of a leadership to the sockets of this node.
///
/// The forwarder extends it as long as the leader holds its lease, and revokes it when another
/// leadership may begin. It is checked before each write to a socket.
#[derive(Debug)]
pub struct Authority {
    shard: u16,
    /// The end on the clock of this node.
    until: AtomicU64,
}

impl Authority {
    /// The authority of a shard that holds until then.
    #[must_use]
    pub const fn new(shard: u16, until: Tick) -> Self {
        Self {
            shard,
            until: AtomicU64::new(until.value()),
        }
    }

    /// Returns the shard whose leadership it is.
    pub const fn shard(&self) -> u16 {
        self.shard
    }

    /// Returns whether a delivery may be written now.
    pub fn holds(&self, now: Tick) -> bool {
        now.value() < self.until.load(Ordering::Acquire)
    }

    /// It holds until then, unless it held for longer already or is revoked.
    pub fn extend(&self, until: Tick) {
        let longer = |before| (before != 0 && before < until.value()).then_some(until.value());
        let _ = self
            .until
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, longer);
    }

    /// Returns whether it has ended for good.
    pub fn is_revoked(&self) -> bool {
        self.until.load(Ordering::Acquire) == 0
    }

    /// Returns when it ends, unless it is extended.
    pub fn until(&self) -> Tick {
        Tick::new(self.until.load(Ordering::Acquire))
    }

    /// Ends it for good.
    pub fn revoke(&self) {
        self.until.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_extended_and_never_after_it_was_revoked() {
        let authority = Authority::new(1, Tick::new(10));
        assert!(authority.holds(Tick::new(9)) && !authority.holds(Tick::new(10)));
        authority.extend(Tick::new(20));
        authority.extend(Tick::new(15));
        assert!(authority.holds(Tick::new(19)));
        authority.revoke();
        authority.extend(Tick::new(30));
        assert!(!authority.holds(Tick::ZERO));
    }
}
