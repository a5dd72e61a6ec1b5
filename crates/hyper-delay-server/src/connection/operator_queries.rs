//! Requests of operators that only read: counts before a bulk operation, reasons, jobs and the
//! audit.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    list_cursor::ListCursor,
    responder::{Responder, read_blocking},
    task_queries::MAX_READS,
};
use hyper_delay_engine::ledger::{LedgerView, ListingQuery};
use hyper_delay_protocol::{BulkAct, BulkRequest, Filter, ReasonRow, Reply};
use hyper_delay_store::{
    ReadStore, Space, StoreError,
    record::{AuditLine, sharded_number},
};

/// Counts the tasks that a bulk operation would change.
pub(super) async fn count<S: ReadStore>(responder: Responder<'_, S>, request: BulkRequest) {
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
    let (tasks, more) = if act == BulkAct::Purge || filter == Filter::default() {
        let counts = view.counts(&route)?;
        match act {
            BulkAct::Purge => (counts.total(), false),
            BulkAct::Kick | BulkAct::Delete => (counts.dead, false),
        }
    } else {
        let listing = ListingQuery {
            space: Space::Dead,
            route: Some(&route),
            filter: &filter,
            after: None,
        };
        let page = view.list(&listing, MAX_READS, MAX_READS)?;
        (page.rows.len() as u64, page.next.is_some())
    };
    Ok(Reply::Count { route, tasks, more })
}

/// Groups dead letters by reason.
pub(super) async fn reasons<S: ReadStore>(
    responder: Responder<'_, S>,
    route: Option<Arc<str>>,
    after: Option<Arc<str>>,
) {
    let cursor = match ListCursor::for_dead_letters(route.as_ref(), after.as_ref()) {
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
        space: Space::Dead,
        route,
        filter: &Filter::default(),
        after: cursor.key(),
    };
    let page = view.list(&listing, MAX_READS, MAX_READS)?;
    let mut groups: BTreeMap<(Arc<str>, Arc<str>), u64> = BTreeMap::new();
    let mut next = page.next.map(|(key, _)| cursor.after(&key));
    let mut before = cursor.clone();
    for row in page.rows {
        let group = (row.route, row.reason.unwrap_or_default());
        if !groups.contains_key(&group) {
            let longest = ReasonRow {
                route: group.0.clone(),
                reason: group.1.clone(),
                tasks: MAX_READS as u64,
            };
            if !budget.reserve(longest.length()) {
                next = Some(before);
                break;
            }
        }
        *groups.entry(group).or_default() += 1;
        before = cursor.after(&row.key);
    }
    let rows = groups.into_iter();
    let reasons = rows.map(|((route, reason), tasks)| ReasonRow {
        route,
        reason,
        tasks,
    });
    Ok(Reply::Reasons {
        reasons: reasons.collect(),
        next: next.map(|cursor| cursor.to_text()),
    })
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
