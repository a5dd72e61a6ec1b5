//! Questions that the disk answers: for them the scheduler need not stop.

use std::{ops::ControlFlow, sync::Arc};

use super::Shared;
use crate::{
    driver::Event,
    outbox::Outbox,
    protocol::{Code, Counts, DeadTask, Refusal, Reply, RouteStats, Stats},
    record::{self, Entry, Name, Place, key},
    scheduler::{ConsumerId, Input, Message},
    store::{Space, Store, StoreError},
};

/// Routes in one answer, at most.
const ROUTES: usize = 1000;

/// Reads the counts, and has the scheduler add what it knows.
pub(super) async fn stats<S: Store>(
    shared: &Arc<Shared<S>>,
    consumer: ConsumerId,
    outbox: &Arc<Outbox>,
    (route, after): (Option<Arc<str>>, Option<Arc<str>>),
    tag: Option<Arc<str>>,
    weight: u32,
) {
    let store = shared.store.clone();
    let (one, from) = (route.clone(), after.clone());
    let read =
        tokio::task::spawn_blocking(move || counts(&*store, one.as_deref(), from.as_deref()));
    match read.await {
        Ok(Ok(stats)) => {
            let input = Input::Stats {
                consumer,
                stats: Box::new(stats),
                route,
                after,
                tag,
                weight,
            };
            let _ = shared.events.send(Event::Input(input));
        }
        _ => unreadable(shared, outbox, weight),
    }
}

fn counts(
    store: &impl Store,
    route: Option<&str>,
    after: Option<&str>,
) -> Result<Stats, StoreError> {
    let read = |name: &str| -> Result<Counts, StoreError> {
        let value = store.get(Space::Counts, &key::route(name))?;
        let counts = value.map(|value| record::decode(&value)).transpose()?;
        Ok(on_disk(counts.unwrap_or_default()))
    };
    let mut stats = Stats {
        counts: read("")?,
        ..Stats::default()
    };
    if let Some(route) = route {
        let counts = read(route)?;
        if counts != Counts::default() {
            stats.routes.push(row(route, counts));
        }
        return Ok(stats);
    }
    // Keys are in order of length first, so all are read; the names that come first are kept.
    let mut error = None;
    let mut names = std::collections::BTreeMap::new();
    store.scan(Space::Counts, &[1], &mut |key, value| {
        let found = std::str::from_utf8(&key[1..])
            .map_err(|cause| StoreError::new("read a key", cause))
            .and_then(|name| Ok((name, record::decode(value)?)));
        match found {
            Ok((name, counts)) => {
                if after.is_none_or(|after| name > after) {
                    names.insert(Arc::<str>::from(name), on_disk(counts));
                    if names.len() > ROUTES {
                        names.pop_last();
                        stats.more = true;
                    }
                }
                ControlFlow::Continue(())
            }
            Err(cause) => {
                error = Some(cause);
                ControlFlow::Break(())
            }
        }
    })?;
    let routes = names.into_iter();
    stats.routes = routes.map(|(name, counts)| row(&name, counts)).collect();
    error.map_or(Ok(stats), Err)
}

const fn on_disk(counts: record::Counts) -> Counts {
    Counts {
        waiting: counts.waiting,
        parked: counts.parked,
        in_flight: 0,
        dead: counts.dead,
    }
}

fn row(route: &str, counts: Counts) -> RouteStats {
    RouteStats {
        route: route.into(),
        counts,
        ..RouteStats::default()
    }
}

/// Lists dead letters.
pub(super) async fn dead<S: Store>(
    shared: &Arc<Shared<S>>,
    outbox: &Arc<Outbox>,
    (route, after, limit): (Arc<str>, Option<Arc<str>>, u16),
    tag: Option<Arc<str>>,
    weight: u32,
) {
    let store = shared.store.clone();
    let line = shared.config.max_line_bytes;
    let read = tokio::task::spawn_blocking(move || {
        letters(&*store, &route, after.as_ref(), usize::from(limit), line)
    });
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

fn letters(
    store: &impl Store,
    route: &Arc<str>,
    after: Option<&Arc<str>>,
    limit: usize,
    line: usize,
) -> Result<Reply, StoreError> {
    /// What surrounds the letters, and what one takes beside its id, with numbers as long as they get.
    const LINE: usize = 1024;
    const LETTER: usize = 128;
    let from = match after {
        None => key::route(route),
        Some(id) => match place_of(store, route, id)? {
            Some((died_at, seq)) => key::route_time(route, died_at, seq + 1),
            None => return Ok(Reply::Error(no_such(route, id))),
        },
    };
    let prefix = key::route(route);
    let mut tasks = Vec::new();
    let mut more = false;
    let mut room = line.saturating_sub(LINE);
    let mut error = None;
    store.scan(Space::Dead, &from, &mut |key, value| {
        if !key.starts_with(&prefix) {
            return ControlFlow::Break(());
        }
        match letter(store, route, key, value) {
            Ok(letter) => {
                // An id can be all escapes.
                let size = LETTER + letter.id.len() * 6;
                if tasks.len() == limit || size > room && !tasks.is_empty() {
                    more = true;
                    return ControlFlow::Break(());
                }
                room = room.saturating_sub(size);
                tasks.push(letter);
                ControlFlow::Continue(())
            }
            Err(cause) => {
                error = Some(cause);
                ControlFlow::Break(())
            }
        }
    })?;
    match error {
        Some(error) => Err(error),
        None => Ok(Reply::Dead {
            route: route.clone(),
            tasks,
            more,
        }),
    }
}

fn letter(
    store: &impl Store,
    route: &str,
    key: &[u8],
    value: &[u8],
) -> Result<DeadTask, StoreError> {
    let (died_at, _) = key::time_of(key)?;
    let entry: Entry<'_> = record::decode(value)?;
    let name = name(store, route, entry.id)?;
    Ok(DeadTask {
        id: entry.id.into(),
        fire_at: name.map_or(0, |name| name.fire_at),
        attempt: entry.attempt,
        died_at,
        ..DeadTask::default()
    })
}

fn place_of(store: &impl Store, route: &str, id: &str) -> Result<Option<(u64, u64)>, StoreError> {
    Ok(match name(store, route, id)? {
        Some(Name {
            seq,
            place: Place::Dead(at),
            ..
        }) => Some((at, seq)),
        _ => None,
    })
}

fn name(store: &impl Store, route: &str, id: &str) -> Result<Option<Name>, StoreError> {
    let value = store.get(Space::Names, &key::name(route, id))?;
    value.map(|value| record::decode(&value)).transpose()
}

fn no_such(route: &Arc<str>, id: &Arc<str>) -> Refusal {
    Refusal {
        id: Some(id.clone()),
        route: Some(route.clone()),
        ..Refusal::new(
            Code::BadField,
            format!(
                "after is {id:?}, which is not among the dead letters of {route:?} (any more): begin again without it"
            ),
        )
    }
}

/// The store is broken; the scheduler will find out, too, and this connection need not wait for that.
fn unreadable<S>(shared: &Arc<Shared<S>>, outbox: &Outbox, weight: u32) {
    let error = StoreError::new("read", "a question could not be answered");
    let _ = shared.events.send(Event::Failed(error));
    outbox.give(weight);
}
