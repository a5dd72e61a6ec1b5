//! Reads the gauges from the scheduler's memory and from the counts on disk.

use std::{collections::HashSet, ops::ControlFlow, sync::Arc};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Gauges, MemoryGauges, RouteMemoryGauges, SOON, earlier, gauges::RouteGauges,
    largest_routes::LargestRoutes,
};
use crate::ledger::LedgerView;
use hyper_delay_store::{ReadStore, StoreError, record::StoredCounts};

/// The route that stands for all others. A route of this name is among them.
pub(super) const OTHER: &str = "other";

/// The tasks that were overdue at the start, and are not read yet, that are looked at. While there
/// are more, later routes have no oldest one.
const OVERDUE: usize = 100;

/// Limits of what is read and shown.
#[derive(Debug, Clone, Copy)]
pub struct GaugeLimits {
    /// The routes that are shown.
    routes: usize,
    /// The routes whose counts are read. The others count in [`OTHER`] only.
    counted: usize,
    /// The routes in which the oldest parked task is looked up: those with the most parked tasks.
    looked_up: usize,
    /// The tasks beyond the scheduler's memory that are counted as due soon.
    beyond: u64,
    /// Whether routes without tasks are shown, too, if they have consumers or are paused.
    shows_idle: bool,
}

impl GaugeLimits {
    /// Those of `/metrics`.
    pub const SCRAPE: Self = Self {
        routes: 100,
        counted: 20_000,
        looked_up: 1_000,
        beyond: 2_000,
        shows_idle: false,
    };

    /// Those of the page: at most 2,000 keys.
    pub const PAGE: Self = Self {
        routes: 100,
        counted: 1_000,
        looked_up: 100,
        beyond: 500,
        shows_idle: true,
    };

    /// Returns the most routes that are shown.
    pub(super) const fn routes(&self) -> usize {
        self.routes
    }

    /// Returns what may be read of each of so many stores.
    #[must_use]
    pub fn of_each(&self, stores: usize) -> Self {
        let part = |most: usize| (most / stores).max(1);
        Self {
            counted: part(self.counted),
            looked_up: part(self.looked_up),
            beyond: part(self.beyond as usize) as u64,
            ..*self
        }
    }
}

/// Reads the gauges. The number of keys that it reads is bounded.
///
/// # Errors
///
/// If the store cannot be read.
pub fn read_gauges<S: ReadStore>(
    store: &Arc<S>,
    memory: &MemoryGauges,
    limits: &GaugeLimits,
) -> Result<Gauges, StoreError> {
    let view = LedgerView::new(store.clone());
    // A node has nothing in memory of a shard that it does not lead.
    let is_led = memory.shard.is_none_or(|shard| shard.is_led);
    let on_disk = match is_led {
        true => None,
        false => Some(view.paused()?),
    };
    let paused = on_disk.as_ref().unwrap_or(&memory.paused);
    let (shown, looked_up) = routes(&view, memory, paused, limits)?;
    let soon = DueSoon::read(&view, memory, limits.beyond)?;
    let oldest = OldestReady::read(&view, memory, &shown, looked_up)?;
    let consumers: FxHashMap<&str, u64> = memory
        .consumers
        .iter()
        .map(|(route, consumers)| (&**route, *consumers))
        .collect();
    let mut other = RouteGauges {
        due_soon: soon.all,
        retrying: view.retrying("")?,
        consumers: consumers.values().sum(),
        ..gauges(view.totals()?, memory.sum())
    };
    let routes = shown
        .into_routes()
        .map(|(route, counts)| {
            let in_memory = memory.routes.get(&route).copied().unwrap_or_default();
            let is_paused = paused.contains(&route);
            let since = oldest.of(&route).filter(|_| !is_paused);
            let row = RouteGauges {
                due_soon: soon.of(&route),
                retrying: view.retrying(&route)?,
                consumers: consumers.get(&*route).copied().unwrap_or_default(),
                oldest_overdue: oldest.wait(since),
                is_paused,
                ..gauges(counts, in_memory)
            };
            Ok((route, row))
        })
        .collect::<Result<Vec<_>, StoreError>>();
    let mut routes = routes?;
    routes.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    for (_, row) in &routes {
        other.subtract(*row);
    }
    Ok(Gauges {
        routes,
        other,
        is_due_soon_exact: soon.is_exact,
        oldest_overdue: oldest.wait(oldest.of_all(|route| !paused.contains(route))),
        oldest_paused: oldest.wait(oldest.of_all(|route| paused.contains(route))),
        store_bytes: store.size()?,
        connections: memory.connections,
        shards: memory.shard.into_iter().collect(),
    })
}

