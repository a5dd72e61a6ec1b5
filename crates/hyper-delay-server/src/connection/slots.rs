//! Slots for connections: how many may be open at a time.

use std::{
    net::IpAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::connection_limiter::{ConnectionLimiter, ConnectionPermit, LimitReached};
use hyper_delay_config::Config;
use hyper_delay_fjall::file_descriptors::Descriptors;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::connection::slots";

/// A connection in a reserved slot is closed this long after its last line.
const RESERVED_IDLE: Duration = Duration::from_secs(5);

/// One in this many ordinary slots is for connections that have not authenticated.
const UNAUTHENTICATED_SHARE: usize = 4;

/// The slots of a server.
#[derive(Debug)]
pub(crate) struct Slots {
    ordinary: SlotPool,
    /// For connections from this machine when all ordinary slots are taken, so that an operator is
    /// not locked out.
    reserved: SlotPool,
    /// The ordinary slots for connections that have not authenticated.
    unauthenticated: ConnectionLimiter,
    /// Whether the limit of open files allows fewer than `max_connections`.
    capped: bool,
}

#[derive(Debug, Default)]
struct SlotPool {
    size: usize,
    taken: Arc<AtomicUsize>,
}

/// A slot that a connection has taken. Free again when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: PoolPermit,
    /// Set until the connection has authenticated.
    unauthenticated: Mutex<Option<ConnectionPermit>>,
    is_reserved: bool,
    host: IpAddr,
}

/// A place in a pool. Free again when dropped.
#[derive(Debug)]
struct PoolPermit(Arc<AtomicUsize>);

impl Slots {
    pub(crate) fn new(config: &Config, descriptors: Descriptors) -> Self {
        let mut slots = Self {
            ordinary: SlotPool::default(),
            reserved: SlotPool::default(),
            unauthenticated: ConnectionLimiter::default(),
            capped: false,
        };
        slots.resize(config, descriptors);
        slots
    }

    /// Changes the number of slots. Connections beyond it stay open.
    pub(crate) fn resize(&mut self, config: &Config, descriptors: Descriptors) {
        let wanted = config.max_connections + config.reserved_connections;
        let most = descriptors.connections();
        self.capped = most < wanted;
        if self.capped {
            self.reserved.size = config.reserved_connections.min(most / 4);
            self.ordinary.size = config.max_connections.min(most - self.reserved.size);
            let least = Descriptors::required_limit(wanted);
            tracing::warn!(
                target: TARGET,
                limit = descriptors.limit(),
                max_connections = config.max_connections,
                connections = self.ordinary.size,
                "the limit of open files allows fewer than max_connections: raise the hard limit \
                 (ulimit -Hn) to {least}, or lower max_connections",
            );
        } else {
            self.reserved.size = config.reserved_connections;
            self.ordinary.size = config.max_connections;
        }
        // This machine has the reserved slots.
        self.unauthenticated
            .resize((self.ordinary.size / UNAUTHENTICATED_SHARE).max(1), 0);
    }

    /// Takes a slot for a connection from `host`, if one is free for it.
    pub(crate) fn take(&self, host: IpAddr, must_authenticate: bool) -> Option<Slot> {
        let slot = |permit, is_reserved, unauthenticated| Slot {
            _permit: permit,
            unauthenticated: Mutex::new(unauthenticated),
            is_reserved,
            host,
        };
        let unauthenticated = must_authenticate
            .then(|| self.unauthenticated.acquire(host))
            .transpose();
        if let Ok(unauthenticated) = unauthenticated
            && let Some(permit) = self.ordinary.take()
        {
            return Some(slot(permit, false, unauthenticated));
        }
        if !host.is_loopback() {
            return None;
        }
        self.reserved.take().map(|permit| slot(permit, true, None))
    }

    /// Returns why no slot is free for a connection from `host`, and the cure.
    pub(crate) fn full_message(&self, host: IpAddr, must_authenticate: bool) -> String {
        if must_authenticate {
            match self.unauthenticated.check(host) {
                Ok(()) => {}
                Err(LimitReached::Full(taken)) => {
                    return format!(
                        "{taken} connections have not authenticated, a quarter of max_connections: \
                         send auth as the first line, or raise it"
                    );
                }
                Err(LimitReached::TooMany(own)) => {
                    return format!(
                        "{own} connections from your address have not authenticated, and others \
                         need slots: send auth as the first line, or raise max_connections"
                    );
                }
            }
        }
        let size = self.ordinary.size;
        match self.capped {
            false => format!(
                "there are {size} connections, which is max_connections: close some, or raise it"
            ),
            true => format!(
                "there are {size} connections, as many as the limit of open files allows: close \
                 some, or raise the limit (ulimit -Hn)"
            ),
        }
    }
}

impl SlotPool {
    /// Only the accept loop takes slots, so that no other can come between load and add.
    fn take(&self) -> Option<PoolPermit> {
        if self.is_full() {
            return None;
        }
        self.taken.fetch_add(1, Ordering::AcqRel);
        Some(PoolPermit(self.taken.clone()))
    }

