//! The links between the nodes, and the forwarders at their ends.

use super::{
    PlantedFault,
    events::{ProcessId, SimulationEvent},
    world::{MILLI, World},
};
use crate::{
    ShardId,
    forward::{
        ForwarderEffects, ForwarderEvent,
        wire::{ToConnection, ToServing},
    },
    log::NodeName,
    shard::{self, PeerId},
};
use hyper_delay_engine::{
    front::{ConsumerMessage, FrontInput},
    scheduler::{ConsumerId, CopyId, NextCall, UnsentReason},
};

/// A message on a link is on its way for this long at the most.
pub(super) const SLOWEST: u64 = 900 * MILLI;

/// A link from a serving node to another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimulatedLink {
    pub(super) serving: ProcessId,
    pub(super) leading: ProcessId,
    /// What was sent last in each direction arrives then.
    arrives: [u64; 2],
}

impl World {
    /// Tells the forwarder of a process what has happened, and the time.
    pub(super) fn forwarder(&mut self, life: ProcessId, event: Option<ForwarderEvent>) {
        let event = event.and_then(|event| self.alter_forwarder_event(event));
        let node = &mut self.nodes[life.node];
        let now = node.drift.now(self.at);
        let process = node.process.as_mut().expect("it runs");
        let forwarder = &mut process.forwarder;
        if let Some(event) = event {
            forwarder.handle(event, now);
        }
        let next = forwarder.tick(now);
        let effects = forwarder.take_effects();
        let next = match next {
            NextCall::Now => Some(self.at + 1_000),
            NextCall::At(tick) => Some(node.drift.reaches(tick)),
            NextCall::Never => None,
        };
        self.schedule_tick(life, super::events::ProcessPart::Forwarder, next);
        self.carry_out_forwarder(life, effects);
    }

    fn carry_out_forwarder(&mut self, life: ProcessId, effects: ForwarderEffects) {
        self.may_read(life, effects.fresh);
        for (node, shard, message) in effects.to_leaders {
            self.note_own_route(&message);
            let leading = self.node_named(&node);
            if leading == life.node {
                let event = shard::ShardEvent::PeerMessage(PeerId(0), message);
                self.after(1_000, SimulationEvent::Shard(life, shard, event));
                continue;
            }
            let Some((peer, arrives)) = self.find_link(life, leading, 0) else {
                continue;
            };
            let leading = self.links[&peer].leading;
            let event = shard::ShardEvent::PeerMessage(peer, message);
            let event = SimulationEvent::ToLeader(peer, leading, shard, event);
            self.after(arrives, event);
        }
        // A socket can be slow.
        let pause = match self.random.u8(0..10) {
            socket if socket < self.options.slow_sockets() && !self.is_calm() => {
                let most = *self.random.choice(&[400, 5_000]).expect("there are two");
                self.random.u64(0..most * MILLI)
            }
            _ => self.random.u64(0..2 * MILLI),
        };
        for (consumer, message) in effects.messages {
            // What comes later on a connection waits.
            let socket = self.sockets.entry(consumer).or_default();
            *socket = (self.at + pause).max(*socket);
            let waits = *socket - self.at;
            self.after(waits, SimulationEvent::Socket(life, consumer, message));
        }
    }

    /// Sends the messages of a shard to serving nodes.
    pub(super) fn send_to_peers(
        &mut self,
        life: ProcessId,
        shard: ShardId,
        messages: Vec<(PeerId, ToServing)>,
    ) {
        let epoch = self.epochs.get(&(life, shard)).copied().unwrap_or_default();
        for (peer, message) in messages {
            self.check_message(epoch, &message);
            let (serving, arrives) = if peer == PeerId(0) {
                (life, 1_000)
            } else {
                match self.links.get(&peer).copied() {
                    Some(link) if link.leading == life => {
                        let (_, arrives) = self.arrival(peer, 1);
                        (link.serving, arrives)
                    }
                    _ => continue,
                }
            };
            let from = self.nodes[life.node].member.node.clone();
            let event = ForwarderEvent::LeaderMessage(from, shard, message);
            self.after(arrives, SimulationEvent::ToServing(peer, serving, event));
        }
    }

    /// Passes a message of a leader to the checks.
    fn check_message(&mut self, epoch: u64, message: &ToServing) {
        match message {
            ToServing::Connection(consumer, ToConnection::Deliver(copy)) => {
                let sent = self
                    .checks
                    .sent(*consumer, &copy.revision, (epoch, self.at));
                self.check(sent);
            }
            ToServing::Connection(_, ToConnection::Reply(_, reply)) => {
                let answered = self.checks.answered(reply, epoch);
                self.check(answered);
            }
            _ => {}
        }
    }

    /// A message from a link arrives, if the link is still there.
    pub(super) fn link_is_there(&self, peer: PeerId) -> bool {
        peer == PeerId(0) || self.links.contains_key(&peer)
    }

    pub(super) fn node_named(&self, name: &NodeName) -> usize {
        let mut nodes = self.nodes.iter();
        nodes
            .position(|node| node.member.node == *name)
            .expect("it is a member")
    }

    /// Returns the link to a node and how long a message is on its way there.
    fn find_link(
        &mut self,
        serving: ProcessId,
        leading: usize,
        way: usize,
    ) -> Option<(PeerId, u64)> {
        let mut links = self.links.iter();
        let (peer, _) =
            links.find(|(_, link)| link.serving == serving && link.leading.node == leading)?;
        let peer = *peer;
        Some(self.arrival(peer, way))
    }