/// Returns the routes with the most pending tasks, and those with the most parked ones.
fn routes<S: ReadStore>(
    view: &LedgerView<S>,
    memory: &MemoryGauges,
    paused: &FxHashSet<Arc<str>>,
    limits: &GaugeLimits,
) -> Result<(LargestRoutes, LargestRoutes), StoreError> {
    let mut shown = LargestRoutes::new(limits.routes);
    let mut looked_up = LargestRoutes::new(limits.looked_up);
    let mut left = limits.counted;
    let mut idle: HashSet<&str> = HashSet::new();
    if limits.shows_idle {
        idle.extend(memory.consumers.iter().map(|(route, _)| &**route));
        idle.extend(paused.iter().map(|route| &**route));
    }
    view.routes_while(|route, counts| {
        idle.remove(route);
        if route != OTHER {
            shown.add(counts.waiting + counts.parked, route, counts);
        }
        if counts.parked > 0 {
            looked_up.add(counts.parked, route, counts);
        }
        left -= 1;
        match left {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    })?;
    // If not all routes were read, those with consumers can have tasks, too.
    if left > 0 {
        for route in idle {
            shown.add(0, route, StoredCounts::default());
        }
    }
    Ok((shown, looked_up))
}

fn gauges(counts: StoredCounts, memory: RouteMemoryGauges) -> RouteGauges {
    let parked = counts.parked.saturating_sub(memory.in_flight_and_parked);
    RouteGauges {
        pending: counts.waiting + counts.parked,
        due_soon: 0,
        consumers: 0,
        oldest_overdue: 0,
        is_paused: false,
        ready: parked + memory.ready,
        in_flight: memory.in_flight,
        dead: counts.dead,
        retrying: 0,
    }
}

/// The tasks that are due soon.
struct DueSoon<'a> {
    /// Those that are only on disk.
    on_disk: FxHashMap<Arc<str>, u64>,
    memory: &'a MemoryGauges,
    /// Whether those beyond what the scheduler has read are counted from memory.
    counts_memory: bool,
    all: u64,
    is_exact: bool,
}

impl<'a> DueSoon<'a> {
    /// Counts from memory as far as the scheduler has read the disk, and from disk beyond that. If
    /// there are too many of them, counts what is in memory or the first on disk, whichever is
    /// more.
    fn read<S: ReadStore>(
        view: &LedgerView<S>,
        memory: &'a MemoryGauges,
        most: u64,
    ) -> Result<Self, StoreError> {
        let mut on_disk: FxHashMap<Arc<str>, u64> = FxHashMap::default();
        let mut count = 0;
        let mut is_exact = true;
        if let Some(from) = memory.unread {
            let end = memory.now + SOON.as_millis() as u64;
            view.waiting(from, |listed| {
                if listed.position.at > end {
                    return ControlFlow::Break(());
                }
                if count == most {
                    is_exact = false;
                    return ControlFlow::Break(());
                }
                count += 1;
                *on_disk.entry(listed.route).or_default() += 1;
                ControlFlow::Continue(())
            })?;
        }
        let sum = memory.sum();
        let counts_memory = !is_exact && sum.soon_unread > count;
        let beyond = match counts_memory {
            true => sum.soon_unread,
            false => count,
        };
        Ok(Self {
            on_disk,
            memory,
            counts_memory,
            all: sum.soon + beyond,
            is_exact,
        })
    }

    fn of(&self, route: &str) -> u64 {
        let memory = self.memory.routes.get(route).copied().unwrap_or_default();
        let beyond = match self.counts_memory {
            true => memory.soon_unread,
            false => self.on_disk.get(route).copied().unwrap_or_default(),
        };
        memory.soon + beyond
    }
}

/// The due times of the oldest ready tasks (due, and with no consumer), in Unix milliseconds.
struct OldestReady<'a> {
    /// The oldest task on disk of each route that was looked up.
    on_disk: FxHashMap<Arc<str>, u64>,
    memory: &'a MemoryGauges,
}

impl<'a> OldestReady<'a> {
    fn read<S: ReadStore>(
        view: &LedgerView<S>,
        memory: &'a MemoryGauges,
        shown: &LargestRoutes,
        parked: LargestRoutes,
    ) -> Result<Self, StoreError> {
        let mut on_disk: FxHashMap<Arc<str>, u64> = FxHashMap::default();
        if let Some((from, to)) = memory.overdue {
            let mut left = OVERDUE;
            view.waiting(from, |listed| {
                if listed.position >= to || left == 0 {
                    return ControlFlow::Break(());
                }
                left -= 1;
                on_disk.entry(listed.route).or_insert(listed.position.at);
                ControlFlow::Continue(())
            })?;
        }
        let shown = shown.routes().filter(|(_, counts)| counts.parked > 0);
        let mut looked_up: HashSet<Arc<str>> = shown.map(|(route, _)| route.clone()).collect();
        looked_up.extend(parked.into_routes().map(|(route, _)| route));
        // Tasks that a consumer has, or that wait in memory for one, come before the backlog.
        for route in &memory.without_backlog {
            looked_up.remove(route);
        }
        for route in looked_up {
            let from = memory.backlogs.get(&route).copied().unwrap_or_default();
            let mut first = None;
            view.parked(&route, from, |listed| {
                first = Some(listed.position.at);
                ControlFlow::Break(())
            })?;
            if let Some(first) = earlier(first, on_disk.get(&route).copied()) {
                on_disk.insert(route, first);
            }
        }
        Ok(Self { on_disk, memory })
    }

    /// Of all routes that count.
    fn of_all(&self, counts: impl Fn(&Arc<str>) -> bool) -> Option<u64> {
        let rows = self.memory.routes.iter();
        let ready = rows.filter_map(|(route, row)| Some((route, row.oldest_ready?)));
        let on_disk = self.on_disk.iter().map(|(route, at)| (route, *at));
        let counted = ready.chain(on_disk).filter(|(route, _)| counts(route));
        counted.map(|(_, at)| at).min()
    }

    fn of(&self, route: &str) -> Option<u64> {
        let memory = self.memory.routes.get(route);
        let ready = memory.and_then(|memory| memory.oldest_ready);
        earlier(ready, self.on_disk.get(route).copied())
    }

    /// Returns how long a task due at `since` has waited, in milliseconds.
    fn wait(&self, since: Option<u64>) -> u64 {
        since.map_or(0, |at| self.memory.now.saturating_sub(at))
    }
}

#[cfg(test)]
mod tests;
