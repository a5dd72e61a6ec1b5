//! Room on the disk of this node.
//!
//! A disk that is full to its last byte would spoil the store. So a follower takes an entry when
//! there is room for it, and *stands still* until then: the journal keeps what it lacks, as for a
//! node that is away. A leader whose disk has no room for an ack either lets another node lead.

use race_wheel::Tick;

use super::{Shard, after};
use crate::replica::Wanted;
use hyper_delay_engine::clock::Now;
use hyper_delay_store::{Room, Store, StoreError};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::shard::room";

/// This node waits for room on its disk.
#[derive(Debug)]
pub(super) struct Lack {
    wanted: Wanted,
    /// When the disk is looked at again.
    next: Tick,
}

impl<S: Store> Shard<S> {
    /// Makes room on the disk for the next entry, and returns it.
    pub(super) fn room(&self) -> Result<Room, StoreError> {
        let room = self.replica.room()?;
        self.setup.metrics.look(room);
        Ok(room)
    }

    /// Returns whether nothing is applied before there is room for it.
    pub(crate) const fn stands_still(&self) -> bool {
        self.lack.is_some()
    }

    /// Returns when the disk is to be looked at again.
    pub(super) fn room_next(&self) -> Option<Tick> {
        self.lack.as_ref().map(|lack| lack.next)
    }

    /// There is no room for an entry.
    pub(super) fn lacks_room(&mut self, wanted: Wanted, now: Now) {
        tracing::error!(
            target: TARGET,
            shard = self.setup.shard.0,
            applied = self.applied(),
            "the disk of data_dir is full: free some; this node neither leads nor follows a shard \
             until then",
        );
        self.withdraw();
        self.election.has_room(false);
        let next = after(now, self.setup.lease);
        self.lack = Some(Lack { wanted, next });
    }

    /// Looks from time to time whether there is room now.
    pub(super) fn look_for_room(&mut self, now: Now) {
        let Some(lack) = self.lack.as_mut().filter(|it| now.monotonic >= it.next) else {
            return;
        };
        lack.next = after(now, self.setup.lease);
        let wanted = lack.wanted;
        match self.room() {
            Ok(room) if wanted.fits(room) => {
                let shard = self.setup.shard.0;
                tracing::info!(
                    target: TARGET,
                    shard,
                    "the disk of data_dir has room again for a shard",
                );
                self.lack = None;
                self.election.has_room(true);
                self.reading.at_once();
            }
            Ok(_) => {}
            Err(error) => self.stop(error),
        }
    }
}
