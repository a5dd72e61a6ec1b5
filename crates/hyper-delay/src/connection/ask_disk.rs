//! Requests that are answered from the disk, so that the scheduler need not stop for them.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use super::Shared;
use crate::{
    driver::Event,
    ledger::{DeadLetter, Position, View},
    log_limit::Warning,
    outbox::Outbox,
    protocol::{Code, Counts, DeadTask, Refusal, Reply, RouteStats, Stats},
    record::{self, Name, Place},
    scheduler::{CountsAsked, Input, Message, OwnRoutes, ReplyTo},
    store::{Store, StoreError},
};

/// Reads the counts on disk, and has the scheduler add what it knows.
pub(super) async fn stats<S: Store>(
    shared: &Arc<Shared<S>>,
    outbox: &Arc<Outbox>,
    (route, after): (Option<Arc<str>>, Option<Arc<str>>),
    reply_to: ReplyTo,
) {
    let view = View::new(shared.store.clone());
    let own_routes = shared.own_routes.clone();
    let (one, from) = (route.clone(), after.clone());
    let read = read(move || {
        let is_listed = |name: &str| match &one {
            Some(one) => name == &**one,
            None => from.as_ref().is_none_or(|from| name > &**from),
        };
        counts(&view, &own_routes, is_listed)
    });
    match read.await {
        Ok(stats) => {
            let asked = CountsAsked {
                stats,
                route,
                after,
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
async fn read<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(read) => read,
        Err(error) if error.is_panic() => Err(StoreError::damage("read", "the read has panicked")),
        Err(error) => Err(StoreError::new("read", error)),
    }
}

/// Returns the sums, the rows of the first listed routes in order of name, and whether there are
/// others.
fn counts<S: Store>(
    view: &View<S>,
    own_routes: &OwnRoutes,
    is_listed: impl Fn(&str) -> bool,
) -> Result<Stats, StoreError> {
    let mut stats = Stats {
        counts: on_disk(view.totals()?),
        ..Stats::default()
    };
    let mut first = BTreeMap::new();
    // They are ordered by length first, so all are read.
    view.routes(|name, counts| {
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

/// Lists dead letters; for the route of a connection that is gone, all tasks.
pub(super) async fn dead<S: Store>(
    shared: &Arc<Shared<S>>,
    outbox: &Arc<Outbox>,
    (route, after, limit): (Arc<str>, Option<Arc<str>>, u16),
    reply_to: ReplyTo,
) {
    let view = View::new(shared.store.clone());
    let page = Page::new(usize::from(limit), shared.config.max_line_bytes);
    let is_orphaned = shared.own_routes.is_orphaned(&route);
    let of = route.clone();
    let read = read(move || match is_orphaned {
        true => orphans(&view, &of, after.as_deref(), page),
        false => letters(&view, &of, after.as_ref(), page),
    });
    match read.await {
        Ok(answer) => reply(outbox, reply_to, answer),
        Err(error) => unreadable(shared, outbox, Some(route), reply_to, error),
    }
}

fn reply(outbox: &Outbox, reply_to: ReplyTo, reply: Reply) {
    let ReplyTo { tag, weight, .. } = reply_to;
    if outbox.push(Message::Reply { reply, tag, weight }) {
        outbox.wake();
    }
}

fn letters<S: Store>(
    view: &View<S>,
    route: &Arc<str>,
    after: Option<&Arc<str>>,
    mut page: Page,
) -> Result<Reply, StoreError> {
    let from = match after {
        None => Position::default(),
        Some(id) => match place_of(view, route, id)? {
            Some(place) => place.next(),
            None => return Ok(Reply::Error(no_such(route, id))),
        },
    };
    view.dead(route, from, |letter| Ok(page.add(dead_task(view, letter)?)))?;
    Ok(page.reply(route))
}

/// All tasks of an orphaned route, in order of id.
fn orphans<S: Store>(
    view: &View<S>,
    route: &Arc<str>,
    after: Option<&str>,
    mut page: Page,
) -> Result<Reply, StoreError> {
    view.names(route, after, |id, name| {
        page.add(DeadTask {
            id: id.into(),
            fire_at: name.fire_at,
            attempt: name.attempt,
            died_at: match name.place {
                Place::Dead(at) => at,
                Place::Waiting(_) | Place::Parked(_) => 0,
            },
            reason: None,
            orphaned: true,
        })
    })?;
    Ok(page.reply(route))
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
        /// The bytes around the tasks.
        const LINE: usize = 1024;
        Self {
            limit,
            room: line.saturating_sub(LINE),
            tasks: Vec::new(),
            more: false,
        }
    }

    /// Adds a task. Breaks if it does not fit.
    fn add(&mut self, task: DeadTask) -> ControlFlow<()> {
        /// The bytes of a task beside its strings, with the longest numbers.
        const TASK: usize = 192;
        // A string can be all escapes.
        let strings = task.id.len() + task.reason.as_ref().map_or(0, |reason| reason.len());
        let size = TASK + strings * 6;
        if self.tasks.len() == self.limit || size > self.room && !self.tasks.is_empty() {
            self.more = true;
            return ControlFlow::Break(());
        }
        self.room = self.room.saturating_sub(size);
        self.tasks.push(task);
        ControlFlow::Continue(())
    }

    fn reply(self, route: &Arc<str>) -> Reply {
        Reply::Dead {
            route: route.clone(),
            tasks: self.tasks,
            more: self.more,
        }
    }
}

fn dead_task<S: Store>(view: &View<S>, letter: DeadLetter) -> Result<DeadTask, StoreError> {
    let DeadLetter { task, reason } = letter;
    let name = view.name(&task.route, &task.id)?;
    Ok(DeadTask {
        fire_at: name.map_or(0, |name| name.fire_at),
        id: task.id,
        attempt: task.attempt,
        died_at: task.position.at,
        reason,
        orphaned: false,
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
fn unreadable<S>(
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
