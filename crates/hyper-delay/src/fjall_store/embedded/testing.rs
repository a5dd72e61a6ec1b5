//! What tests do to a store from inside.

use std::path::Path;

use fjall::AbstractTree as _;

use super::Embedded;
use crate::{
    fjall_store::library,
    store::{Space, StoreError},
};

impl Embedded {
    /// Starts to write all memtables to tables.
    pub(crate) fn seal_all(&self) -> Result<(), StoreError> {
        self.flush().map_err(|error| library::error("flush", error))
    }

    /// Writes all memtables to tables and returns when they are written.
    pub(crate) fn flush_all(&self) {
        for space in &self.spaces {
            if !space.tree.active_memtable().is_empty() {
                space.rotate_memtable_and_wait().unwrap();
            }
        }
    }

    /// Returns the folder of a space.
    pub(crate) fn folder_of(&self, space: Space) -> &Path {
        self.space(space).path()
    }
}
