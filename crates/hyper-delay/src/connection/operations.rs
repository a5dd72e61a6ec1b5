//! Requests of operators that only read: counts before a bulk operation, reasons, jobs and the
//! audit.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Shared,
    ask_disk::{answer, read, reply},
    cursor::Cursor,
    look::{AROUND, READS},
};
use crate::{
    ledger::{Listing, View},
    outbox::Outbox,
    protocol::{BulkAct, BulkRequest, Filter, ReasonRow, Reply},
    scheduler::ReplyTo,
    store::{Space, Store, StoreError},
};

/// Counts the tasks that a bulk operation would change.
pub(super) async fn count<S: Store>(
    shared: &Arc<Shared<S>>,
    outbox: &Arc<Outbox>,
    asked: BulkRequest,
    reply_to: ReplyTo,
) {
    let view = View::new(shared.store.clone());
    let counted = read(move || counted(&view, asked)).await;
    answer(shared, outbox, reply_to, counted);
}

fn counted<S: Store>(view: &View<S>, asked: BulkRequest) -> Result<Reply, StoreError> {
    let BulkRequest {
        act, route, filter, ..
    } = asked;
    let (tasks, more) = if act == BulkAct::Purge || filter == Filter::default() {
        let counts = view.counts(&route)?;
        match act {
            BulkAct::Purge => (counts.waiting + counts.parked + counts.dead, false),
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
pub(super) async fn reasons<S: Store>(
    shared: &Arc<Shared<S>>,
    outbox: &Arc<Outbox>,
    (route, after): (Option<Arc<str>>, Option<Arc<str>>),
    reply_to: ReplyTo,
) {
    let cursor = match Cursor::of_dead(route.as_ref(), after.as_ref()) {
        Ok(cursor) => cursor,
        Err(refusal) => return reply(outbox, reply_to, Reply::Error(refusal)),
    };
    let view = View::new(shared.store.clone());
    let room = Room::of(shared.config.max_line_bytes);
    let grouped = read(move || grouped(&view, route.as_deref(), cursor, room)).await;
    answer(shared, outbox, reply_to, grouped);
}

fn grouped<S: Store>(
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
pub(super) async fn jobs<S: Store>(
    shared: &Arc<Shared<S>>,
    outbox: &Arc<Outbox>,
    reply_to: ReplyTo,
) {
    let view = View::new(shared.store.clone());
    let mut room = Room::of(shared.config.max_line_bytes);
    let listed = read(move || {
        let jobs = view.jobs()?.into_iter().rev();
        let jobs = jobs.map(|(id, job)| job.row(id));
        let fits = jobs.take_while(|row| room.take(row.length()));
        Ok(Reply::Jobs(fits.collect()))
    });
    answer(shared, outbox, reply_to, listed.await);
}

/// Lists the lines of the audit before a number, the newest first.
pub(super) async fn audit<S: Store>(
    shared: &Arc<Shared<S>>,
    outbox: &Arc<Outbox>,
    (before, limit): (Option<u64>, u16),
    reply_to: ReplyTo,
) {
    let view = View::new(shared.store.clone());
    let mut room = Room::of(shared.config.max_line_bytes);
    let listed = read(move || {
        let mut lines = view.audit()?;
        lines.retain(|line| before.is_none_or(|before| line.number < before));
        lines.sort_unstable_by_key(|line| std::cmp::Reverse(line.number));
        let all = lines.len();
        let rows = lines.iter().map(|line| line.row()).take(limit.into());
        let lines: Vec<_> = rows.take_while(|row| room.take(row.length())).collect();
        let more = lines.len() < all;
        Ok(Reply::Audit { lines, more })
    });
    answer(shared, outbox, reply_to, listed.await);
}

/// The room for the rows of a list. The first row has room always: a list that has any makes
/// progress, however short the lines are.
struct Room {
    left: usize,
    is_empty: bool,
}

impl Room {
    fn of(max_line_bytes: usize) -> Self {
        Self {
            left: max_line_bytes.saturating_sub(AROUND),
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
