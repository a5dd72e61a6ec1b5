//! Counts of the tasks that a scheduler has in memory.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::ShardGauges;
use crate::ledger::Position;

/// Counts of a scheduler's memory at one moment.
#[derive(Debug, Default)]
pub struct MemoryGauges {
    /// The time, in Unix milliseconds.
    pub now: u64,
    /// Open connections.
    pub connections: u64,
    /// The routes that have tasks in memory.
    pub routes: FxHashMap<Arc<str>, RouteMemoryGauges>,
    /// The position from which on tasks can wait on disk that are not in memory.
    pub unread: Option<Position>,
    /// The rest of what was overdue at the start: its first position, and the one after it.
    pub overdue: Option<(Position, Position)>,
    /// Routes with consumers, of which parked tasks are in memory only up to a position.
    pub backlogs: FxHashMap<Arc<str>, Position>,
    /// Routes with consumers, of which all parked tasks are in memory.
    pub without_backlog: Vec<Arc<str>>,
    /// Paused routes.
    pub paused: FxHashSet<Arc<str>>,
    /// Routes with consumers, and how many each has.
    pub consumers: Vec<(Arc<str>, u64)>,
    /// The shard whose tasks these are, in a cluster.
    pub shard: Option<ShardGauges>,
}

/// The tasks of a route in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RouteMemoryGauges {
    /// Due soon, and before [`MemoryGauges::unread`].
    pub soon: u64,
    /// Due soon, and not before [`MemoryGauges::unread`].
    pub soon_unread: u64,
    /// Due, with no consumer, and not parked on disk.
    pub ready: u64,
    /// The earliest time of a task that waits for a consumer to have room, in Unix milliseconds.
    pub oldest_ready: Option<u64>,
    /// In flight.
    pub in_flight: u64,
    /// In flight, and parked on disk.
    pub in_flight_and_parked: u64,
}

impl MemoryGauges {
    /// Returns what a node has in memory of a shard that it does not lead: everything that waits is
    /// only on the disk.
    #[must_use]
    pub fn of_follower(now: u64) -> Self {
        Self {
            now,
            unread: Some(Position::default()),
            ..Self::default()
        }
    }

    /// Returns the sum over all routes.
    #[must_use]
    pub(crate) fn sum(&self) -> RouteMemoryGauges {
        let rows = self.routes.values();
        rows.fold(RouteMemoryGauges::default(), |sum, row| RouteMemoryGauges {
            soon: sum.soon + row.soon,
            soon_unread: sum.soon_unread + row.soon_unread,
            ready: sum.ready + row.ready,
            oldest_ready: earlier(sum.oldest_ready, row.oldest_ready),
            in_flight: sum.in_flight + row.in_flight,
            in_flight_and_parked: sum.in_flight_and_parked + row.in_flight_and_parked,
        })
    }
}

/// Returns the earlier of two times.
#[must_use]
pub fn earlier(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).min()
}
