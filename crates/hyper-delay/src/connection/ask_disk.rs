//! Requests that are answered from the disk, so that the scheduler need not stop for them.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use super::{Shared, look};
use crate::{
    access::{Grant, Right},
    driver::Event,
    ledger::{Listing, Position, Row, View},
    log_limit::Warning,
    outbox::Outbox,
    protocol::{Code, Counts, DeadTask, Filter, Refusal, Reply, RouteStats, Stats},
    record::{self, Name, Place, key},
    scheduler::{CountsAsked, Input, Message, OwnRoutes, ReplyTo},
    store::{Space, Store, StoreError},
};

/// Reads the counts on disk, and has the scheduler add what it knows.
pub(super) async fn stats<S: Store>(
    shared: &Arc<Shared<S>>,
    outbox: &Arc<Outbox>,
    (route, after): (Option<Arc<str>>, Option<Arc<str>>),
    grant: Option<Arc<Grant>>,
    reply_to: ReplyTo,
) {
    let view = View::new(shared.store.clone());
    let own_routes = shared.own_routes.clone();
    let (one, from, of) = (route.clone(), after.clone(), grant.clone());
    let read = read(move || {
        let is_listed = |name: &str| match &one {
            Some(one) => name == &**one,
            None => from.as_ref().is_none_or(|from| name > &**from),
        };
        counts(&view, &own_routes, of.as_deref(), is_listed)
    });
    match read.await {
        Ok(stats) => {
            let asked = CountsAsked {
                stats,
                route,
                after,
                grant,
                reply_to,
            };
            let input = Input::Stats(Box::new(asked));
            let _ = shared.events.send(Event::Input(input));
        }
        Err(error) => unreadable(shared, outbox, route, reply_to, error),
    }
}

/// Reads from the store on a thread that may block. A read that panics has met damage that no
/// checksum shows.
pub(super) async fn read<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(read) => read,
        Err(error) if error.is_panic() => Err(StoreError::damage("read", "the read has panicked")),
        Err(error) => Err(StoreError::new("read", error)),
    }
}

