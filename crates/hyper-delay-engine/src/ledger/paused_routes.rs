use std::{collections::BTreeSet, sync::Arc};

use super::{scan::scan_meta, write_buffer::WriteBuffer};
use hyper_delay_store::{
    ReadStore, Space, Store, StoreError,
    record::{self, key},
};

/// The paused routes: none of their tasks are delivered. Stored on disk.
#[derive(Debug, Default)]
pub(super) struct PausedRoutes {
    routes: BTreeSet<Arc<str>>,
}

impl PausedRoutes {
    /// Reads the paused routes of a store.
    pub(super) fn open(store: &impl ReadStore) -> Result<Self, StoreError> {
        let mut routes = BTreeSet::new();
        scan_meta(store, key::PAUSED, |route, _| {
            routes.insert(key::text_of(route)?.into());
            Ok(())
        })?;
        Ok(Self { routes })
    }

    /// The paused routes.
    pub(super) fn routes(&self) -> impl Iterator<Item = &Arc<str>> {
        self.routes.iter()
    }

    /// Pauses a route. Returns whether it was not paused.
    pub(super) fn pause(&mut self, route: &Arc<str>, writes: &mut WriteBuffer<impl Store>) -> bool {
        let is_new = self.routes.insert(route.clone());
        if is_new {
            writes.put(Space::Meta, key::paused(route), record::encode(&()));
        }
        is_new
    }

    /// Resumes a route. Returns whether it was paused.
    pub(super) fn resume(&mut self, route: &str, writes: &mut WriteBuffer<impl Store>) -> bool {
        let was_paused = self.routes.remove(route);
        if was_paused {
            writes.remove(Space::Meta, key::paused(route));
        }
        was_paused
    }
}
