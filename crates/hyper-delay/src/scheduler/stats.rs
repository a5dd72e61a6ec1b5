use std::{collections::BTreeMap, mem, sync::Arc};

use super::{ConsumerId, Scheduler, live::State};
use crate::{
    protocol::{Counts, Reply, RouteStats, Stats},
    store::Store,
};

impl<S: Store> Scheduler<S> {
    /// Adds what only memory knows to the counts of what is on disk.
    pub(super) fn stats(
        &mut self,
        consumer: ConsumerId,
        mut stats: Box<Stats>,
        route: Option<Arc<str>>,
        after: Option<Arc<str>>,
        tag: Option<Arc<str>>,
        weight: u32,
    ) {
        stats.connections = self.consumers.len() as u64;
        stats.unknown_acks = self.unknown_acks;
        let last = stats.routes.last().map(|last| last.route.clone());
        let listed = |name: &Arc<str>| match &route {
            Some(route) => name == route,
            None => {
                after.as_ref().is_none_or(|after| name > after)
                    && (!stats.more || last.as_ref().is_some_and(|last| name <= last))
            }
        };
        let mut routes: BTreeMap<Arc<str>, RouteStats> = mem::take(&mut stats.routes)
            .into_iter()
            .map(|row| (row.route.clone(), row))
            .collect();
        for (name, state) in self.routes.iter().filter(|(name, _)| listed(name)) {
            row(&mut routes, name).consumers = state.consumers.len() as u64;
        }
        for (consumer, state) in &self.consumers {
            for copy in state.copies() {
                if self.is_first_of(*consumer, copy.seq) {
                    stats.counts.in_flight += 1;
                    if listed(&copy.route) {
                        row(&mut routes, &copy.route).counts.in_flight += 1;
                    }
                }
            }
        }
        let mut routes = routes.into_values().collect();
        let mut reply = Reply::Stats(stats);
        let mut line = Vec::new();
        reply.encode(tag.as_deref(), &mut line);
        let cut = cut(
            &mut routes,
            self.settings.max_line_bytes.saturating_sub(line.len()),
        );
        if let Reply::Stats(stats) = &mut reply {
            stats.routes = routes;
            stats.more |= cut;
        }
        self.reply(consumer, reply, tag, weight);
    }

    /// Whether a task is in flight, and a consumer has the first copy of it.
    fn is_first_of(&self, consumer: ConsumerId, seq: u64) -> bool {
        self.tasks.get(&seq).is_some_and(|task| match &task.state {
            State::InFlight { copies, .. } => copies.iter().next() == Some(consumer),
            _ => false,
        })
    }
}

fn row<'a>(routes: &'a mut BTreeMap<Arc<str>, RouteStats>, name: &Arc<str>) -> &'a mut RouteStats {
    routes.entry(name.clone()).or_insert_with(|| RouteStats {
        route: name.clone(),
        counts: Counts::default(),
        consumers: 0,
        orphaned: false,
    })
}

/// Drops what would not fit into so many bytes, and tells whether there was such.
fn cut(routes: &mut Vec<RouteStats>, mut room: usize) -> bool {
    let fits = routes.iter().take(1000).take_while(|row| {
        let length = row.length() + 1;
        let fits = room >= length;
        room = room.saturating_sub(length);
        fits
    });
    let count = fits.count();
    let cut = count < routes.len();
    routes.truncate(count);
    cut
}
