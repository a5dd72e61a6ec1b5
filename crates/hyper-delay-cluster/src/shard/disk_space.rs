//! Waits for space on the disk of this node.
//!
//! A disk that is full to its last byte would spoil the store. So a follower takes an entry when
//! there is space for it, and *waits* until then: the journal keeps what it lacks, as for a
//! node that is away. A leader whose disk has no space for an ack either lets another node lead.

use race_wheel::Tick;

use super::{Shard, after};
use crate::replica::RequiredDiskSpace;
use hyper_delay_engine::clock::Now;
use hyper_delay_store::{DiskSpace, Store, StoreError};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::shard::room";

/// This node waits for space on its disk.
#[derive(Debug)]
pub(super) struct DiskSpaceWait {
    wanted: RequiredDiskSpace,
    /// When the disk is checked again.
    next: Tick,
}

impl<S: Store> Shard<S> {
    /// Makes space on the disk for the next entry, and returns it.
    pub(super) fn disk_space(&self) -> Result<DiskSpace, StoreError> {
        let disk_space = self.replica.disk_space()?;
        self.setup.metrics.note_disk_space(disk_space);
        Ok(disk_space)
    }

    /// Returns whether nothing is applied before there is space for it.
    pub(crate) const fn lacks_disk_space(&self) -> bool {
        self.disk_space_wait.is_some()
    }

    /// Returns when the disk must be checked again.
    pub(super) fn disk_space_next(&self) -> Option<Tick> {
        self.disk_space_wait.as_ref().map(|lack| lack.next)
    }

    /// There is no space for an entry.
    pub(super) fn wait_for_disk_space(&mut self, wanted: RequiredDiskSpace, now: Now) {
        tracing::error!(
            target: TARGET,
            shard = self.setup.shard.0,
            applied = self.applied(),
            "the disk of data_dir is full: free some; this node neither leads nor follows a shard \
             until then",
        );
        self.withdraw();
        self.election.set_has_disk_space(false);
        let next = after(now, self.setup.lease);
        self.disk_space_wait = Some(DiskSpaceWait { wanted, next });
    }

    /// Checks from time to time whether there is space now.
    pub(super) fn check_disk_space(&mut self, now: Now) {
        let Some(lack) = self
            .disk_space_wait
            .as_mut()
            .filter(|it| now.monotonic >= it.next)
        else {
            return;
        };
        lack.next = after(now, self.setup.lease);
        let wanted = lack.wanted;
        match self.disk_space() {
            Ok(disk_space) if wanted.fits(disk_space) => {
                let shard = self.setup.shard.0;
                tracing::info!(
                    target: TARGET,
                    shard,
                    "the disk of data_dir has room again for a shard",
                );
                self.disk_space_wait = None;
                self.election.set_has_disk_space(true);
                self.journal.read_now();
            }
            Ok(_) => {}
            Err(error) => self.stop(error),
        }
    }
}
