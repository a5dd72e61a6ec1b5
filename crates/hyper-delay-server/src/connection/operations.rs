//! Requests of operators that only read: counts before a bulk operation, reasons, jobs and the
//! audit.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    asker::{Asker, read},
    cursor::Cursor,
    look::READS,
};
use hyper_delay_engine::ledger::{Listing, View};
use hyper_delay_protocol::{BulkAct, BulkRequest, Filter, ReasonRow, Reply};
use hyper_delay_store::{
    ReadStore, Space, StoreError,
    record::{AuditLine, number},
};

/// Counts the tasks that a bulk operation would change.
pub(super) async fn count<S: ReadStore>(asker: Asker<'_, S>, asked: BulkRequest) {
    let view = asker.view();
    asker.answer(read(move || counted(&view, asked)).await);
}

fn counted<S: ReadStore>(view: &View<S>, asked: BulkRequest) -> Result<Reply, StoreError> {
    let BulkRequest {
        act, route, filter, ..
    } = asked;
    let (tasks, more) = if act == BulkAct::Purge || filter == Filter::default() {
        let counts = view.counts(&route)?;
        match act {
            BulkAct::Purge => (counts.total(), false),
            BulkAct::Kick | BulkAct::Delete => (counts.dead, false),
        }
    } else {
        let listing = Listing {
            space: Space::Dead,
            route: Some(&route),
            filter: &filter,
            after: None,
        };
        let page = view.list(&listing, READS, READS)?;
        (page.rows.len() as u64, page.next.is_some())
    };
    Ok(Reply::Count { route, tasks, more })
}

/// Groups dead letters by reason.
pub(super) async fn reasons<S: ReadStore>(
    asker: Asker<'_, S>,
    (route, after): (Option<Arc<str>>, Option<Arc<str>>),
) {
    let cursor = match Cursor::of_dead(route.as_ref(), after.as_ref()) {
        Ok(cursor) => cursor,
        Err(refusal) => return asker.reply(Reply::Error(refusal)),
    };
    let (view, room) = (asker.view(), Room::new(asker.room()));
    asker.answer(read(move || grouped(&view, route.as_deref(), cursor, room)).await);
}

fn grouped<S: ReadStore>(
    view: &View<S>,
    route: Option<&str>,
    cursor: Cursor,
    mut room: Room,
) -> Result<Reply, StoreError> {
    let listing = Listing {
        space: Space::Dead,
        route,
        filter: &Filter::default(),
        after: cursor.key(),
    };
    let page = view.list(&listing, READS, READS)?;
    let mut groups: BTreeMap<(Arc<str>, Arc<str>), u64> = BTreeMap::new();
    let mut next = page.next.map(|(key, _)| cursor.after(&key));
    let mut before = cursor.clone();
    for row in page.rows {
        let group = (row.route, row.reason.unwrap_or_default());
        if !groups.contains_key(&group) {
            let longest = ReasonRow {
                route: group.0.clone(),
                reason: group.1.clone(),
                tasks: READS as u64,
            };
            if !room.take(longest.length()) {
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
pub(super) async fn jobs<S: ReadStore>(asker: Asker<'_, S>) {
    let (view, mut room) = (asker.view(), Room::new(asker.room()));
    let listed = read(move || {
        let jobs = view.jobs()?.into_iter().rev();
        let jobs = jobs.map(|(id, job)| job.row(id));
        let fits = jobs.take_while(|row| room.take(row.length()));
        Ok(Reply::Jobs(fits.collect()))
    });
    asker.answer(listed.await);
}

/// Lists the lines of the audit before the one with a number, the newest first.
pub(super) async fn audit<S: ReadStore>(asker: Asker<'_, S>, (before, limit): (Option<u64>, u16)) {
    let (view, mut room) = (asker.view(), Room::new(asker.room()));
    let listed = read(move || {
        let mut lines = view.audit()?;
        if let Some(before) = before {
            // The numbers of a shard grow with time; those of different shards tell no order.
            let shard = number::shard_of(before);
            let is_reached =
                |line: &AuditLine| number::shard_of(line.number) == shard && line.number >= before;
            let end = lines.iter().position(is_reached);
            lines.truncate(end.unwrap_or(lines.len()));
        }
        let all = lines.len();
        let rows = lines.iter().rev().map(|line| line.row());
        let rows = rows.take(limit.into());
        let lines: Vec<_> = rows.take_while(|row| room.take(row.length())).collect();
        let more = lines.len() < all;
        Ok(Reply::Audit { lines, more })
    });
    asker.answer(listed.await);
}

/// The room for the rows of a list. The first row has room always: a list that has any makes
/// progress, however short the lines are.
struct Room {
    left: usize,
    is_empty: bool,
}

impl Room {
    const fn new(left: usize) -> Self {
        Self {
            left,
            is_empty: true,
        }
    }

    /// Takes the room for a row, if there is enough.
    fn take(&mut self, length: usize) -> bool {
        let left = self.left.checked_sub(length + 1);
        let fits = left.is_some() || self.is_empty;
        self.left = left.unwrap_or_default();
        self.is_empty = false;
        fits
    }
}
