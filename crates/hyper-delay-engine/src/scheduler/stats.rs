use std::{collections::BTreeMap, mem, sync::Arc};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{ConsumerId, Scheduler};
use hyper_delay_protocol::{
    Reply, RouteStats, Stats,
    access::{Grant, Right},
    own_route::OwnRoute,
};
use hyper_delay_store::Store;

/// The part of the reply to `stats` that only a scheduler's memory has.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct StatsFromMemory {
    /// Tasks in flight on the routes that may be counts.
    in_flight: u64,
    /// The first of those routes that have consumers or tasks in flight, or are paused.
    routes: BTreeMap<Arc<str>, RouteStatsFromMemory>,
    /// Whether there are more.
    more: bool,
    /// The routes with consumers that servers have made, all that may be counts.
    served: Vec<OwnRoute>,
}

/// The part of a route's row that only a scheduler's memory has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
struct RouteStatsFromMemory {
    consumers: u64,
    in_flight: u64,
    paused: bool,
}

/// The part of the reply to `stats` that the disk has.
#[derive(Debug)]
pub(crate) struct StatsFromDisk {
    /// All tasks on routes that servers have made count as orphaned.
    pub(crate) stats: Stats,
    /// Those routes, with the number of their tasks.
    pub(crate) own: FxHashMap<OwnRoute, u64>,
}

/// The routes whose counts are requested.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct RouteSelection {
    /// Only of this one.
    pub route: Option<Arc<str>>,
    /// Only of those after this one.
    pub after: Option<Arc<str>>,
    /// Only of those of which this allows the administration. `None`: all.
    #[serde(with = "hyper_delay_protocol::access::forwarded_grant")]
    pub grant: Option<Arc<Grant>>,
}

impl RouteSelection {
    fn is_permitted(&self, name: &str) -> bool {
        let mut grant = self.grant.iter();
        grant.all(|grant| grant.allows(Right::Admin, name))
    }

    fn selects(&self, name: &str) -> bool {
        match &self.route {
            Some(route) => name == &**route,
            None => {
                self.after.as_ref().is_none_or(|after| name > &**after) && self.is_permitted(name)
            }
        }
    }
}

impl<S: Store> Scheduler<S> {
    /// Returns the counts that only memory has.
    #[must_use]
    pub fn stats_from_memory(&self, selection: &RouteSelection) -> StatsFromMemory {
        let mut counts = StatsFromMemory::default();
        for (name, state) in self.routes.iter() {
            if selection.selects(name) {
                counts.row(name).consumers = state.len() as u64;
            }
            let own = OwnRoute::parse(name);
            counts
                .served
                .extend(own.filter(|_| selection.is_permitted(name)));
        }
        for name in self
            .paused
            .on_disk()
            .iter()
            .filter(|name| selection.selects(name))
        {
            counts.row(name).paused = true;
        }
        for (consumer, copy) in self.consumers.in_flight() {
            if selection.is_permitted(&copy.route) && self.is_first_holder(consumer, copy.seq) {
                counts.in_flight += 1;
                if selection.selects(&copy.route) {
                    counts.row(&copy.route).in_flight += 1;
                }
            }
        }
        counts.cut();
        counts
    }

    /// Returns whether a route has consumers. If not, and a server has made it, its tasks are
    /// orphaned.
    #[must_use]
    pub fn has_consumers(&self, route: &str) -> bool {
        self.routes.get(route).is_some()
    }

    /// Whether a task is in flight, and a consumer has the first live copy of it.
    fn is_first_holder(&self, consumer: ConsumerId, seq: u64) -> bool {
        let round = self.tasks.round(seq);
        round.is_some_and(|round| round.holders().next() == Some(consumer))
    }
}

impl StatsFromMemory {
    fn row(&mut self, name: &Arc<str>) -> &mut RouteStatsFromMemory {
        if !self.routes.contains_key(name) {
            self.routes
                .insert(name.clone(), RouteStatsFromMemory::default());
        }
        self.routes.get_mut(name).expect("it was inserted")
    }

    /// Leaves no more rows than a reply can have.
    fn cut(&mut self) {
        if let Some(name) = self.routes.keys().nth(Stats::MAX_ROUTES).cloned() {
            self.routes.split_off(&name);
            self.more = true;
        }
    }
}

impl StatsFromDisk {
    /// Returns the reply: the counts on disk, with what the memory of each scheduler knows of them. A
    /// line has room for `max_line_bytes`.
    pub(crate) fn complete(
        self,
        counts: impl IntoIterator<Item = StatsFromMemory>,
        tag: Option<&str>,
        max_line_bytes: usize,
    ) -> Reply {
        let Self { mut stats, own } = self;
        let counts: Vec<StatsFromMemory> = counts.into_iter().collect();
        let served = counts.iter().flat_map(|counts| &counts.served);
        let served: FxHashSet<OwnRoute> = served.copied().collect();
        stats.orphaned -= served
            .iter()
            .filter_map(|route| own.get(route))
            .sum::<u64>();
        // Beyond the last row there are more on the disk, which a row must not hide.
        let last = stats.routes.last().map(|last| last.route.clone());
        let last = last.filter(|_| stats.more);
        let mut rows: BTreeMap<Arc<str>, RouteStats> = mem::take(&mut stats.routes)
            .into_iter()
            .map(|mut row| {
                let own = OwnRoute::parse(&row.route);
                row.orphaned &= own.is_none_or(|route| !served.contains(&route));
                (row.route.clone(), row)
            })
            .collect();
        for counts in counts {
            stats.counts.in_flight += counts.in_flight;
            stats.more |= counts.more;
            for (name, of_route) in counts.routes {
                if last.as_ref().is_some_and(|last| name > *last) {
                    break;
                }
                let row = row(&mut rows, &name);
                row.consumers = of_route.consumers;
                row.paused = of_route.paused;
                row.counts.in_flight = of_route.in_flight;
            }
        }
        let mut rows = rows.into_values().collect();
        let mut reply = Reply::Stats(Box::new(stats));
        let mut line = Vec::new();
        reply.encode(tag, &mut line);
        let room = max_line_bytes.saturating_sub(line.len());
        let is_cut = cut(&mut rows, room);
        if let Reply::Stats(stats) = &mut reply {
            stats.routes = rows;
            stats.more |= is_cut;
        }
        reply
    }
}

fn row<'a>(rows: &'a mut BTreeMap<Arc<str>, RouteStats>, name: &Arc<str>) -> &'a mut RouteStats {
    rows.entry(name.clone()).or_insert_with(|| RouteStats {
        route: name.clone(),
        ..RouteStats::default()
    })
}

/// Drops the rows that do not fit into `room` bytes. Returns whether there were any.
fn cut(rows: &mut Vec<RouteStats>, mut room: usize) -> bool {
    let fits = rows.iter().take(Stats::MAX_ROUTES).take_while(|row| {
        let length = row.length() + 1;
        let fits = room >= length;
        room = room.saturating_sub(length);
        fits
    });
    let count = fits.count();
    let is_cut = count < rows.len();
    rows.truncate(count);
    is_cut
}
