//! Operations on a store that only tests need.

use std::path::Path;

use fjall::AbstractTree as _;

use super::Embedded;
use crate::fjall_error;
use hyper_delay_store::{Space, StoreError};

impl Embedded {
    /// Starts to write all memtables to tables.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn seal_all(&self) -> Result<(), StoreError> {
        self.start_flush()
            .map_err(|error| fjall_error::to_store_error("flush", error))
    }

    /// Writes all memtables to tables and returns when they are written.
    ///
    /// # Panics
    ///
    /// If the disk fails.
    pub fn flush_all(&self) {
        for space in &self.spaces {
            if !space.tree.active_memtable().is_empty() {
                let written = space.rotate_memtable_and_wait();
                written.expect("the disk works");
            }
        }
    }

    /// Returns the folder of a space.
    pub fn folder_of(&self, space: Space) -> &Path {
        self.space(space).path()
    }
}
