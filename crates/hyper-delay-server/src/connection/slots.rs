//! Slots for connections: how many may be open at a time.

use std::{
    net::IpAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::shares::{NoShare, Share, Shares};
use hyper_delay_config::Config;
use hyper_delay_fjall::descriptors::Descriptors;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::connection::slots";

/// A connection in a reserved slot is closed this long after its last line.
const RESERVED_IDLE: Duration = Duration::from_secs(5);

/// One in this many ordinary slots is for connections that have not authenticated.
const UNKNOWN: usize = 4;

/// The slots of a server.
#[derive(Debug)]
pub(crate) struct Slots {
    ordinary: Pool,
    /// For connections from this machine when all ordinary slots are taken, so that an operator is
    /// not locked out.
    reserved: Pool,
    /// How many of the ordinary ones connections may take that have not authenticated.
    unknown: Shares,
    /// Whether the limit of open files allows fewer than `max_connections`.
    capped: bool,
}

#[derive(Debug, Default)]
struct Pool {
    size: usize,
    taken: Arc<AtomicUsize>,
}

/// A slot that a connection has taken. Free again when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    _taken: Taken,
    /// Set until the connection has authenticated.
    unknown: Mutex<Option<Share>>,
    is_reserved: bool,
    host: IpAddr,
}

/// A place in a pool. Free again when dropped.
#[derive(Debug)]
struct Taken(Arc<AtomicUsize>);

impl Slots {
    pub(crate) fn new(config: &Config, descriptors: Descriptors) -> Self {
        let mut slots = Self {
            ordinary: Pool::default(),
            reserved: Pool::default(),
            unknown: Shares::default(),
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
            let least = Descriptors::wanted(wanted);
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
        self.unknown
            .resize((self.ordinary.size / UNKNOWN).max(1), 0);
    }

    /// Takes a slot for a connection from `host`, if one is free for it. `is_unknown`: it must
    /// authenticate.
    pub(crate) fn take(&self, host: IpAddr, is_unknown: bool) -> Option<Slot> {
        let slot = |taken, is_reserved, unknown| Slot {
            _taken: taken,
            unknown: Mutex::new(unknown),
            is_reserved,
            host,
        };
        let unknown = is_unknown.then(|| self.unknown.take(host)).transpose();
        if let Ok(unknown) = unknown
            && let Some(taken) = self.ordinary.take()
        {
            return Some(slot(taken, false, unknown));
        }
        if !host.is_loopback() {
            return None;
        }
        self.reserved.take().map(|taken| slot(taken, true, None))
    }

    /// Returns why no slot is free for a connection from `host`, and the cure.
    pub(crate) fn full(&self, host: IpAddr, is_unknown: bool) -> String {
        if is_unknown {
            match self.unknown.check(host) {
                Ok(()) => {}
                Err(NoShare::Full(taken)) => {
                    return format!(
                        "{taken} connections have not authenticated, a quarter of max_connections: \
                         send auth as the first line, or raise it"
                    );
                }
                Err(NoShare::TooMany(own)) => {
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

impl Pool {
    /// Only the accept loop takes slots, so that no other can come between load and add.
    fn take(&self) -> Option<Taken> {
        if self.is_full() {
            return None;
        }
        self.taken.fetch_add(1, Ordering::AcqRel);
        Some(Taken(self.taken.clone()))
    }

    fn is_full(&self) -> bool {
        self.taken.load(Ordering::Acquire) >= self.size
    }
}

impl Slot {
    /// The slot of a peer without a connection, which takes none from the others.
    pub(crate) fn of_guest(host: IpAddr) -> Self {
        Self {
            _taken: Taken(Arc::new(AtomicUsize::new(1))),
            unknown: Mutex::new(None),
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

    /// The connection has authenticated, or need not do so any more.
    pub(crate) fn is_known(&self) {
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        drop(unknown.take());
    }

    /// Returns after how long without a line the connection is closed.
    pub(crate) fn idle_timeout(&self, config: &Config) -> Option<Duration> {
        if self.is_reserved {
            return Some(RESERVED_IDLE);
        }
        config.idle_timeout_seconds.map(Duration::from_secs)
    }
}

impl Drop for Taken {
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
                .full(THERE, true)
                .contains("2 connections have not authenticated")
        );
        assert!(slots.full(THERE, false).contains("max_connections"));
        assert!(slots.take(HERE, true).unwrap().is_reserved(), "an operator");
        assert!(slots.take(THERE, false).is_some());
        one.is_known();
        one.is_known();
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
        let full = slots.full(THERE, true);
        assert!(full.contains("5 connections from your address"), "{full}");
        assert!(slots.take(ELSEWHERE, true).is_some());
        assert!(!slots.take(HERE, true).unwrap().is_reserved());
        taken[0].is_known();
        assert!(slots.take(THERE, true).is_some());
    }

    #[test]
    fn the_limit_of_open_files_caps_all_slots_together() {
        let slots = slots(10_000, 4, 64);
        assert_eq!((slots.ordinary.size, slots.reserved.size), (8, 2));
        assert!(slots.full(THERE, false).contains("limit of open files"));
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
