//! The counts of tasks.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashMap;

use super::responder::{Responder, read_blocking};
use hyper_delay_engine::{
    front::{FrontInput, StatsRequest},
    ledger::LedgerView,
    scheduler::RouteSelection,
};
use hyper_delay_protocol::{
    Counts, RouteStats, Stats,
    access::{Grant, Right},
    own_route::OwnRoute,
};
use hyper_delay_store::{ReadStore, StoreError, record};

/// Reads the counts on disk. The scheduler completes the reply.
pub(super) async fn stats<S: ReadStore>(
    responder: Responder<'_, S>,
    route: Option<Arc<str>>,
    after: Option<Arc<str>>,
    grant: Option<Arc<Grant>>,
) {
    let view = responder.view();
    let (one, from, of) = (route.clone(), after.clone(), grant.clone());
    let read = read_blocking(move || {
        let is_listed = |name: &str| match &one {
            Some(one) => name == &**one,
            None => from.as_ref().is_none_or(|from| name > &**from),
        };
        counts(&view, of.as_deref(), is_listed)
    });
    match read.await {
        Ok((stats, own)) => responder.pass_to_scheduler(|reply_to| {
            FrontInput::Stats(Box::new(StatsRequest {
                stats,
                own,
                selection: RouteSelection {
                    route,
                    after,
                    grant,
                },
                reply_to,
            }))
        }),
        Err(error) => responder.read_failed(route, error),
    }
}

/// Returns the sums, the rows of the first listed routes in order of name, and whether there are
/// others; then the routes that servers have made, whose tasks all count as orphaned, with the
/// number of their tasks. With a grant, all of this is of the routes of which it allows the
/// administration.
fn counts<S: ReadStore>(
    view: &LedgerView<S>,
    of: Option<&Grant>,
    is_listed: impl Fn(&str) -> bool,
) -> Result<(Stats, FxHashMap<OwnRoute, u64>), StoreError> {
    let mut stats = Stats::default();
    if of.is_none() {
        stats.counts = Counts {
            retrying: view.retrying("")?,
            ..on_disk(view.totals()?)
        };
    }
    let mut first = BTreeMap::new();
    let mut own = FxHashMap::default();
    // They are ordered by length first, so all are read.
    view.routes(|name, counts| {
        if let Some(grant) = of {
            if !grant.allows(Right::Admin, name) {
                return;
            }
            stats.counts.waiting += counts.waiting;
            stats.counts.parked += counts.parked;
            stats.counts.dead += counts.dead;
        }
        let made = OwnRoute::parse(name);
        if let Some(route) = made {
            stats.orphaned += counts.total();
            own.insert(route, counts.total());
        }
        if is_listed(name) {
            let row = RouteStats {
                route: name.into(),
                counts: on_disk(counts),
                orphaned: made.is_some(),
                ..RouteStats::default()
            };
            first.insert(row.route.clone(), row);
        }
        if first.len() > Stats::MAX_ROUTES {
            first.pop_last();
            stats.more = true;
        }
    })?;
    stats.routes = first.into_values().collect();
    add_retrying(view, of, &mut stats)?;
    Ok((stats, own))
}

/// Adds the numbers of retrying tasks to the rows and, with a grant, their sum.
fn add_retrying<S: ReadStore>(
    view: &LedgerView<S>,
    of: Option<&Grant>,
    stats: &mut Stats,
) -> Result<(), StoreError> {
    let mut sum = 0;
    view.retrying_counts(|route, retrying| {
        if of.is_some_and(|grant| !grant.allows(Right::Admin, route)) {
            return;
        }
        sum += retrying;
        // The rows are in order of name.
        let row = stats.routes.binary_search_by(|row| (*row.route).cmp(route));
        if let Ok(row) = row {
            stats.routes[row].counts.retrying = retrying;
        }
    })?;
    if of.is_some() {
        stats.counts.retrying = sum;
    }
    Ok(())
}

const fn on_disk(counts: record::StoredCounts) -> Counts {
    Counts {
        waiting: counts.waiting,
        parked: counts.parked,
        in_flight: 0,
        dead: counts.dead,
        retrying: 0,
    }
}

#[cfg(test)]
mod tests;
