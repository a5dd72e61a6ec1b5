//! Requests of operators that only read: counts before a bulk operation, reasons, jobs and the
//! audit.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    list_cursor::ListCursor,
    responder::{Responder, read_blocking},
    task_queries::MAX_READS,
};
use hyper_delay_engine::ledger::{LedgerView, ListingQuery};
use hyper_delay_protocol::{
    BulkAct, BulkMove, BulkRequest, Code, FailureKind, Filter, ReasonRow, Refusal, Reply, TaskState,
};
use hyper_delay_store::{
    Bytes, ReadStore, Space, StoreError,
    record::{AuditLine, sharded_number},
};

/// Counts the tasks that a bulk operation would change.
pub(super) async fn count<S: ReadStore>(responder: Responder<'_, S>, request: BulkRequest) {
    let now = responder.shared.clock.now().wall_millis();
    let most = responder.shared.config.max_delay_days;
    if let Some(moved) = request.act.task_move()
        && let Err(message) = moved.check(now, most.saturating_mul(86_400_000))
    {
        return responder.respond(Ok(Reply::Error(Refusal {
            route: Some(request.route),
            ..Refusal::new(Code::BadField, message)
        })));
    }
    let view = responder.view();
    responder.respond(read_blocking(move || count_matching(&view, request)).await);
}

fn count_matching<S: ReadStore>(
    view: &LedgerView<S>,
    request: BulkRequest,
) -> Result<Reply, StoreError> {
    let BulkRequest {
        act, route, filter, ..
    } = request;
    let (tasks, more) = match act {
        BulkAct::Purge => (view.counts(&route)?.total(), false),
        BulkAct::Kick | BulkAct::Delete if filter == Filter::default() => {
            (view.counts(&route)?.dead, false)
        }
        BulkAct::Kick | BulkAct::Delete => count_listed(view, &route, &filter, &[Space::Dead])?,
        BulkAct::Move(BulkMove { state, .. }) => count_movable(view, &route, &filter, state)?,
    };
    Ok(Reply::Count { route, tasks, more })
}

/// Counts tasks that can be moved. Returns whether there may be more.
fn count_movable<S: ReadStore>(
    view: &LedgerView<S>,
    route: &Arc<str>,
    filter: &Filter,
    state: Option<TaskState>,
) -> Result<(u64, bool), StoreError> {
    let is_all = *filter == Filter::default();
    // Only a task with a last failure has a reason.
    if state == Some(TaskState::Retrying) || filter.reason.is_some() {
        if is_all {
            return Ok((view.retrying(route)?, false));
        }
        let listing = ListingQuery {
            space: Space::Meta,
            route: Some(route),
            filter,
            after: None,
        };
        let page = view.list_retrying(&listing, MAX_READS, MAX_READS)?;
        let state = state.filter(|state| *state != TaskState::Retrying);
        let is_wanted = |of_row| state.is_none_or(|state| state == of_row);
        let rows = page.rows.iter().filter(|(row, _)| is_wanted(row.state));
        return Ok((rows.count() as u64, page.next.is_some()));
    }
    if is_all {
        let counts = view.counts(route)?;
        let tasks = match state {
            Some(TaskState::Waiting) => counts.waiting,
            Some(TaskState::Parked) => counts.parked,
            _ => counts.waiting + counts.parked,
        };
        return Ok((tasks, false));
    }
    match state {
        Some(TaskState::Waiting) => count_listed(view, route, filter, &[Space::Waiting]),
        Some(TaskState::Parked) => count_listed(view, route, filter, &[Space::Parked]),
        _ => count_listed(view, route, filter, &[Space::Parked, Space::Waiting]),
    }
}

/// Counts the tasks that match in these spaces. Returns whether there may be more.
fn count_listed<S: ReadStore>(
    view: &LedgerView<S>,
    route: &Arc<str>,
    filter: &Filter,
    spaces: &[Space],
) -> Result<(u64, bool), StoreError> {
    let (mut tasks, mut left) = (0, MAX_READS);
    for space in spaces {
        let listing = ListingQuery {
            space: *space,
            route: Some(route),
            filter,
            after: None,
        };
        let page = view.list(&listing, left, left)?;
        tasks += page.rows.len() as u64;
        left = left.saturating_sub(page.read);
        if page.next.is_some() || left == 0 {
            return Ok((tasks, true));
        }
    }
    Ok((tasks, false))
}

/// Groups dead letters or retrying tasks by reason.
pub(super) async fn reasons<S: ReadStore>(
    responder: Responder<'_, S>,
    route: Option<Arc<str>>,
    state: TaskState,
    after: Option<Arc<str>>,
) {
    let cursor = match ListCursor::of_state(state, route.as_ref(), after.as_ref()) {
        Ok(cursor) => cursor,
        Err(refusal) => return responder.reply(Reply::Error(refusal)),
    };
    let (view, budget) = (responder.view(), RowBudget::new(responder.row_bytes()));
    responder.respond(
        read_blocking(move || group_by_reason(&view, route.as_deref(), cursor, budget)).await,
    );
}

