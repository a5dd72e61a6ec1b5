//! What happens in a history.

use std::mem;

use super::{
    consumers,
    world::{MILLI, World},
};
use crate::{
    ShardId,
    calls::CallId,
    forward,
    log::{Answer, LeaseId, Request, Unanswered},
    replica::Persisting,
    shard::{Event, Fetch, PeerId},
};
use hyper_delay_engine::scheduler::{ConsumerId, Message};
use hyper_delay_store::fake::Fake;

/// A process, by its node and the number of its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Life {
    pub(super) node: usize,
    pub(super) life: u64,
}

/// What happens at a moment.
#[derive(Debug)]
pub(super) enum Happening {
    /// A request reaches the log.
    Request(Life, Part, CallId, Request),
    /// An answer, or the end of the time for it, reaches a process.
    Answer(Life, Part, CallId, Result<Answer, Unanswered>),
    /// A part of a process is told the time.
    Tick(Life, Part),
    /// News of the journal, or of a link, reach a shard of a process.
    News(Life, ShardId, Event),
    /// A disk has synced.
    Persist(Life, ShardId, Persisting<Fake>),
    /// A message is about to be written to the socket of a consumer.
    Socket(Life, ConsumerId, Message),
    /// Something reaches the forwarder of a process.
    Forwarder(Life, forward::Event),
    /// A message of a serving node reaches the leader of a shard over a link.
    ToLeader(PeerId, Life, ShardId, Event),
    /// A message of a leader reaches a serving node over a link.
    ToServing(PeerId, Life, forward::Event),
    /// A consumer answers a delivery.
    Answers(Life, usize, ConsumerId, consumers::Answer),
    /// The request for a snapshot reaches another node.
    Snapshot(Life, ShardId, Fetch),
    /// The snapshot is there, or not.
    Snapshotted(Life, ShardId, Fetch, Option<Vec<u8>>),
    /// Processes connect to each other.
    Connect,
    /// Clients connect.
    Clients,
    /// A client does something.
    Client,
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
    End(Life),
    /// A node is started.
    Start(usize),
    /// The pause of a process is over, if it was not made longer.
    Resume(usize),
}

/// A part of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Lease,
    Forwarder,
    Shard(ShardId),
}

impl World {
    pub(super) fn happens(&mut self, happening: Happening) {
        let life = match &happening {
            Happening::Answer(life, ..)
            | Happening::Tick(life, _)
            | Happening::News(life, ..)
            | Happening::Persist(life, ..)
            | Happening::Socket(life, ..)
            | Happening::Forwarder(life, ..)
            | Happening::ToLeader(_, life, ..)
            | Happening::ToServing(_, life, _)
            | Happening::Snapshotted(life, ..)
            | Happening::Answers(life, ..) => Some(*life),
            _ => None,
        };
        if let Some(life) = life {
            let node = &mut self.nodes[life.node];
            if node.life != life.life || node.process.is_none() {
                return;
            }
            if node.stopped_until > self.at || !node.backlog.is_empty() {
                if node.backlog.is_empty() {
                    let pause = node.stopped_until - self.at;
                    self.after(pause, Happening::Resume(life.node));
                }
                return self.nodes[life.node].backlog.push_back(happening);
            }
        }
        if self.traces {
            eprintln!("{} {happening:?}", self.at / MILLI);
        }
        match happening {
            Happening::Request(life, part, call, request) => {
                self.reaches_log(life, part, call, &request);
            }
            Happening::Answer(life, part, call, answer) => self.answered(life, part, call, answer),
            Happening::Tick(life, part) => {
                // A part that is told the time earlier than planned has a later plan.
                if self.ticks.get(&(life, part)).is_none_or(|at| *at > self.at) {
                    return;
                }
                self.ticks.remove(&(life, part));
                match part {
                    Part::Lease => self.lease(life),
                    Part::Forwarder => self.forwarder(life, None),
                    Part::Shard(shard) => self.shard(life, shard, None),
                }
            }
            Happening::News(life, shard, event) => self.shard(life, shard, Some(event)),
            Happening::Persist(life, shard, persisting)
                if !self.is_faultless() && self.random.u8(0..16) == 0 =>
            {
                let disk = &self.nodes[life.node].disks[usize::from(shard.0)];
                disk.power_fails_after(self.random.usize(0..2));
                // The process is gone, so the result is not reported.
                let _ = self.persist(life, shard, persisting);
                let time = self.random.u64(10..2_000) * MILLI;
                self.lose_power(life.node, time);
            }
            Happening::Persist(life, shard, persisting) => {
                let result = self.persist(life, shard, persisting);
                self.shard(life, shard, Some(Event::Persisted(result)));
            }
            Happening::Socket(life, consumer, message) => self.writes(life, consumer, message),
            Happening::Forwarder(life, event) => self.forwarder(life, Some(event)),
            Happening::ToLeader(peer, life, shard, event) => {
                if self.link_is_there(peer) {
                    self.shard(life, shard, Some(event));
                }
            }
            Happening::ToServing(peer, life, event) => {
                if self.link_is_there(peer) {
                    self.forwarder(life, Some(event));
                }
            }
            Happening::Answers(life, client, consumer, answer) => {
                self.answers(life, (client, consumer), answer);
            }
            Happening::Snapshot(life, shard, fetch) => self.gives(life, shard, fetch),
            Happening::Snapshotted(life, shard, fetch, snapshot) => {
                self.has_received(life, shard, &fetch, snapshot);
            }
            Happening::Connect => self.connect(),
            Happening::Clients => self.clients_connect(),
            Happening::Resume(node) => self.resume(node),
            Happening::Client => self.client_acts(),
            Happening::Registers(client, consumer, route, joins) => {
                self.registers(client, consumer, route, joins);
            }
            Happening::Unanswered(task) => self.unanswered(task),
            Happening::Read => self.read(),
            Happening::Operator => self.operates(),
            Happening::Fault => self.fault(),
            Happening::Takeover => self.prepares_takeover(),
            Happening::Cancels(shard) => self.cancels_next(shard),
            Happening::Cut(node, time) => {
                if !self.is_calm() {
                    self.cut_until[node] = self.at + time;
                }
            }
            Happening::End(life) => {
                if self.life(life.node) == life {
                    self.ends(life);
                }
            }
            Happening::Start(node) => {
                let Self {
                    nodes,
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
                let moment = (*at, *planted, lease);
                nodes[node].start(*charter, members, moment, *options);
                let life = self.life(node);
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
            return self.after(until - self.at, Happening::Resume(node));
        }
        for happening in mem::take(&mut self.nodes[node].backlog) {
            self.happens(happening);
        }
    }
}
