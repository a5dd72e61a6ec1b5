//! Slots for connections: how many may be open at a time.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::{config::Config, descriptors::Descriptors};

/// A connection in a reserved slot is closed this long after its last line.
const RESERVED_IDLE: Duration = Duration::from_secs(5);

/// The slots of a server.
#[derive(Debug)]
pub(crate) struct Slots {
    ordinary: Pool,
    /// For connections from this machine when all ordinary slots are taken, so that an operator is
    /// not locked out.
    reserved: Pool,
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
    taken: Arc<AtomicUsize>,
    is_reserved: bool,
}

impl Slots {
    pub(crate) fn new(config: &Config, descriptors: Descriptors) -> Self {
        let mut slots = Self {
            ordinary: Pool::default(),
            reserved: Pool::default(),
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
                limit = descriptors.limit(),
                max_connections = config.max_connections,
                connections = self.ordinary.size,
                "the limit of open files allows fewer than max_connections: raise the hard limit \
                 (ulimit -Hn) to {least}, or lower max_connections"
            );
        } else {
            self.reserved.size = config.reserved_connections;
            self.ordinary.size = config.max_connections;
        }
    }

    /// Takes a slot for a connection from `host`, if one is free for it.
    pub(crate) fn take(&self, host: IpAddr) -> Option<Slot> {
        let ordinary = self.ordinary.take(false);
        ordinary.or_else(|| match host.is_loopback() {
            true => self.reserved.take(true),
            false => None,
        })
    }

    /// Returns why no slot is free, and the cure.
    pub(crate) fn full(&self) -> String {
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
    fn take(&self, is_reserved: bool) -> Option<Slot> {
        if self.taken.load(Ordering::Acquire) >= self.size {
            return None;
        }
        self.taken.fetch_add(1, Ordering::AcqRel);
        Some(Slot {
            taken: self.taken.clone(),
            is_reserved,
        })
    }
}

impl Slot {
    /// Returns whether the slot is one of those kept for operators.
    pub(crate) const fn is_reserved(&self) -> bool {
        self.is_reserved
    }

    /// Returns after how long without a line the connection is closed.
    pub(crate) fn idle_timeout(&self, config: &Config) -> Option<Duration> {
        if self.is_reserved {
            return Some(RESERVED_IDLE);
        }
        config.idle_timeout_seconds.map(Duration::from_secs)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

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
        let taken = [slots.take(HERE), slots.take(THERE)].map(Option::unwrap);
        assert!(taken.iter().all(|slot| !slot.is_reserved()));
        assert!(slots.take(THERE).is_none());
        let reserved = slots.take(HERE).unwrap();
        assert!(reserved.is_reserved());
        assert!(slots.take(HERE).is_none());
        drop(taken);
        assert!(!slots.take(HERE).unwrap().is_reserved());
        drop(reserved);
        assert_eq!(slots.reserved.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_limit_of_open_files_caps_all_slots_together() {
        let slots = slots(10_000, 4, 64);
        assert_eq!((slots.ordinary.size, slots.reserved.size), (8, 2));
        assert!(slots.full().contains("limit of open files"));
    }

    #[test]
    fn fewer_slots_leave_connections_open() {
        let mut slots = slots(2, 0, 100_000);
        let taken = [slots.take(HERE), slots.take(HERE)];
        let config = Config {
            max_connections: 1,
            ..Config::default()
        };
        slots.resize(&config, Descriptors::of(100_000));
        slots.reserved.size = 0;
        assert!(slots.take(HERE).is_none());
        drop(taken);
        assert!(slots.take(HERE).is_some());
    }
}
