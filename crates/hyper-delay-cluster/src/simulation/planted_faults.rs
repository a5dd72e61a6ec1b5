//! Faults that are planted to see that the checks notice them.
//!
//! The server knows nothing of them: they change the events of its parts, or the contents of their
//! disks.

use super::{events::ProcessId, world::World};
use crate::{
    ShardId,
    forward::{
        self,
        wire::{LeaderQueryAnswer, ToConnection, ToLeader, ToServing},
    },
    log::LogRequest,
    replica::ReplicaSync,
    shard::ShardEvent,
};
use hyper_delay_engine::{clock::Now, front::FrontInput};
use hyper_delay_store::{
    Batch, Durability, ReadStore as _, Space, Store as _, StoreError, fake::Fake, record::key,
};

/// A fault in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum PlantedFault {
    #[default]
    Nothing,
    /// The log takes entries of every leader.
    NoFence,
    /// A delivery is written without a check of the lease.
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
    /// A node that ends does not announce it.
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
    /// A snapshot does not say how far it is: what its provider has when it arrives counts.
    SnapshotWithoutApplied,
}

impl World {
    /// Tells a shard what has happened, as the planted fault has it.
    pub(super) fn tell_shard(&mut self, life: ProcessId, id: ShardId, event: ShardEvent, now: Now) {
        let node = &mut self.nodes[life.node];
        let disk = &node.disks[usize::from(id.0)];
        if self.planted == PlantedFault::PassesNothingOn {
            forget(disk, key::HANDED_OVER);
        }
        let process = node.process.as_mut().expect("it runs");
        let term = process.lease.term();
        let shard = &mut process.shards[usize::from(id.0)];
        let event = match (self.planted, event) {
            (PlantedFault::AppliesInAnyOrder, ShardEvent::Entries(entries)) => {
                for (seq, entry) in entries {
                    shard.apply_unchecked(seq, &entry);
                }
                return;
            }
            (PlantedFault::IgnoresUnharmed, ShardEvent::PeerMessage(peer, mut message)) => {
                if let ToLeader::Nacked { failed, .. } = &mut message {
                    *failed = true;
                }
                ShardEvent::PeerMessage(peer, message)
            }
            (PlantedFault::DropsOlderAcks, ShardEvent::PeerMessage(peer, mut message)) => {
                if let ToLeader::Acked {
                    consumer, revision, ..
                } = &mut message
                    && !shard.has_in_flight(peer, *consumer, revision.seq)
                {
                    revision.seq = u64::MAX;
                }
                ShardEvent::PeerMessage(peer, message)
            }
            (PlantedFault::ClosesDetached, ShardEvent::PeerDisconnected(peer)) => {
                for consumer in self.clients.processes.keys() {
                    let closed = ShardEvent::PeerMessage(peer, ToLeader::Closed(*consumer));
                    shard.handle(closed, now, term);
                }
                ShardEvent::PeerDisconnected(peer)
            }
            (_, event) => event,
        };
        let is_unanswered = matches!(event, ShardEvent::Answered(_, Err(_)));
        shard.handle(event, now, term);
        if is_unanswered && self.planted == PlantedFault::UnansweredIsFailed {
            shard.forget_unanswered();
        }
    }

    /// A shard that has just begun to lead gets the ledger of its last leadership.
    pub(super) fn mix_up_ledgers(&mut self, life: ProcessId, id: ShardId) {
        if self.planted == PlantedFault::KeepsTheLedger {
            let process = self.nodes[life.node].process.as_mut().expect("it runs");
            let shard = &mut process.shards[usize::from(id.0)];
            shard.exchange_ledger(self.saved_ledgers.entry((life, id)).or_default());
        }
    }

    /// Returns the event for a forwarder, changed by the planted fault.
    pub(super) fn alter_forwarder_event(
        &self,
        event: forward::ForwarderEvent,
    ) -> Option<forward::ForwarderEvent> {
        match (self.planted, event) {
            (
                PlantedFault::EndsInSilence,
                forward::ForwarderEvent::Input(FrontInput::ShuttingDown),
            ) => None,
            (
                PlantedFault::ReadsAtOnce,
                forward::ForwarderEvent::LeaderMessage(from, shard, message),
            ) => {
                let message = match message {
                    ToServing::Connection(
                        consumer,
                        ToConnection::QueryAnswer(number, LeaderQueryAnswer::Applied(_)),
                    ) => {
                        let at_once =
                            ToConnection::QueryAnswer(number, LeaderQueryAnswer::Applied(0));
                        ToServing::Connection(consumer, at_once)
                    }
                    message => message,
                };
                Some(forward::ForwarderEvent::LeaderMessage(from, shard, message))
            }
            (_, event) => Some(event),
        }
    }

    /// A request is sent to the log, as the planted fault has it.
    pub(super) fn alter_request(&self, life: ProcessId, request: &mut LogRequest) {
        let applied = |shard: ShardId| {
            let process = self.nodes[life.node].process.as_ref();
            process.expect("it runs").shards[usize::from(shard.0)].applied()
        };
        match (self.planted, request) {
            (PlantedFault::ReportsApplied, LogRequest::Report { shard, synced, .. }) => {
                *synced = applied(*shard);
            }
            (PlantedFault::TrimsPastMajority, LogRequest::Trim { shard, below, .. }) => {
                *below = applied(*shard);
            }
            (PlantedFault::TrimsTheLast, LogRequest::Trim { shard, below, .. })
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
        life: ProcessId,
        shard: ShardId,
        persisting: ReplicaSync<Fake>,
    ) -> Result<u64, StoreError> {
        if self.planted == PlantedFault::NotesBeforeSync {
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
