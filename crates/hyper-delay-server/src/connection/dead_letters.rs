//! Dead letters, and the tasks of orphaned routes.

use std::{ops::ControlFlow, sync::Arc};

use super::{
    responder::{Responder, read_blocking},
    task_queries,
};
use hyper_delay_engine::ledger::{LedgerView, ListingQuery, ListingRow, Position};
use hyper_delay_protocol::{Code, DeadTask, Filter, Refusal, Reply, own_route::OwnRoute};
use hyper_delay_store::{
    ReadStore, Space, StoreError,
    record::{Name, Place, key},
};

/// A request for dead letters.
#[derive(Debug, Clone)]
pub(super) struct DeadLetterRequest {
    pub(super) route: Arc<str>,
    /// Only those after this id.
    pub(super) after: Option<Arc<str>>,
    pub(super) limit: u16,
    pub(super) filter: Filter,
    /// Whether the reply has the payloads.
    pub(super) payload: bool,
}

/// Lists dead letters; for a route that the server made and that has no consumer, all tasks.
pub(super) async fn list_dead_letters<S: ReadStore>(
    responder: Responder<'_, S>,
    request: DeadLetterRequest,
) {
    let view = responder.view();
    let page = DeadLetterPage::new(usize::from(request.limit), responder.row_bytes());
    let route = request.route.clone();
    let can_be_orphaned = OwnRoute::parse(&route).is_some() && request.filter == Filter::default();
    let is_orphaned = match can_be_orphaned {
        true => responder.has_consumers(&route).await.map(|has| !has),
        false => Ok(false),
    };
    let is_orphaned = match is_orphaned {
        Ok(is_orphaned) => is_orphaned,
        Err(why) => return responder.reply(Reply::Error(why)),
    };
    let read = read_blocking(move || match is_orphaned {
        true => orphan_page(&view, &request, page),
        false => dead_letter_page(&view, &request, page),
    });
    match read.await {
        Ok(reply) => responder.reply(reply),
        Err(error) => responder.read_failed(Some(route), error),
    }
}

fn dead_letter_page<S: ReadStore>(
    view: &LedgerView<S>,
    request: &DeadLetterRequest,
    mut page: DeadLetterPage,
) -> Result<Reply, StoreError> {
    let DeadLetterRequest {
        route,
        after,
        filter,
        ..
    } = request;
    let after = match after {
        None => None,
        Some(id) => match death_position(view, route, id)? {
            Some(place) => Some(key::route_time(route, place.at, place.seq)),
            None => return Ok(Reply::Error(unknown_letter(route, id))),
        },
    };
    let listing = ListingQuery {
        space: Space::Dead,
        route: Some(route),
        filter,
        after: after.as_deref(),
    };
    // The position of the letter before them costs one read.
    let of_each = task_queries::reads_of_task(request.payload);
    let most = page.limit.min(task_queries::MAX_READS / (1 + of_each));
    let found = view.list(&listing, most, task_queries::MAX_READS - 1 - of_each * most)?;
    let mut last = None;
    for row in found.rows {
        let task = dead_task(view, &row, request.payload, page.room)?;
        last = Some(row.id);
        if page.add(task).is_break() {
            return Ok(page.reply(route, None));
        }
    }
    page.more = found.next.is_some();
    // The last one that was looked at, if it is not in the list.
    let next = found.next.map(|(_, id)| id);
    Ok(page.reply(route, next.filter(|id| last.as_ref() != Some(id))))
}

/// All tasks of an orphaned route, in order of id.
fn orphan_page<S: ReadStore>(
    view: &LedgerView<S>,
    request: &DeadLetterRequest,
    mut page: DeadLetterPage,
) -> Result<Reply, StoreError> {
    let mut found = Vec::new();
    view.names(&request.route, request.after.as_deref(), |id, name| {
        found.push((Arc::from(id), name));
        match found.len() > page.limit {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    for (id, name) in found {
        let mut task = DeadTask {
            id,
            fire_at: name.fire_at,
            attempt: name.attempt,
            died_at: match name.place {
                Place::Dead(at) => at,
                Place::Waiting(_) | Place::Parked(_) => 0,
            },
            last_failure: name.failure,
            orphaned: true,
            ..DeadTask::default()
        };
        if request.payload && page.has_room() {
            let room = page.room.saturating_sub(task.length());
            task.content = task_queries::content(view, name.seq, room)?;
        }
        if page.add(task).is_break() {
            break;
        }
    }
    Ok(page.reply(&request.route, None))
}

/// The tasks of one reply.
struct DeadLetterPage {
    limit: usize,
    /// The bytes that are left of the line.
    room: usize,
    tasks: Vec<DeadTask>,
    more: bool,
}

impl DeadLetterPage {
    const fn new(limit: usize, room: usize) -> Self {
        Self {
            limit,
            room,
            tasks: Vec::new(),
            more: false,
        }
    }

    const fn has_room(&self) -> bool {
        self.tasks.len() < self.limit
    }

    /// Adds a task. Breaks if it does not fit.
    fn add(&mut self, task: DeadTask) -> ControlFlow<()> {
        let fits = task.length() < self.room && !task_queries::is_cut(task.content.as_ref());
        if !self.has_room() || !fits && !self.tasks.is_empty() {
            self.more = true;
            return ControlFlow::Break(());
        }
        self.room = self.room.saturating_sub(task.length() + 1);
        self.tasks.push(task);
        ControlFlow::Continue(())
    }

    fn reply(self, route: &Arc<str>, next: Option<Arc<str>>) -> Reply {
        Reply::Dead {
            route: route.clone(),
            tasks: self.tasks,
            more: self.more,
            next,
        }
    }
}

fn dead_task<S: ReadStore>(
    view: &LedgerView<S>,
    row: &ListingRow,
    payload: bool,
    room: usize,
) -> Result<DeadTask, StoreError> {
    let task = DeadTask {
        id: row.id.clone(),
        attempt: row.attempt,
        died_at: row.position.at,
        reason: row.reason.clone(),
        ..DeadTask::default()
    };
    let room = room.saturating_sub(task.length());
    let details = task_queries::details(view, row, payload, room)?.unwrap_or_default();
    Ok(DeadTask {
        fire_at: details.fire_at,
        last_failure: details.last_failure,
        content: details.content,
        ..task
    })
}

fn death_position<S: ReadStore>(
    view: &LedgerView<S>,
    route: &str,
    id: &str,
) -> Result<Option<Position>, StoreError> {
    Ok(match view.name(route, id)? {
        Some(Name {
            seq,
            place: Place::Dead(at),
            ..
        }) => Some(Position { at, seq }),
        _ => None,
    })
}

fn unknown_letter(route: &Arc<str>, id: &Arc<str>) -> Refusal {
    Refusal {
        route: Some(route.clone()),
        ..Refusal::new(
            Code::BadField,
            format!(
                "after is {id:?}, which is not among the dead letters of {route:?} (any more): \
                 begin again without it"
            ),
        )
    }
}
