//! Requests for single tasks and for lists. Each reads a bounded number of keys, whatever the store
//! has.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::Arc,
};

use super::{
    list_cursor::ListCursor,
    responder::{LINE_OVERHEAD, Responder, read_blocking},
};
use hyper_delay_engine::{
    front::{FrontInput, TaskLookup},
    ledger::{LedgerView, ListingQuery, ListingRow, Position},
};
use hyper_delay_protocol::{
    Content, Headers, LastFailure, ListRequest, Reply, TaskState, TaskView,
};
use hyper_delay_store::{ReadStore, StoreError};

/// The most keys that a request asks for. With those behind the ends of what it reads, it reads at
/// most 2,000.
pub(super) const MAX_READS: usize = 1_950;

/// The bytes of base64 that a payload needs.
const fn base64_length(length: usize) -> usize {
    length.div_ceil(3) * 4
}

/// Reads one task. The scheduler completes the reply.
pub(super) async fn get<S: ReadStore>(
    responder: Responder<'_, S>,
    route: Arc<str>,
    id: Arc<str>,
    payload: bool,
) {
    let view = responder.view();
    let line = responder.shared.config.max_line_bytes;
    let of = (route.clone(), id.clone());
    let task = read_blocking(move || task(&view, &of.0, &of.1, payload, line)).await;
    match task {
        Ok(Some((seq, task))) => {
            let task = Some(Box::new(task));
            let reply = Reply::Task { route, id, task };
            pass_to_scheduler(responder, vec![seq], reply);
        }
        Ok(None) => {
            let task = None;
            responder.reply(Reply::Task { route, id, task });
        }
        Err(error) => responder.read_failed(Some(route), error),
    }
}

/// Lists tasks. The scheduler completes the reply.
pub(super) async fn list<S: ReadStore>(responder: Responder<'_, S>, request: ListRequest) {
    let cursor = match ListCursor::begin(&request) {
        Ok(cursor) => cursor,
        Err(refusal) => return responder.reply(Reply::Error(refusal)),
    };
    let view = responder.view();
    let route = request.route.clone();
    let room = responder.row_bytes();
    match read_blocking(move || list_page(&view, &request, cursor, room)).await {
        Ok((seqs, answer)) => pass_to_scheduler(responder, seqs, answer),
        Err(error) => responder.read_failed(route, error),
    }
}

/// Passes a reply to the scheduler, which marks the tasks in flight and sends it.
fn pass_to_scheduler<S>(responder: Responder<'_, S>, seqs: Vec<u64>, reply: Reply) {
    responder.pass_to_scheduler(|reply_to| {
        FrontInput::TaskLookup(Box::new(TaskLookup {
            seqs,
            reply,
            reply_to,
        }))
    });
}

fn task<S: ReadStore>(
    view: &LedgerView<S>,
    route: &Arc<str>,
    id: &Arc<str>,
    payload: bool,
    line: usize,
) -> Result<Option<(u64, TaskView)>, StoreError> {
    let Some(name) = view.name(route, id)? else {
        return Ok(None);
    };
    let (state, at) = (name.place.state(), name.place.at());
    let died = Position { at, seq: name.seq };
    let mut task = TaskView {
        route: route.clone(),
        id: id.clone(),
        state,
        fire_at: name.fire_at,
        at,
        attempt: name.attempt,
        reason: match state {
            TaskState::Dead => view.reason(route, died)?,
            _ => None,
        },
        last_failure: name.failure,
        terms: name.terms,
        content: None,
    };
    if payload {
        // The tag can be all escapes.
        let room = line.saturating_sub(task.length() + LINE_OVERHEAD);
        task.content = content(view, name.seq, room)?;
    }
    Ok(Some((name.seq, task)))
}

/// Returns the tasks from a cursor on with their sequence numbers.
fn list_page<S: ReadStore>(
    view: &LedgerView<S>,
    request: &ListRequest,
    cursor: ListCursor,
    mut room: usize,
) -> Result<(Vec<u64>, Reply), StoreError> {
    let mut reads_left = MAX_READS;
    let (mut seqs, mut tasks) = (Vec::new(), Vec::new());
    let mut cursor = Some(cursor);
    'spaces: while let Some(at) = cursor.take() {
        let of_each = reads_of_task(request.payload);
        let most = (usize::from(request.limit) - tasks.len()).min(reads_left / (1 + of_each));
        if most == 0 {
            cursor = Some(at);
            break;
        }
        let listing = ListingQuery {
            space: at.space(),
            route: request.route.as_deref(),
            filter: &request.filter,
            after: at.key(),
        };
        let (rows, read, next) = match at.state() {
            TaskState::Retrying => {
                let page = view.list_retrying(&listing, most, reads_left - of_each * most)?;
                let rows = page.rows.into_iter().map(|(row, _)| row).collect();
                (rows, page.read, page.next)
            }
            _ => {
                let page = view.list(&listing, most, reads_left - of_each * most)?;
                (page.rows, page.read, page.next.map(|(key, _)| key))
            }
        };
        reads_left = reads_left.saturating_sub(read + reads_of(&rows, request.payload));
        let mut before = at.clone();
        for row in rows {
            let Some(mut task) = task_of_row(view, &row, request.payload, room)? else {
                continue;
            };
            let is_cut = is_cut(task.content.as_ref());
            if is_cut || task.length() >= room {
                if !tasks.is_empty() {
                    cursor = Some(before);
                    break 'spaces;
                }
                if !is_cut {
                    task.content = None;
                }
            }
            room = room.saturating_sub(task.length() + 1);
            before = at.after(&row.key);
            seqs.push(row.position.seq);
            tasks.push(task);
        }
        cursor = match next {
            Some(key) => Some(at.after(&key)),
            None => at.next_section(request),
        };
        if tasks.len() == usize::from(request.limit) {
            break;
        }
    }
    let next = cursor.map(|cursor| cursor.to_text());
    Ok((seqs, Reply::List { tasks, next }))
}