    fn arrival(&mut self, peer: PeerId, way: usize) -> (PeerId, u64) {
        let mut delay = self.random.u64(20_000..3 * MILLI);
        if !self.is_calm() && self.random.u8(0..60) == 0 {
            delay = self.random.u64(MILLI..SLOWEST);
        }
        let at = self.at;
        let link = self.links.get_mut(&peer).expect("it was found");
        let arrives = (at + delay).max(link.arrives[way] + 1);
        link.arrives[way] = arrives;
        (peer, arrives - at)
    }

    /// Each process connects to the others that run, from time to time.
    pub(super) fn connect(&mut self) {
        for serving in 0..self.nodes.len() {
            for leading in 0..self.nodes.len() {
                if serving == leading
                    || !self.versions.are_same(serving, leading)
                    || self.nodes[serving].process.is_none()
                    || self.nodes[leading].process.is_none()
                {
                    continue;
                }
                let (serving, leading) = (self.process_id(serving), self.process_id(leading));
                let mut links = self.links.values();
                if links.any(|link| link.serving == serving && link.leading == leading) {
                    continue;
                }
                self.last_link += 1;
                let link = SimulatedLink {
                    serving,
                    leading,
                    arrives: [self.at; 2],
                };
                self.links.insert(PeerId(self.last_link), link);
                let name = self.nodes[leading.node].member.node.clone();
                self.after(
                    0,
                    SimulationEvent::Forwarder(serving, ForwarderEvent::Linked(name)),
                );
            }
        }
        let pause = self.random.u64(5..60) * MILLI;
        self.after(pause, SimulationEvent::Connect);
    }

    /// Whether a process has a link to each other one.
    pub(super) fn is_linked_to_all(&self, life: ProcessId) -> bool {
        (0..self.nodes.len()).all(|node| {
            let (other, mut links) = (self.process_id(node), self.links.values());
            node == life.node
                || self.nodes[node].process.is_none()
                || links.any(|link| link.serving == life && link.leading == other)
        })
    }

    /// A link breaks. Its ends notice it, sooner or later.
    pub(super) fn break_link(&mut self, peer: PeerId) {
        let Some(link) = self.links.remove(&peer) else {
            return;
        };
        let is_ending = self.nodes[link.serving.node].is_ending;
        if is_ending
            && (self.process_id(link.serving.node) == link.serving || link.arrives[0] > self.at)
        {
            self.note_unannounced_end(link.serving);
        }
        let most = if self.is_calm() { 5 } else { 700 };
        let late = self.random.u64(0..most) * MILLI;
        let name = self.nodes[link.leading.node].member.node.clone();
        self.after(
            0,
            SimulationEvent::Forwarder(link.serving, ForwarderEvent::Unlinked(name)),
        );
        for shard in (0..self.charter.shards).map(ShardId) {
            let event = shard::ShardEvent::PeerDisconnected(peer);
            self.after(late, SimulationEvent::Shard(link.leading, shard, event));
        }
    }

    /// The links of a process break with it.
    pub(super) fn break_links_of(&mut self, life: ProcessId) {
        let of = self.links.iter();
        let of = of.filter(|(_, link)| link.serving == life || link.leading == life);
        let of: Vec<PeerId> = of.map(|(peer, _)| *peer).collect();
        for peer in of {
            self.break_link(peer);
        }
    }

    /// A message is written to a socket, if it is a delivery that may still be written.
    pub(super) fn write_to_socket(
        &mut self,
        life: ProcessId,
        consumer: ConsumerId,
        message: ConsumerMessage,
    ) {
        if let ConsumerMessage::Deliver {
            seq,
            id,
            attempt,
            until,
            write_by,
            authority,
            ..
        } = &message
        {
            let now = self.nodes[life.node].drift.now(self.at);
            let authority = authority.as_ref().expect("a cluster has one");
            let copy = CopyId {
                consumer,
                seq: *seq,
                id: id.clone(),
            };
            let is_written = match self.planted {
                PlantedFault::NoLeaseAtTheSocket => true,
                PlantedFault::KeepsTheOutbox if authority.is_revoked() => true,
                _ => authority.holds(now.monotonic),
            };
            if !is_written {
                let attempt = *attempt;
                let event = ForwarderEvent::Input(FrontInput::Revoked {
                    copy,
                    attempt,
                    authority: authority.clone(),
                });
                return self.after(0, SimulationEvent::Forwarder(life, event));
            }
            let (attempt, until) = (*attempt, *until);
            if *write_by <= now.monotonic {
                let why = UnsentReason::TooLate { attempt, until };
                let input = FrontInput::NotSent(copy, why);
                return self.after(
                    0,
                    SimulationEvent::Forwarder(life, ForwarderEvent::Input(input)),
                );
            }
            let disk = &self.nodes[life.node].disks[usize::from(authority.shard())];
            if !super::disks::has_content(disk, *seq) {
                let event = ForwarderEvent::Input(FrontInput::NotSent(copy, UnsentReason::Gone));
                return self.after(0, SimulationEvent::Forwarder(life, event));
            }
        }
        self.received(life, consumer, message);
    }
}
