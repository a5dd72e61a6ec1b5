//! What is parked on disk for a route that has consumers, and comes back in order of time as they have room.

use std::{collections::hash_map::Entry, ops::ControlFlow, sync::Arc};

use super::{
    Scheduler,
    live::{Live, State},
};
use crate::{
    record::{self, key},
    store::{Space, Store, StoreError},
};

/// Tasks read in one go, so that others have their turn.
const CHUNK: usize = 512;

impl<S: Store> Scheduler<S> {
    /// Reads a chunk, if there is room for it, and tells whether there may be more.
    pub(super) fn try_refill(&mut self, name: &Arc<str>) -> Result<bool, StoreError> {
        let Some(route) = self.routes.get_mut(name) else {
            return Ok(false);
        };
        let Some((at, seq)) = route.backlog else {
            return Ok(false);
        };
        if route.ready.len() > self.settings.ready / 2 {
            return Ok(false);
        }
        // All routes together have no more in memory than twice the window, but for one task each.
        let least = usize::from(route.ready.is_empty());
        let room = (2 * self.settings.window_tasks).saturating_sub(self.tasks.len());
        let most = (self.settings.ready - route.ready.len())
            .min(CHUNK)
            .min(room.max(least));
        if most == 0 {
            return Ok(false);
        }
        let prefix = key::route(name);
        let mut found = Vec::new();
        let mut error = None;
        self.store.scan(
            Space::Parked,
            &key::route_time(name, at, seq),
            &mut |key, value| {
                if !key.starts_with(&prefix) || found.len() == most {
                    return ControlFlow::Break(());
                }
                match parked(name, key, value) {
                    Ok(task) => found.push(task),
                    Err(cause) => error = Some(cause),
                }
                match error {
                    None => ControlFlow::Continue(()),
                    Some(_) => ControlFlow::Break(()),
                }
            },
        )?;
        if let Some(error) = error {
            return Err(error);
        }
        route.backlog = match found.last() {
            Some((seq, last)) if found.len() == most => Some((last.at, seq + 1)),
            _ => None,
        };
        for (seq, task) in found {
            if let Entry::Vacant(vacant) = self.tasks.entry(seq) {
                route.ready.insert((task.at, seq));
                vacant.insert(task);
            }
        }
        let found_all = route.backlog.is_none();
        self.dispatch(name);
        Ok(!found_all)
    }
}

fn parked(route: &Arc<str>, key: &[u8], value: &[u8]) -> Result<(u64, Live), StoreError> {
    let (at, seq) = key::time_of(key)?;
    let entry: record::Entry<'_> = record::decode(value)?;
    let task = Live {
        route: route.clone(),
        id: entry.id.into(),
        at,
        parked: true,
        attempt: entry.attempt,
        failures: entry.failures,
        avoid: None,
        state: State::Ready,
    };
    Ok((seq, task))
}