/// Returns whether there was no room for a payload.
pub(super) fn is_cut(content: Option<&Content>) -> bool {
    content.is_some_and(|content| content.payload.is_none())
}

/// Returns the most keys that a listed task takes beside its row: its name, and its content.
pub(super) const fn reads_of_task(payload: bool) -> usize {
    if payload { 2 } else { 1 }
}

/// Returns the most keys that the tasks of rows take beside their rows.
fn reads_of(rows: &[ListingRow], payload: bool) -> usize {
    let failures = rows.iter().filter(|row| row.has_failures).count();
    rows.len() + if payload { failures } else { 0 }
}

fn task_of_row<S: ReadStore>(
    view: &LedgerView<S>,
    row: &ListingRow,
    payload: bool,
    room: usize,
) -> Result<Option<TaskView>, StoreError> {
    let mut task = TaskView {
        route: row.route.clone(),
        id: row.id.clone(),
        state: row.state,
        fire_at: 0,
        at: row.position.at,
        attempt: row.attempt,
        reason: row.reason.clone(),
        last_failure: None,
        terms: row.terms.clone(),
        content: None,
    };
    let room = room.saturating_sub(task.length());
    let Some(details) = details(view, row, payload, room)? else {
        return Ok(None);
    };
    task.fire_at = details.fire_at;
    task.last_failure = details.last_failure;
    task.content = details.content;
    Ok(Some(task))
}

/// What a list shows of a task that is not in its row.
#[derive(Debug, Default)]
pub(super) struct TaskDetails {
    pub(super) fire_at: u64,
    pub(super) last_failure: Option<Box<LastFailure>>,
    pub(super) content: Option<Content>,
}

/// Returns the scheduled time, the last failure and, if it is asked for, the content of a task. `None`
/// if the task is gone. Reads the name, the content, or both if a task with failures is asked for with
/// its content, or the content is damaged.
pub(super) fn details<S: ReadStore>(
    view: &LedgerView<S>,
    row: &ListingRow,
    payload: bool,
    room: usize,
) -> Result<Option<TaskDetails>, StoreError> {
    let name = match payload && !row.has_failures {
        true => None,
        false => match view.name(&row.route, &row.id)? {
            Some(name) => Some(name),
            None => return Ok(None),
        },
    };
    let last_failure = name.as_ref().and_then(|name| name.failure.clone());
    if payload {
        let failure = last_failure.as_ref().map_or(0, |it| it.length());
        let room = room.saturating_sub(failure);
        if let Some((fire_at, content)) = content_at(view, row.position.seq, room)? {
            return Ok(Some(TaskDetails {
                fire_at,
                last_failure,
                content: Some(content),
            }));
        }
    }
    let name = match name {
        Some(name) => Some(name),
        None => view.name(&row.route, &row.id)?,
    };
    Ok(name.map(|name| TaskDetails {
        fire_at: name.fire_at,
        last_failure,
        content: None,
    }))
}

/// Returns a content, and its payload if that fits into `room` bytes. `None` if it is gone or
/// cannot be read.
pub(super) fn content<S: ReadStore>(
    view: &LedgerView<S>,
    seq: u64,
    room: usize,
) -> Result<Option<Content>, StoreError> {
    let found = content_at(view, seq, room)?;
    Ok(found.map(|(_, content)| content))
}

fn content_at<S: ReadStore>(
    view: &LedgerView<S>,
    seq: u64,
    room: usize,
) -> Result<Option<(u64, Content)>, StoreError> {
    /// The bytes of the fields around the payload.
    const FIELDS: usize = 80;
    let read = || {
        view.content(seq, |task| {
            let headers = Some(task.headers).filter(|text| text.len() + FIELDS < room);
            let headers = headers.map(Headers::of_text).unwrap_or_default();
            let around = headers.text().len() + FIELDS;
            let fits = base64_length(task.payload.len()) + around < room;
            let content = Content {
                compression: task.compression,
                length: task.payload.len(),
                payload: fits.then(|| task.payload.into()),
                headers,
            };
            (task.fire_at, content)
        })
    };
    // The store's library can panic on a damaged block. One of many must not hide the others.
    match panic::catch_unwind(AssertUnwindSafe(read)) {
        Ok(Err(error)) if error.is_damage() => Ok(None),
        Ok(read) => read,
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests;