fn group_by_reason<S: ReadStore>(
    view: &LedgerView<S>,
    route: Option<&str>,
    cursor: ListCursor,
    mut budget: RowBudget,
) -> Result<Reply, StoreError> {
    let listing = ListingQuery {
        space: cursor.space(),
        route,
        filter: &Filter::default(),
        after: cursor.key(),
    };
    let (failed, next) = failed_tasks(view, &listing, cursor.state())?;
    let mut groups: BTreeMap<FailureGroup, u64> = BTreeMap::new();
    let mut next = next.map(|key| cursor.after(&key));
    let mut before = cursor.clone();
    for (key, group) in failed {
        if !groups.contains_key(&group) {
            let longest = group.row(MAX_READS as u64);
            if !budget.reserve(longest.length()) {
                next = Some(before);
                break;
            }
        }
        *groups.entry(group).or_default() += 1;
        before = cursor.after(&key);
    }
    let rows = groups.into_iter();
    let reasons = rows.map(|(group, tasks)| group.row(tasks));
    Ok(Reply::Reasons {
        reasons: reasons.collect(),
        next: next.map(|cursor| cursor.to_text()),
    })
}

/// What tasks have in common that are counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FailureGroup {
    route: Arc<str>,
    reason: Arc<str>,
    failure: Option<FailureKind>,
}

impl FailureGroup {
    fn row(&self, tasks: u64) -> ReasonRow {
        ReasonRow {
            route: self.route.clone(),
            reason: self.reason.clone(),
            failure: self.failure,
            tasks,
        }
    }
}

/// Tasks with their keys, and the key after which there may be more.
type FailedTasks = (Vec<(Bytes, FailureGroup)>, Option<Bytes>);

/// Returns dead letters or retrying tasks.
fn failed_tasks<S: ReadStore>(
    view: &LedgerView<S>,
    listing: &ListingQuery<'_>,
    state: TaskState,
) -> Result<FailedTasks, StoreError> {
    if state == TaskState::Retrying {
        let page = view.list_retrying(listing, MAX_READS, MAX_READS)?;
        let tasks = page.rows.into_iter().map(|(row, name)| {
            let failure = name.failure.as_deref();
            let reason = failure.and_then(|failure| failure.reason.clone());
            let group = FailureGroup {
                route: row.route,
                reason: reason.unwrap_or_default(),
                failure: failure.map(|failure| failure.kind),
            };
            (row.key, group)
        });
        return Ok((tasks.collect(), page.next));
    }
    let page = view.list(listing, MAX_READS, MAX_READS)?;
    let tasks = page.rows.into_iter().map(|row| {
        let group = FailureGroup {
            route: row.route,
            reason: row.reason.unwrap_or_default(),
            failure: None,
        };
        (row.key, group)
    });
    Ok((tasks.collect(), page.next.map(|(key, _)| key)))
}

/// Lists the bulk operations, the newest first.
pub(super) async fn jobs<S: ReadStore>(responder: Responder<'_, S>) {
    let (view, mut budget) = (responder.view(), RowBudget::new(responder.row_bytes()));
    let listed = read_blocking(move || {
        let jobs = view.jobs()?.into_iter().rev();
        let jobs = jobs.map(|(id, job)| job.row(id));
        let fits = jobs.take_while(|row| budget.reserve(row.length()));
        Ok(Reply::Jobs(fits.collect()))
    });
    responder.respond(listed.await);
}

/// Lists the lines of the audit before the one with a number, the newest first.
pub(super) async fn audit<S: ReadStore>(
    responder: Responder<'_, S>,
    before: Option<u64>,
    limit: u16,
) {
    let (view, mut budget) = (responder.view(), RowBudget::new(responder.row_bytes()));
    let listed = read_blocking(move || {
        let mut lines = view.audit()?;
        if let Some(before) = before {
            // The numbers of a shard grow with time; those of different shards tell no order.
            let shard = sharded_number::shard_of(before);
            let is_reached = |line: &AuditLine| {
                sharded_number::shard_of(line.number) == shard && line.number >= before
            };
            let end = lines.iter().position(is_reached);
            lines.truncate(end.unwrap_or(lines.len()));
        }
        let all = lines.len();
        let rows = lines.iter().rev().map(|line| line.row());
        let rows = rows.take(limit.into());
        let lines: Vec<_> = rows
            .take_while(|row| budget.reserve(row.length()))
            .collect();
        let more = lines.len() < all;
        Ok(Reply::Audit { lines, more })
    });
    responder.respond(listed.await);
}

/// The room for the rows of a list. The first row has room always: a list that has any makes
/// progress, however short the lines are.
struct RowBudget {
    left: usize,
    is_empty: bool,
}

impl RowBudget {
    const fn new(left: usize) -> Self {
        Self {
            left,
            is_empty: true,
        }
    }

    /// Takes the room for a row, if there is enough.
    fn reserve(&mut self, length: usize) -> bool {
        let left = self.left.checked_sub(length + 1);
        let fits = left.is_some() || self.is_empty;
        self.left = left.unwrap_or_default();
        self.is_empty = false;
        fits
    }
}

#[cfg(test)]
mod tests;
