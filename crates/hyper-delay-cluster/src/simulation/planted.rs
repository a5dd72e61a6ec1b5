//! Faults that are planted to see that the checks notice them.
//!
//! The server knows nothing of them: they change what its parts are told, or what is on their
//! disks.

use super::{events::Life, world::World};
use crate::{
    ShardId,
    forward::{
        self,
        wire::{Looked, ToLeader, ToServing, Told},
    },
    log::Request,
    replica::Persisting,
    shard::Event,
};
use hyper_delay_engine::{clock::Now, scheduler::Input};
use hyper_delay_store::{
    Batch, Durability, ReadStore as _, Space, Store as _, StoreError, fake::Fake, record::key,
};

/// A fault in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Planted {
    #[default]
    Nothing,
    /// The log takes entries of every leader.
    NoFence,
    /// A delivery is written without a look at the lease.
    NoLeaseAtTheSocket,
    /// A leadership is taken over, whether its node is still silent or not.
    IgnoresHeartbeats,
    /// A leadership is taken over after half of a lease.
    ShortWait,
    /// A node starts from what was applied, synced or not.
    StartsFromApplied,
    /// Entries are removed up to what is applied on all nodes, synced or not.
    ReportsApplied,
    /// A node acts until the last moment of its lease.
    NoMargin,
    /// The time of a lease counts from when the answer came.
    CountsFromReceipt,
    /// What is synced is noted before it is synced.
    NotesBeforeSync,
    /// The last entry of a journal is removed, too.
    TrimsTheLast,
    /// An append without an answer counts as failed: the next entry takes its place.
    UnansweredIsFailed,
    /// A leader begins with the ledger that it had when it led before.
    KeepsTheLedger,
    /// Deliveries of a session that has ended are still written.
    KeepsTheOutbox,
    /// Entries are applied as they come.
    AppliesInAnyOrder,
    /// An ack counts only if this leader has the delivery in flight.
    DropsOlderAcks,
    /// A node that ends does not say so.
    EndsInSilence,
    /// A planned end of a leadership passes nothing on.
    PassesNothingOn,
    /// Every delivery that is given back counts as failed.
    IgnoresUnharmed,
    /// The connections of a node are closed when its link breaks.
    ClosesDetached,
    /// A read does not wait until the replica of its node is as far as the leader.
    ReadsAtOnce,
    /// Entries are removed that a majority has not synced.
    TrimsPastMajority,
    /// What was reported of a node is not lowered when it has lost its disk.
    KeepsReports,
    /// A snapshot does not say how far it is: what its giver has when it arrives counts.
    SnapshotWithoutApplied,
}

impl World {
    /// Tells a shard what has happened, as the planted fault has it.
    pub(super) fn tell_shard(&mut self, life: Life, id: ShardId, event: Event, now: Now) {
        let node = &mut self.nodes[life.node];
        let disk = &node.disks[usize::from(id.0)];
        if self.planted == Planted::PassesNothingOn {
            forget(disk, key::HANDED_OVER);
        }
        let process = node.process.as_mut().expect("it runs");
        let term = process.lease.term();
        let shard = &mut process.shards[usize::from(id.0)];
        let event = match (self.planted, event) {
            (Planted::AppliesInAnyOrder, Event::Entries(entries)) => {
                for (seq, entry) in entries {
                    shard.apply_unchecked(seq, &entry);
                }
                return;
            }
            (Planted::IgnoresUnharmed, Event::Peer(peer, mut message)) => {
                if let ToLeader::Nacked { failed, .. } = &mut message {
                    *failed = true;
                }
                Event::Peer(peer, message)
            }
            (Planted::DropsOlderAcks, Event::Peer(peer, mut message)) => {
                if let ToLeader::Acked {
                    consumer, subject, ..
                } = &mut message
                    && !shard.has_in_flight(peer, *consumer, subject.seq)
                {
                    subject.seq = u64::MAX;
                }
                Event::Peer(peer, message)
            }
            (Planted::ClosesDetached, Event::PeerIsGone(peer)) => {
                for consumer in self.clients.processes.keys() {
                    let closed = Event::Peer(peer, ToLeader::Closed(*consumer));
                    shard.handle(closed, now, term);
                }
                Event::PeerIsGone(peer)
            }
            (_, event) => event,
        };
        let is_unanswered = matches!(event, Event::Answered(_, Err(_)));
        shard.handle(event, now, term);
        if is_unanswered && self.planted == Planted::UnansweredIsFailed {
            shard.forget_unanswered();
        }
    }

    /// A shard that has just begun to lead gets the ledger of its last leadership.
    pub(super) fn mix_up_ledgers(&mut self, life: Life, id: ShardId) {
        if self.planted == Planted::KeepsTheLedger {
            let process = self.nodes[life.node].process.as_mut().expect("it runs");
            let shard = &mut process.shards[usize::from(id.0)];
            shard.exchange_ledger(self.kept.entry((life, id)).or_default());
        }
    }

    /// Returns what a forwarder is told, as the planted fault has it.
    pub(super) fn for_forwarder(&self, event: forward::Event) -> Option<forward::Event> {
        match (self.planted, event) {
            (Planted::EndsInSilence, forward::Event::Input(Input::Ending)) => None,
            (Planted::ReadsAtOnce, forward::Event::Told(from, shard, told)) => {
                let told = match told {
                    ToServing::Told(consumer, Told::Looked(number, Looked::Applied(_))) => {
                        let at_once = Told::Looked(number, Looked::Applied(0));
                        ToServing::Told(consumer, at_once)
                    }
                    told => told,
                };
                Some(forward::Event::Told(from, shard, told))
            }
            (_, event) => Some(event),
        }
    }

    /// A request is sent to the log, as the planted fault has it.
    pub(super) fn distort(&self, life: Life, request: &mut Request) {
        let applied = |shard: ShardId| {
            let process = self.nodes[life.node].process.as_ref();
            process.expect("it runs").shards[usize::from(shard.0)].applied()
        };
        match (self.planted, request) {
            (Planted::ReportsApplied, Request::Report { shard, synced, .. }) => {
                *synced = applied(*shard);
            }
            (Planted::TrimsPastMajority, Request::Trim { shard, below, .. }) => {
                *below = applied(*shard);
            }
            (Planted::TrimsTheLast, Request::Trim { shard, below, .. })
                if *below == self.log.last(*shard) =>
            {
                *below += 1;
            }
            _ => {}
        }
    }

    /// Syncs the disk of a node.
    pub(super) fn persist(
        &self,
        life: Life,
        shard: ShardId,
        persisting: Persisting<Fake>,
    ) -> Result<u64, StoreError> {
        if self.planted == Planted::NotesBeforeSync {
            let disk = &self.nodes[life.node].disks[usize::from(shard.0)];
            note_applied(disk, Durability::Written)?;
        }
        persisting.run()
    }
}

/// Notes that everything on a disk was synced.
pub(super) fn note_applied(disk: &Fake, durability: Durability) -> Result<(), StoreError> {
    match disk.get(Space::Meta, key::APPLIED)? {
        Some(applied) => {
            let mut batch = Batch::new();
            batch.put(Space::Meta, key::SYNCED, applied);
            disk.commit(batch, durability)
        }
        None => Ok(()),
    }
}

fn forget(disk: &Fake, key: &[u8]) {
    let mut batch = Batch::new();
    batch.remove(Space::Meta, key);
    disk.commit(batch, Durability::Written).expect("it works");
}
