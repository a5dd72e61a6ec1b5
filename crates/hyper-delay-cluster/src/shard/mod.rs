//! A shard on one node: a state machine without threads, network and clock.
//!
//! It takes events ([`ShardEvent`]) and the time, and returns the effects to carry out
//! ([`ShardEffects`]). It follows the journal of the shard, leads the shard if no other node does,
//! and then runs the scheduler of its tasks.

mod append;
mod candidacy;
mod delivery_grants;
mod disk_progress;
mod disk_space;
mod election;
mod event;
#[cfg(test)]
mod fault_injection;
#[cfg(test)]
mod fixture;
mod follow;
mod forwarded_request;
mod hand_over;
mod journal_reader;
mod leader_state;
mod leadership;
mod log_answers;
mod peer_messages;
mod serving_nodes;
mod sessions;
mod snapshot_fetch;
mod snapshot_wait;
mod stop_reason;
mod stopped;
mod trim;

use std::sync::Arc;

use super::{
    call_id::CallIds,
    lease::Term,
    log::{Fence, Leader, NodeName},
    replica::{ApplyError, Replica, ReplicaSync},
};
use candidacy::rank;
use delivery_grants::DeliveryGrants;
use disk_progress::DiskProgress;
use disk_space::DiskSpaceWait;
use election::Election;
pub(crate) use event::{LeadershipChange, ShardEffects, ShardEvent, ShardSetup};
#[cfg(test)]
pub(crate) use fault_injection::SavedLedger;
#[cfg(test)]
pub(crate) use hand_over::handed_over_copies;
use hyper_delay_engine::{
    clock::Now,
    metrics::{MemoryGauges, ShardGauges},
    scheduler::{NextCall, SchedulerInput, SchedulerSettings},
};
use hyper_delay_store::Store;
use journal_reader::JournalReader;
use leader_state::LeaderState;
pub(crate) use serving_nodes::PeerId;
use serving_nodes::ServingNodes;
pub(crate) use snapshot_fetch::SnapshotFetch;
use snapshot_fetch::SnapshotFetchState;
pub(crate) use stop_reason::StopReason;
use trim::JournalTrimming;

/// A shard on this node. See the [module](self).
#[derive(Debug)]
pub(crate) struct Shard<S: Store> {
    setup: ShardSetup,
    replica: Replica<S>,
    calls: CallIds,
    members: Arc<[NodeName]>,
    disk_progress: DiskProgress,
    journal: JournalReader,
    election: Election,
    /// The leadership of this node.
    leading: Option<Box<LeaderState<S>>>,
    /// The sessions with this leader.
    serving_nodes: ServingNodes,
    /// They outlive the leadership.
    grants: DeliveryGrants,
    /// At the beginning again when the leadership ends.
    trimming: JournalTrimming,
    stopped: Option<StopReason>,
    disk_space_wait: DiskSpaceWait,
    /// In use while the shard has stopped and waits for a snapshot.
    snapshot_fetch: SnapshotFetchState,
    effects: ShardEffects<S>,
}

impl<S: Store> Shard<S> {
    /// Creates a shard from what its store contains.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, or belongs to another cluster or shard.
    pub(crate) fn open(
        store: Arc<S>,
        setup: ShardSetup,
        members: Arc<[NodeName]>,
        now: Now,
    ) -> Result<Self, ApplyError> {
        let replica = Replica::open(store, setup.charter, setup.shard)?;
        Ok(Self {
            disk_progress: DiskProgress::new(replica.applied().seq, now),
            journal: JournalReader::new(now),
            election: Election::default(),
            leading: None,
            serving_nodes: ServingNodes::default(),
            grants: DeliveryGrants::default(),
            trimming: JournalTrimming::default(),
            stopped: None,
            disk_space_wait: DiskSpaceWait::default(),
            snapshot_fetch: SnapshotFetchState::default(),
            calls: CallIds::default(),
            members,
            replica,
            setup,
            effects: ShardEffects::default(),
        })
    }

