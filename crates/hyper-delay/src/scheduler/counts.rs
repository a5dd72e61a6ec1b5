use std::{collections::BTreeMap, mem, sync::Arc};

use super::{ConsumerId, CountsAsked, Scheduler};
use crate::{
    access::Right,
    protocol::{Reply, RouteStats, Stats},
    store::Store,
};

impl<S: Store> Scheduler<S> {
    /// Adds what only memory knows to the counts on disk, and replies with them.
    pub(super) fn counts(&mut self, asked: CountsAsked) {
        let CountsAsked {
            mut stats,
            route,
            after,
            grant,
            reply_to,
        } = asked;
        let is_permitted = |name: &str| {
            let mut grant = grant.iter();
            grant.all(|grant| grant.allows(Right::Admin, name))
        };
        stats.connections = self.consumers.len() as u64;
        stats.unknown_acks = self.metrics.unknown_answers.value();
        let last = stats.routes.last().map(|last| last.route.clone());
        let is_listed = |name: &Arc<str>| match &route {
            Some(route) => name == route,
            None if !is_permitted(name) => false,
            None => {
                after.as_ref().is_none_or(|after| name > after)
                    && (!stats.more || last.as_ref().is_some_and(|last| name <= last))
            }
        };
        let mut rows: BTreeMap<Arc<str>, RouteStats> = mem::take(&mut stats.routes)
            .into_iter()
            .map(|row| (row.route.clone(), row))
            .collect();
        for (name, state) in self.routes.iter().filter(|(name, _)| is_listed(name)) {
            row(&mut rows, name).consumers = state.len() as u64;
        }
        for name in self.paused.iter().filter(|name| is_listed(name)) {
            row(&mut rows, name).paused = true;
        }
        let mut in_flight = 0;
        for (consumer, _, copy) in self.consumers.in_flight() {
            if is_permitted(&copy.route) && self.is_first_of(consumer, copy.seq) {
                in_flight += 1;
                if is_listed(&copy.route) {
                    row(&mut rows, &copy.route).counts.in_flight += 1;
                }
            }
        }
        stats.counts.in_flight += in_flight;
        let mut rows = rows.into_values().collect();
        let mut reply = Reply::Stats(Box::new(stats));
        let mut line = Vec::new();
        reply.encode(reply_to.tag.as_deref(), &mut line);
        let room = self.settings.max_line_bytes.saturating_sub(line.len());
        let is_cut = cut(&mut rows, room);
        if let Reply::Stats(stats) = &mut reply {
            stats.routes = rows;
            stats.more |= is_cut;
        }
        self.reply(reply_to, reply);
    }

    /// Whether a task is in flight, and a consumer has the first live copy of it.
    fn is_first_of(&self, consumer: ConsumerId, seq: u64) -> bool {
        let round = self.tasks.round(seq);
        round.is_some_and(|round| round.holders().next() == Some(consumer))
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
