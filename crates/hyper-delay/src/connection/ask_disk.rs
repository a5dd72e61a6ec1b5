//! Requests that are answered from the disk, so that the scheduler need not stop for them.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use super::Shared;
use crate::{
    driver::Event,
    ledger::{DeadLetter, Position, View},
    outbox::Outbox,
    protocol::{Code, Counts, DeadTask, Refusal, Reply, RouteStats, Stats},
    record::{self, Name, Place},
    scheduler::{CountsAsked, Input, Message, ReplyTo},
    store::{Store, StoreError},
};

/// Routes in one reply, at most.
const ROUTES: usize = 1000;

/// Reads the counts on disk, and has the scheduler add what it knows.
pub(super) async fn stats<S: Store>(
    shared: &Arc<Shared<S>>,
    outbox: &Arc<Outbox>,
    (route, after): (Option<Arc<str>>, Option<Arc<str>>),
    reply_to: ReplyTo,
) {
    let view = View::new(shared.store.clone());
    let (one, from) = (route.clone(), after.clone());
    let read = tokio::task::spawn_blocking(move || match one {
        Some(route) => counts_of(&view, &route),
        None => counts_of_all(&view, from.as_deref()),
    });
    match read.await {
        Ok(Ok(stats)) => {
            let asked = CountsAsked {
                stats,
                route,
                after,
                reply_to,
            };
            let input = Input::Stats(Box::new(asked));
            let _ = shared.events.send(Event::Input(input));
        }
        _ => unreadable(shared, outbox, reply_to.weight),
    }
}

fn counts_of<S: Store>(view: &View<S>, route: &Arc<str>) -> Result<Stats, StoreError> {
    let counts = view.counts(route)?;
    let row = (!counts.is_empty()).then(|| row(route.clone(), counts));
    Ok(Stats {
        counts: on_disk(view.totals()?),
        routes: row.into_iter().collect(),
        ..Stats::default()
    })
}

/// The counts of the first routes in order of name, and whether there are others.
fn counts_of_all<S: Store>(view: &View<S>, after: Option<&str>) -> Result<Stats, StoreError> {
    let mut first = BTreeMap::new();
    let mut more = false;
    // They are ordered by length first, so all are read.
    view.routes(|name, counts| {
        if after.is_none_or(|after| name > after) {
            first.insert(Arc::<str>::from(name), counts);
        }
        if first.len() > ROUTES {
            first.pop_last();
            more = true;
        }
    })?;
    let rows = first.into_iter().map(|(name, counts)| row(name, counts));
    Ok(Stats {
        counts: on_disk(view.totals()?),
        routes: rows.collect(),
        more,
        ..Stats::default()
    })
}

const fn on_disk(counts: record::Counts) -> Counts {
    Counts {
        waiting: counts.waiting,
        parked: counts.parked,
        in_flight: 0,
        dead: counts.dead,
    }
}

const fn row(route: Arc<str>, counts: record::Counts) -> RouteStats {
    RouteStats {
        route,
        counts: on_disk(counts),
        consumers: 0,
    }
}

/// Lists dead letters.
pub(super) async fn dead<S: Store>(
    shared: &Arc<Shared<S>>,
    outbox: &Arc<Outbox>,
    (route, after, limit): (Arc<str>, Option<Arc<str>>, u16),
    reply_to: ReplyTo,
) {
    let view = View::new(shared.store.clone());
    let line = shared.config.max_line_bytes;
    let read = tokio::task::spawn_blocking(move || {
        letters(&view, &route, after.as_ref(), usize::from(limit), line)
    });
    let ReplyTo { tag, weight, .. } = reply_to;
    match read.await {
        Ok(Ok(reply)) => {
            let message = Message::Reply { reply, tag, weight };
            if outbox.push(message) {
                outbox.wake();
            }
        }
        _ => unreadable(shared, outbox, weight),
    }
}

fn letters<S: Store>(
    view: &View<S>,
    route: &Arc<str>,
    after: Option<&Arc<str>>,
    limit: usize,
    line: usize,
) -> Result<Reply, StoreError> {
    /// The bytes around the letters.
    const LINE: usize = 1024;
    /// The bytes of a letter beside its strings, with the longest numbers.
    const LETTER: usize = 160;
    let from = match after {
        None => Position::default(),
        Some(id) => match place_of(view, route, id)? {
            Some(place) => place.next(),
            None => return Ok(Reply::Error(no_such(route, id))),
        },
    };
    let mut tasks = Vec::new();
    let mut more = false;
    let mut room = line.saturating_sub(LINE);
    view.dead(route, from, |letter| {
        let letter = dead_task(view, letter)?;
        // A string can be all escapes.
        let strings = letter.id.len();
        let size = LETTER + strings * 6;
        if tasks.len() == limit || size > room && !tasks.is_empty() {
            more = true;
            return Ok(ControlFlow::Break(()));
        }
        room = room.saturating_sub(size);
        tasks.push(letter);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(Reply::Dead {
        route: route.clone(),
        tasks,
        more,
    })
}

fn dead_task<S: Store>(view: &View<S>, letter: DeadLetter) -> Result<DeadTask, StoreError> {
    let task = letter.task;
    let name = view.name(&task.route, &task.id)?;
    Ok(DeadTask {
        fire_at: name.map_or(0, |name| name.fire_at),
        id: task.id,
        attempt: task.attempt,
        died_at: task.position.at,
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
        id: Some(id.clone()),
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

/// The store cannot be read: the server ends.
fn unreadable<S>(shared: &Arc<Shared<S>>, outbox: &Outbox, weight: u32) {
    let error = StoreError::new("read", "a request could not be answered");
    let _ = shared.events.send(Event::Failed(error));
    outbox.give(weight);
}
