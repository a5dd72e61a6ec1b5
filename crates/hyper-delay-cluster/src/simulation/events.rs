//! The events of a history.

use std::mem;

use super::{
    consumers,
    node::SimulationOptions,
    world::{MILLI, World},
};
use crate::{
    ShardId,
    call_id::CallId,
    forward,
    log::{LeaseId, LogAnswer, LogRequest, LogUnanswered},
    replica::ReplicaSync,
    shard::{PeerId, ShardEvent, SnapshotFetch},
};
use hyper_delay_engine::{front::ConsumerMessage, scheduler::ConsumerId};
use hyper_delay_store::fake::Fake;

/// A process, by its node and the number of its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ProcessId {
    pub(super) node: usize,
    pub(super) start: u64,
}

/// An event of a history.
#[derive(Debug)]
pub(super) enum SimulationEvent {
    /// A request reaches the log.
    Request(ProcessId, ProcessPart, CallId, LogRequest),
    /// An answer, or the end of the time for it, reaches a process.
    Answer(
        ProcessId,
        ProcessPart,
        CallId,
        Result<LogAnswer, LogUnanswered>,
    ),
    /// A tick of a part of a process.
    Tick(ProcessId, ProcessPart),
    /// An event of the journal, or of a link, reaches a shard of a process.
    Shard(ProcessId, ShardId, ShardEvent),
    /// A disk has synced.
    Persist(ProcessId, ShardId, ReplicaSync<Fake>),
    /// A message is about to be written to the socket of a consumer.
    Socket(ProcessId, ConsumerId, ConsumerMessage),
    /// Something reaches the forwarder of a process.
    Forwarder(ProcessId, forward::ForwarderEvent),
    /// A message of a serving node reaches the leader of a shard over a link.
    ToLeader(PeerId, ProcessId, ShardId, ShardEvent),
    /// A message of a leader reaches a serving node over a link.
    ToServing(PeerId, ProcessId, forward::ForwarderEvent),
    /// A consumer answers a delivery.
    Answers(ProcessId, usize, ConsumerId, consumers::ConsumerAnswer),
    /// The request for a snapshot reaches another node.
    Snapshot(ProcessId, ShardId, SnapshotFetch),
    /// The snapshot is there, or not.
    SnapshotArrived(ProcessId, ShardId, SnapshotFetch, Option<Vec<u8>>),
    /// Processes connect to each other.
    Connect,
    /// Clients connect.
    Clients,
    /// A client does something.
    Client,
    /// A client schedules without a route.
    WithoutRoute,
    /// A client moves a task.
    Moves,
    /// A client registers a route, or leaves it.
    Registers(usize, ConsumerId, usize, bool),
    /// A client may wait for the answer to the schedule of this task.
    Unanswered(usize),
    /// A client may read.
    Read,
    /// An operator does something.
    Operator,
    /// Something goes wrong.
    Fault,
    /// A takeover is prepared that comes close to the end of a lease.
    Takeover,
    /// A client cancels a task of this shard that is due soon.
    Cancels(ShardId),
    /// A node is cut off from the log for this long.
    Cut(usize, u64),
    /// A process ends.
    End(ProcessId),
    /// A node is started.
    Start(usize),
    /// The pause of a process is over, if it was not made longer.
    Resume(usize),
}

/// A part of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProcessPart {
    Lease,
    Forwarder,
    Shard(ShardId),
}