    /// Handles an event. [`tick`](Self::tick) must be called after the last of the events
    /// that are known now, so that their writes share an entry.
    pub(crate) fn handle(&mut self, event: ShardEvent, now: Now, term: Option<Term>) {
        self.check_term(now, term);
        if self.stopped.is_some() {
            return self.handle_stopped(event, now);
        }
        match event {
            ShardEvent::Answered(call, answer) => {
                self.answered(call, answer, now);
                self.check_successor();
            }
            ShardEvent::Entries(entries) => self.apply_entries(&entries, now),
            ShardEvent::Leader(leader, revision) => {
                self.election.leader_announced(leader, revision, now);
                self.check_successor();
            }
            ShardEvent::Persisted(Ok(seq)) => self.disk_progress.persisted(seq),
            ShardEvent::Damaged(error) => self.stop(error),
            ShardEvent::Persisted(Err(error)) => {
                self.disk_progress.sync_ended();
                self.stop(error);
            }
            ShardEvent::PeerMessage(peer, message) => {
                self.handle_peer_message(peer, message, now, term);
            }
            ShardEvent::PeerDisconnected(peer) => self.peer_disconnected(peer, now),
            #[cfg(test)]
            ShardEvent::Input(input) => self.accept_input(input, now),
            ShardEvent::Settings(settings) => self.configure(*settings, now),
            ShardEvent::Members(members) => self.set_members(members),
            ShardEvent::ClockIsOff(is_off) => self.set_clock_off(is_off),
            ShardEvent::HandOver => self.hand_over(now),
            ShardEvent::FetchFailed(attempt, why) => self.handle_fetch_failure(attempt, &why, now),
        }
    }

    /// Does what follows from the events since the last call, and from the time. Returns when the
    /// next call must come at the latest.
    pub(crate) fn tick(&mut self, now: Now, term: Option<Term>) -> NextCall {
        self.check_term(now, term);
        if self.stopped.is_some() {
            return self.tick_stopped(now, term);
        }
        self.end_hold_if_ready(now);
        let scheduler = self.tick_scheduler(now);
        self.advance(now, term);
        if matches!(scheduler, NextCall::Now) || self.has_ended() {
            return NextCall::Now;
        }
        let scheduler = match scheduler {
            NextCall::At(at) => Some(at),
            NextCall::Now | NextCall::Never => None,
        };
        let term = term.filter(|term| term.holds(now)).map(|term| term.until);
        let times = [
            scheduler,
            term,
            self.disk_progress.next(),
            self.journal.next(),
            self.disk_space_wait.next(),
            self.election.next(),
            self.leading.as_ref().and_then(|it| it.append_next()),
            self.serving_nodes.next(),
            self.trimming.next(),
        ];
        times
            .into_iter()
            .flatten()
            .min()
            .map_or(NextCall::Never, NextCall::At)
    }

    /// Returns the effects since the last call.
    pub(crate) fn take_effects(&mut self) -> ShardEffects<S> {
        let leader_changed = self.election.take_change();
        ShardEffects {
            leader_changed,
            ..std::mem::take(&mut self.effects)
        }
    }

    /// Returns the sync that makes everything applied so far durable. `None`: it is.
    pub(crate) fn prepare_sync(&self) -> Option<ReplicaSync<S>> {
        (self.applied() > self.disk_progress.synced()).then(|| self.replica.prepare_sync())
    }

    /// Returns the leadership of this node, if it leads the shard.
    pub(crate) fn fence(&self) -> Option<Fence> {
        self.leading.as_ref().map(|leading| leading.fence())
    }

    /// Returns the leader of the shard, as far as this node knows.
    pub(crate) const fn leader(&self) -> Option<&Leader> {
        self.election.leader()
    }

    /// Returns whether this node leads the shard.
    pub(crate) const fn is_leading(&self) -> bool {
        self.leading.is_some()
    }