/// Returns the sums, the rows of the first listed routes in order of name, and whether there are
/// others. With a grant, all of this is of the routes of which it allows the administration.
fn counts<S: Store>(
    view: &View<S>,
    own_routes: &OwnRoutes,
    of: Option<&Grant>,
    is_listed: impl Fn(&str) -> bool,
) -> Result<Stats, StoreError> {
    let mut stats = Stats::default();
    if of.is_none() {
        stats.counts = on_disk(view.totals()?);
    }
    let mut first = BTreeMap::new();
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
        let orphaned = own_routes.is_orphaned(name);
        if orphaned {
            stats.orphaned += counts.waiting + counts.parked + counts.dead;
        }
        if is_listed(name) {
            let row = RouteStats {
                route: name.into(),
                counts: on_disk(counts),
                orphaned,
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
    Ok(stats)
}

const fn on_disk(counts: record::Counts) -> Counts {
    Counts {
        waiting: counts.waiting,
        parked: counts.parked,
        in_flight: 0,
        dead: counts.dead,
    }
}

/// A request for dead letters.
#[derive(Debug, Clone)]
pub(super) struct Letters {
    pub(super) route: Arc<str>,
    /// Only those after this id.
    pub(super) after: Option<Arc<str>>,
    pub(super) limit: u16,
    pub(super) filter: Filter,
    /// Whether the reply has the payloads.
    pub(super) payload: bool,
}

/// Lists dead letters; for the route of a connection that is gone, all tasks.
pub(super) async fn dead<S: Store>(
    shared: &Arc<Shared<S>>,
    outbox: &Arc<Outbox>,
    asked: Letters,
    reply_to: ReplyTo,
) {
    let view = View::new(shared.store.clone());
    let page = Page::new(usize::from(asked.limit), shared.config.max_line_bytes);
    let route = asked.route.clone();
    let is_listed_whole =
        shared.own_routes.is_orphaned(&route) && asked.filter == Filter::default();
    let read = read(move || match is_listed_whole {
        true => orphans(&view, &asked, page),
        false => letters(&view, &asked, page),
    });
    match read.await {
        Ok(answer) => reply(outbox, reply_to, answer),
        Err(error) => unreadable(shared, outbox, Some(route), reply_to, error),
    }
}

/// Sends what was read, or what a failed read means.
pub(super) fn answer<S>(
    shared: &Shared<S>,
    outbox: &Outbox,
    reply_to: ReplyTo,
    read: Result<Reply, StoreError>,
) {
    match read {
        Ok(answer) => reply(outbox, reply_to, answer),
        Err(error) => unreadable(shared, outbox, None, reply_to, error),
    }
}

pub(super) fn reply(outbox: &Outbox, reply_to: ReplyTo, reply: Reply) {
    let ReplyTo { tag, weight, .. } = reply_to;
    if outbox.push(Message::Reply { reply, tag, weight }) {
        outbox.wake();
    }
}

fn letters<S: Store>(view: &View<S>, asked: &Letters, mut page: Page) -> Result<Reply, StoreError> {
    let Letters {
        route,
        after,
        filter,
        ..
    } = asked;
    let after = match after {
        None => None,
        Some(id) => match place_of(view, route, id)? {
            Some(place) => Some(key::route_time(route, place.at, place.seq)),
            None => return Ok(Reply::Error(no_such(route, id))),
        },
    };
    let listing = Listing {
        space: Space::Dead,
        route: Some(route),
        filter,
        after: after.as_deref(),
    };
    // Each letter costs a read more, and the one before them one.
    let most = page.limit.min(look::READS / 2);
    let found = view.list(&listing, most, look::READS - 1 - most)?;
    let mut last = None;
    for row in found.rows {
        let task = dead_task(view, &row, asked.payload, page.room)?;
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
fn orphans<S: Store>(view: &View<S>, asked: &Letters, mut page: Page) -> Result<Reply, StoreError> {
    let mut found = Vec::new();
    view.names(&asked.route, asked.after.as_deref(), |id, name| {
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
            orphaned: true,
            ..DeadTask::default()
        };
        if asked.payload && page.has_room() {
            let room = page.room.saturating_sub(task.length());
            task.content = look::content(view, name.seq, room)?;
        }
        if page.add(task).is_break() {
            break;
        }
    }
    Ok(page.reply(&asked.route, None))
}

/// The tasks of one reply.
struct Page {
    limit: usize,
    /// The bytes that are left of the line.
    room: usize,
    tasks: Vec<DeadTask>,
    more: bool,
}

impl Page {
    fn new(limit: usize, line: usize) -> Self {
        Self {
            limit,
            room: line.saturating_sub(look::AROUND),
            tasks: Vec::new(),
            more: false,
        }
    }

    const fn has_room(&self) -> bool {
        self.tasks.len() < self.limit
    }

    /// Adds a task. Breaks if it does not fit.
    fn add(&mut self, task: DeadTask) -> ControlFlow<()> {
        let fits = task.length() < self.room && !look::is_cut(task.content.as_ref());
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

fn dead_task<S: Store>(
    view: &View<S>,
    row: &Row,
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
    let (fire_at, content) = look::details(view, row, payload, room)?.unwrap_or_default();
    Ok(DeadTask {
        fire_at,
        content,
        ..task
    })
}

fn place_of<S: Store>(
    view: &View<S>,
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

fn no_such(route: &Arc<str>, id: &Arc<str>) -> Refusal {
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

/// The store cannot be read. Damage concerns only what was asked for; if the disk fails, the server
/// ends.
pub(super) fn unreadable<S>(
    shared: &Shared<S>,
    outbox: &Outbox,
    route: Option<Arc<str>>,
    reply_to: ReplyTo,
    error: StoreError,
) {
    if !error.is_damage() {
        let _ = shared.events.send(Event::Failed(error));
        return outbox.give(reply_to.weight);
    }
    shared.logs.warn(Warning::Damage, &error);
    let refusal = Refusal {
        route,
        ..Refusal::new(Code::Damaged, error.to_string())
    };
    reply(outbox, reply_to, Reply::Error(refusal));
}

#[cfg(test)]
mod tests;
