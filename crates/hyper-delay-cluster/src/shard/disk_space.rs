//! Waits for space on the disk of this node.
//!
//! A disk that is full to its last byte would spoil the store. So a follower takes an entry when
//! there is space for it, and *waits* until then: the journal keeps what it lacks, as for a
//! node that is away. A leader whose disk has no space for an ack either lets another node lead.

use race_wheel::Tick;

use super::Shard;
use crate::replica::RequiredDiskSpace;
use hyper_delay_engine::clock::Now;
use hyper_delay_store::{DiskSpace, Store, StoreError};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::shard::room";

/// Whether this node waits for space on its disk.
#[derive(Debug, Default)]
pub(super) struct DiskSpaceWait {
    /// The space that is needed, and when the disk is checked again.
    required: Option<(RequiredDiskSpace, Tick)>,
}

impl DiskSpaceWait {
    /// Waits for this space. The disk is checked again at `next`.
    pub(super) const fn begin(&mut self, required: RequiredDiskSpace, next: Tick) {
        self.required = Some((required, next));
    }

    pub(super) const fn is_waiting(&self) -> bool {
        self.required.is_some()
    }

    /// Returns when the disk must be checked again.
    pub(super) fn next(&self) -> Option<Tick> {
        self.required.map(|(_, next)| next)
    }

    /// Returns the space for which the disk must be checked now. The next check is at `again`.
    pub(super) fn check(&mut self, again: Tick, now: Now) -> Option<RequiredDiskSpace> {
        let (required, next) = self.required.as_mut()?;
        if now.monotonic < *next {
            return None;
        }
        *next = again;
        Some(*required)
    }

    /// There is space.
    pub(super) const fn end(&mut self) {
        self.required = None;
    }
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
        self.disk_space_wait.is_waiting()
    }

    /// There is no space for an entry.
    pub(super) fn wait_for_disk_space(&mut self, required: RequiredDiskSpace, now: Now) {
        tracing::error!(
            target: TARGET,
            shard = self.setup.shard.0,
            applied = self.applied(),
            "the disk of data_dir is full: free some; this node neither leads nor follows a shard \
             until then",
        );
        self.withdraw();
        self.election.set_has_disk_space(false);
        let next = now.after(self.setup.lease);
        self.disk_space_wait.begin(required, next);
    }

    /// Checks from time to time whether there is space now.
    pub(super) fn check_disk_space(&mut self, now: Now) {
        let again = now.after(self.setup.lease);
        let Some(required) = self.disk_space_wait.check(again, now) else {
            return;
        };
        match self.disk_space() {
            Ok(disk_space) if required.fits(disk_space) => {
                let shard = self.setup.shard.0;
                tracing::info!(
                    target: TARGET,
                    shard,
                    "the disk of data_dir has room again for a shard",
                );
                self.disk_space_wait.end();
                self.election.set_has_disk_space(true);
                self.journal.read_now();
            }
            Ok(_) => {}
            Err(error) => self.stop(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::at, *};

    #[test]
    fn the_disk_is_checked_from_time_to_time_while_space_is_needed() {
        let mut wait = DiskSpaceWait::default();
        assert!(wait.check(Tick::new(90), at(50)).is_none());
        wait.begin(RequiredDiskSpace::CHANGE, Tick::new(50));
        assert!(wait.is_waiting());
        assert!(wait.check(Tick::new(90), at(49)).is_none());
        assert!(wait.check(Tick::new(90), at(50)).is_some());
        assert_eq!(wait.next(), Some(Tick::new(90)));
        assert!(wait.check(Tick::new(130), at(89)).is_none());
        wait.end();
        assert!(wait.check(Tick::new(130), at(90)).is_none());
        assert!(!wait.is_waiting());
    }
}