    /// Returns whether the log knows what this node has on its disk.
    #[cfg(test)]
    pub(crate) const fn is_known(&self) -> bool {
        self.disk_progress.is_known()
    }

    /// Returns whether this node neither leads the shard nor is about to.
    pub(crate) const fn has_no_leadership(&self) -> bool {
        self.leading.is_none() && self.election.has_no_leadership()
    }

    /// Returns the last entry that is applied.
    pub(crate) const fn applied(&self) -> u64 {
        self.replica.applied().seq
    }

    /// Returns what the scheduler has in memory, if this node leads the shard.
    pub(crate) fn in_memory(&self, now: Now) -> MemoryGauges {
        let memory = match &self.leading {
            Some(leading) => leading.in_memory(now),
            None => MemoryGauges::of_follower(now.wall_millis()),
        };
        MemoryGauges {
            shard: Some(ShardGauges {
                is_led: self.is_leading(),
                has_stopped: self.stopped.is_some(),
                applied: self.applied(),
                synced: self.disk_progress.synced(),
            }),
            ..memory
        }
    }

    /// Returns why the shard has stopped.
    pub(crate) const fn stopped(&self) -> Option<&StopReason> {
        self.stopped.as_ref()
    }

    /// Does what can be done now.
    fn advance(&mut self, now: Now, term: Option<Term>) {
        self.check_disk_space(now);
        self.sync_and_report(now, term);
        self.read(now);
        self.elect(now, term);
        self.write_next(now);
        self.append_hand_over(now);
        // The last messages of the leadership go out before it ends.
        if self.has_ended() && self.effects.has_no_messages() {
            self.withdraw();
        }
        self.trim(now);
    }

    /// Ends the leadership, and the election, if this node may not lead any more.
    fn check_term(&mut self, now: Now, term: Option<Term>) {
        let lease = term.filter(|term| term.holds(now)).map(|term| term.lease);
        let fence = self.fence().or_else(|| self.election.elected());
        if let Some(fence) = fence
            && lease != Some(fence.lease)
        {
            self.resign(fence);
        }
    }

    /// Ends the leadership, and the election, if there is a later leadership: nothing that this one
    /// begins has an effect any more.
    fn check_successor(&mut self) {
        let fence = self.fence().or_else(|| self.election.elected());
        if let Some(fence) = fence
            && let Some(leader) = self.election.leader().cloned()
            && leader.epoch > fence.epoch
        {
            self.resign(fence);
            self.election.set_successor(leader);
        }
    }

    /// Ends the leadership, and resigns it in the log.
    fn resign(&mut self, fence: Fence) {
        if self.leading.take().is_some() {
            self.end_sessions(fence);
            self.effects.changes.push(LeadershipChange::Ends(fence));
        }
        self.trimming = JournalTrimming::default();
        self.election.resigned(fence);
        self.journal.read_now();
    }

    /// Ends the leadership and the election.
    fn withdraw(&mut self) {
        if let Some(fence) = self.fence().or_else(|| self.election.elected()) {
            self.resign(fence);
        }
    }

    /// Returns whether the leadership is over but for its last messages.
    fn has_ended(&self) -> bool {
        let leading = self.leading.as_ref();
        leading.is_some_and(|leading| leading.has_ended())
    }

    /// A node that is removed from the cluster leads no longer.
    fn set_members(&mut self, members: Arc<[NodeName]>) {
        self.members = members;
        if rank(&self.members, &self.setup).is_none() {
            self.withdraw();
        }
    }

    fn configure(&mut self, settings: SchedulerSettings, now: Now) {
        self.setup.settings = settings.clone();
        self.input(SchedulerInput::Settings(Box::new(settings)), now);
    }

    fn set_clock_off(&mut self, is_off: bool) {
        if is_off {
            self.withdraw();
        }
        self.election.set_clock_off(is_off);
    }
}

#[cfg(test)]
mod tests;
