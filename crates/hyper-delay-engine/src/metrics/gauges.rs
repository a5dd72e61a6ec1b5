use std::sync::Arc;

/// The state of the server at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gauges {
    /// The routes with the most pending tasks, in order of name.
    pub(super) routes: Vec<(Arc<str>, RouteGauges)>,
    /// The sum of all other routes.
    pub(super) other: RouteGauges,
    /// Whether the tasks that are due soon are all counted.
    pub(super) is_due_soon_exact: bool,
    /// The longest wait of a due task without a consumer, in milliseconds. Paused routes do not
    /// count.
    pub(super) oldest_overdue: u64,
    /// The same of paused routes alone.
    pub(super) oldest_paused: u64,
    /// The bytes of the store's files.
    pub(super) store_bytes: u64,
    /// Open connections that speak the protocol.
    pub(super) connections: u64,
    /// The shards of a cluster, in order. Empty on a single node.
    pub(super) shards: Vec<ShardGauges>,
}

/// A shard of a cluster on this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShardGauges {
    /// Whether this node leads it.
    pub is_led: bool,
    /// Whether it has stopped on this node.
    pub has_stopped: bool,
    /// The last entry of its journal that is in the store of this node.
    pub applied: u64,
    /// The last one that is synced to the disk of this node.
    pub synced: u64,
}

/// The tasks of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct RouteGauges {
    /// Waiting, ready or in flight.
    pub(super) pending: u64,
    pub(super) due_soon: u64,
    /// Due, and with no consumer.
    pub(super) ready: u64,
    pub(super) in_flight: u64,
    pub(super) dead: u64,
    /// Waiting or parked with a last failure.
    pub(super) retrying: u64,
    /// Connections that have registered it.
    pub(super) consumers: u64,
    /// The longest wait of a due task without a consumer, in milliseconds. 0 for a sum, and if the
    /// route is paused.
    pub(super) oldest_overdue: u64,
    /// Whether the route is paused. False for a sum.
    pub(super) is_paused: bool,
}

impl Gauges {
    /// Joins the gauges of stores that have no route in common. The number of routes stays what one
    /// store shows.
    #[must_use]
    pub fn join(parts: impl IntoIterator<Item = Self>, limits: &super::GaugeLimits) -> Self {
        let mut joined = Self {
            is_due_soon_exact: true,
            ..Self::default()
        };
        for part in parts {
            joined.routes.extend(part.routes);
            joined.other.add(part.other);
            joined.is_due_soon_exact &= part.is_due_soon_exact;
            joined.oldest_overdue = joined.oldest_overdue.max(part.oldest_overdue);
            joined.oldest_paused = joined.oldest_paused.max(part.oldest_paused);
            joined.store_bytes += part.store_bytes;
            joined.connections += part.connections;
            joined.shards.extend(part.shards);
        }
        let most = limits.routes();
        if joined.routes.len() > most {
            joined
                .routes
                .sort_unstable_by_key(|(_, row)| std::cmp::Reverse(row.pending));
            for (_, row) in joined.routes.drain(most..) {
                joined.other.add(row);
            }
        }
        joined.routes.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        joined
    }
}

impl RouteGauges {
    /// Adds a part.
    pub(super) const fn add(&mut self, part: Self) {
        self.pending += part.pending;
        self.due_soon += part.due_soon;
        self.ready += part.ready;
        self.in_flight += part.in_flight;
        self.dead += part.dead;
        self.retrying += part.retrying;
        self.consumers += part.consumers;
    }

    /// Takes `part` away. The parts can have been read after the whole.
    pub(super) const fn subtract(&mut self, part: Self) {
        self.pending = self.pending.saturating_sub(part.pending);
        self.due_soon = self.due_soon.saturating_sub(part.due_soon);
        self.ready = self.ready.saturating_sub(part.ready);
        self.in_flight = self.in_flight.saturating_sub(part.in_flight);
        self.dead = self.dead.saturating_sub(part.dead);
        self.retrying = self.retrying.saturating_sub(part.retrying);
        self.consumers = self.consumers.saturating_sub(part.consumers);
    }
}

/// Open connections of the HTTP listener.
#[derive(Debug, Clone, Copy)]
pub struct HttpConnections(pub usize);