    fn is_full(&self) -> bool {
        self.taken.load(Ordering::Acquire) >= self.size
    }
}

impl Slot {
    /// The slot of a one-shot request, which takes none from connections.
    pub(crate) fn of_one_shot(host: IpAddr) -> Self {
        Self {
            _permit: PoolPermit(Arc::new(AtomicUsize::new(1))),
            unauthenticated: Mutex::new(None),
            is_reserved: false,
            host,
        }
    }

    /// Returns whether the slot is one of those kept for operators.
    pub(crate) const fn is_reserved(&self) -> bool {
        self.is_reserved
    }

    /// Returns whether the connection comes from this machine, as that of an operator does.
    pub(crate) const fn is_local(&self) -> bool {
        self.host.is_loopback()
    }

    /// Returns the address of the peer.
    pub(crate) const fn host(&self) -> IpAddr {
        self.host
    }

    /// Releases the place among unauthenticated connections: the peer has authenticated, or need
    /// not.
    pub(crate) fn release_unauthenticated(&self) {
        let mut unauthenticated = self
            .unauthenticated
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        drop(unauthenticated.take());
    }

    /// Returns after how long without a line the connection is closed.
    pub(crate) fn idle_timeout(&self, config: &Config) -> Option<Duration> {
        if self.is_reserved {
            return Some(RESERVED_IDLE);
        }
        config.idle_timeout_seconds.map(Duration::from_secs)
    }
}

impl Drop for PoolPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn slots(max_connections: usize, reserved_connections: usize, limit: u64) -> Slots {
        let config = Config {
            max_connections,
            reserved_connections,
            ..Config::default()
        };
        Slots::new(&config, Descriptors::of(limit))
    }

    #[test]
    fn reserved_slots_are_for_this_machine_and_only_when_all_others_are_taken() {
        let slots = slots(2, 1, 100_000);
        let taken = [slots.take(HERE, false), slots.take(THERE, false)].map(Option::unwrap);
        assert!(taken.iter().all(|slot| !slot.is_reserved()));
        assert_eq!(taken.each_ref().map(Slot::is_local), [true, false]);
        assert!(slots.take(THERE, false).is_none());
        let reserved = slots.take(HERE, false).unwrap();
        assert!(reserved.is_reserved());
        assert!(slots.take(HERE, false).is_none());
        drop(taken);
        assert!(!slots.take(HERE, false).unwrap().is_reserved());
        drop(reserved);
        assert_eq!(slots.reserved.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_quarter_of_the_slots_is_for_connections_that_have_not_authenticated() {
        let slots = slots(8, 1, 100_000);
        let one = slots.take(THERE, true).unwrap();
        let other = slots.take(ELSEWHERE, true).unwrap();
        assert!(slots.take(THERE, true).is_none());
        assert!(
            slots
                .full_message(THERE, true)
                .contains("2 connections have not authenticated")
        );
        assert!(slots.full_message(THERE, false).contains("max_connections"));
        assert!(slots.take(HERE, true).unwrap().is_reserved(), "an operator");
        assert!(slots.take(THERE, false).is_some());
        one.release_unauthenticated();
        one.release_unauthenticated();
        let third = slots.take(THERE, true).unwrap();
        assert!(slots.take(THERE, true).is_none());
        drop((one, other));
        drop(third);
        assert_eq!(slots.ordinary.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_address_leaves_slots_for_others_that_have_not_authenticated() {
        let slots = slots(40, 1, 100_000);
        let taken: Vec<_> = std::iter::from_fn(|| slots.take(THERE, true)).collect();
        assert_eq!(taken.len(), 5);
        let message = slots.full_message(THERE, true);
        assert!(
            message.contains("5 connections from your address"),
            "{message}"
        );
        assert!(slots.take(ELSEWHERE, true).is_some());
        assert!(!slots.take(HERE, true).unwrap().is_reserved());
        taken[0].release_unauthenticated();
        assert!(slots.take(THERE, true).is_some());
    }

    #[test]
    fn the_limit_of_open_files_caps_all_slots_together() {
        let slots = slots(10_000, 4, 64);
        assert_eq!((slots.ordinary.size, slots.reserved.size), (8, 2));
        assert!(
            slots
                .full_message(THERE, false)
                .contains("limit of open files")
        );
    }

    #[test]
    fn fewer_slots_leave_connections_open() {
        let mut slots = slots(2, 0, 100_000);
        let taken = [slots.take(HERE, false), slots.take(HERE, false)];
        let config = Config {
            max_connections: 1,
            ..Config::default()
        };
        slots.resize(&config, Descriptors::of(100_000));
        slots.reserved.size = 0;
        assert!(slots.take(HERE, false).is_none());
        drop(taken);
        assert!(slots.take(HERE, false).is_some());
    }
}