impl World {
    pub(super) fn handle(&mut self, event: SimulationEvent) {
        let life = match &event {
            SimulationEvent::Answer(life, ..)
            | SimulationEvent::Tick(life, _)
            | SimulationEvent::Shard(life, ..)
            | SimulationEvent::Persist(life, ..)
            | SimulationEvent::Socket(life, ..)
            | SimulationEvent::Forwarder(life, ..)
            | SimulationEvent::ToLeader(_, life, ..)
            | SimulationEvent::ToServing(_, life, _)
            | SimulationEvent::SnapshotArrived(life, ..)
            | SimulationEvent::Answers(life, ..) => Some(*life),
            _ => None,
        };
        if let Some(life) = life {
            let node = &mut self.nodes[life.node];
            if node.starts != life.start || node.process.is_none() {
                return;
            }
            if node.stopped_until > self.at || !node.backlog.is_empty() {
                if node.backlog.is_empty() {
                    let pause = node.stopped_until - self.at;
                    self.after(pause, SimulationEvent::Resume(life.node));
                }
                return self.nodes[life.node].backlog.push_back(event);
            }
        }
        if self.traces {
            eprintln!("{} {event:?}", self.at / MILLI);
        }
        match event {
            SimulationEvent::Request(life, part, call, request) => {
                self.deliver_to_log(life, part, call, &request);
            }
            SimulationEvent::Answer(life, part, call, answer) => {
                self.answered(life, part, call, answer);
            }
            SimulationEvent::Tick(life, part) => {
                // A part with an earlier tick than planned has a later plan.
                if self.ticks.get(&(life, part)).is_none_or(|at| *at > self.at) {
                    return;
                }
                self.ticks.remove(&(life, part));
                match part {
                    ProcessPart::Lease => self.lease(life),
                    ProcessPart::Forwarder => self.forwarder(life, None),
                    ProcessPart::Shard(shard) => self.shard(life, shard, None),
                }
            }
            SimulationEvent::Shard(life, shard, event) => self.shard(life, shard, Some(event)),
            SimulationEvent::Persist(life, shard, persisting)
                if !self.is_faultless() && self.random.u8(0..16) == 0 =>
            {
                let disk = &self.nodes[life.node].disks[usize::from(shard.0)];
                disk.fail_power_after(self.random.usize(0..2));
                // The process is gone, so the result is not reported.
                let _ = self.persist(life, shard, persisting);
                let time = self.random.u64(10..2_000) * MILLI;
                self.lose_power(life.node, time);
            }
            SimulationEvent::Persist(life, shard, persisting) => {
                let result = self.persist(life, shard, persisting);
                self.shard(life, shard, Some(ShardEvent::Persisted(result)));
            }
            SimulationEvent::Socket(life, consumer, message) => {
                self.write_to_socket(life, consumer, message);
            }
            SimulationEvent::Forwarder(life, event) => self.forwarder(life, Some(event)),
            SimulationEvent::ToLeader(peer, life, shard, event) => {
                if self.link_is_there(peer) {
                    self.shard(life, shard, Some(event));
                }
            }
            SimulationEvent::ToServing(peer, life, event) => {
                if self.link_is_there(peer) {
                    self.forwarder(life, Some(event));
                }
            }
            SimulationEvent::Answers(life, client, consumer, answer) => {
                self.answer(life, (client, consumer), answer);
            }
            SimulationEvent::Snapshot(life, shard, fetch) => {
                self.provide_snapshot(life, shard, fetch);
            }
            SimulationEvent::SnapshotArrived(life, shard, fetch, snapshot) => {
                self.snapshot_arrived(life, shard, &fetch, snapshot);
            }
            SimulationEvent::Connect => self.connect(),
            SimulationEvent::Clients => self.clients_connect(),
            SimulationEvent::Resume(node) => self.resume(node),
            SimulationEvent::Client => self.client_acts(),
            SimulationEvent::WithoutRoute => self.act_without_route(),
            SimulationEvent::Moves => self.client_moves(),
            SimulationEvent::Registers(client, consumer, route, joins) => {
                self.register(client, consumer, route, joins);
            }
            SimulationEvent::Unanswered(task) => self.unanswered(task),
            SimulationEvent::Read => self.read(),
            SimulationEvent::Operator => self.operate(),
            SimulationEvent::Fault => self.fault(),
            SimulationEvent::Takeover => self.prepare_takeover(),
            SimulationEvent::Cancels(shard) => self.cancel_next(shard),
            SimulationEvent::Cut(node, time) => {
                if !self.is_calm() {
                    self.cut_until[node] = self.at + time;
                }
            }
            SimulationEvent::End(life) => {
                if self.process_id(life.node) == life {
                    self.end_process(life);
                }
            }
            SimulationEvent::Start(node) => {
                let is_calm = self.is_calm();
                let Self {
                    nodes,
                    versions,
                    charter,
                    members,
                    at,
                    planted,
                    options,
                    random,
                    ..
                } = self;
                if nodes[node].process.is_some() {
                    return;
                }
                let lease = LeaseId(random.u64(..));
                versions.start(node, is_calm);
                let moment = (*at, *planted, lease);
                let options = SimulationOptions {
                    release: versions.release(node),
                    ..*options
                };
                nodes[node].start(*charter, members, moment, options);
                let life = self.process_id(node);
                self.lease(life);
                self.forwarder(life, None);
                for shard in (0..self.charter.shards).map(ShardId) {
                    self.shard(life, shard, None);
                }
            }
        }
    }

    /// A process does what has waited for it, in its order.
    fn resume(&mut self, node: usize) {
        let until = self.nodes[node].stopped_until;
        if until > self.at {
            return self.after(until - self.at, SimulationEvent::Resume(node));
        }
        for event in mem::take(&mut self.nodes[node].backlog) {
            self.handle(event);
        }
    }
}
