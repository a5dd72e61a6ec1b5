//! The forwarder's thread: passes events and the time to the forwarder and carries out its effects.

use std::{
    collections::HashMap,
    iter,
    ops::ControlFlow,
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot};

use super::{Mail, News, front::OWN, memory};
use crate::{
    forward::{self, AskedId, Effects, Forwarder},
    link::{self, links::Links},
    log::NodeName,
    node::{ShardHandle, Terms},
    shard, shard_of_seq,
};
use hyper_delay_engine::{
    clock::{Clock, Now},
    pulse::Pulses,
    scheduler::{ConsumerId, Input, Next, Settings},
};
use hyper_delay_protocol::Refusal;
use hyper_delay_server::{driver::Event, outbox::Outboxes};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::serve::forwarding";

/// The maximum number of events between two reads of the clock.
const BURST: usize = 256;

/// The forwarder with its channels, its clock, the outboxes of its connections and the links.
pub(super) struct Forwarding {
    pub(super) node: NodeName,
    pub(super) forwarder: Forwarder,
    pub(super) inbox: Receiver<Mail>,
    pub(super) outboxes: Outboxes,
    pub(super) links: Links,
    pub(super) nodes: link::outboxes::Outboxes,
    pub(super) shards: Arc<[ShardHandle]>,
    pub(super) terms: Arc<Terms>,
    pub(super) clock: Clock,
    pub(super) pulses: Arc<Pulses>,
    pub(super) runtime: Handle,
    pub(super) waiting: Waiting,
}

/// Who waits for what.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    last: AskedId,
    fresh: HashMap<AskedId, oneshot::Sender<Result<(), Refusal>>>,
    consumers: HashMap<AskedId, oneshot::Sender<Result<bool, Refusal>>>,
    /// No connection reads any more: this is told once no request is under way.
    settled: Option<oneshot::Sender<()>>,
}

impl Waiting {
    pub(super) fn new(settled: oneshot::Sender<()>) -> Self {
        Self {
            settled: Some(settled),
            ..Self::default()
        }
    }
}

impl Forwarding {
    /// Runs until it is abandoned.
    pub(super) fn run(mut self) {
        self.serve();
        self.outboxes.close();
    }

    fn serve(&mut self) {
        let mut draining = false;
        loop {
            let next = self.forwarder.tick(self.clock.now());
            self.carry_out();
            if draining && self.forwarder.is_settled() {
                let settled = self.waiting.settled.take();
                // The server ends without waiting if a thread has panicked.
                let _ = settled.map(|settled| settled.send(()));
            }
            self.pulses.scheduler.rests();
            let first = match next {
                Next::Now => self.inbox.try_recv().ok(),
                Next::Never => self.inbox.recv().ok(),
                Next::At(at) => {
                    let wait = at.since(self.clock.now().monotonic);
                    self.inbox.recv_timeout(Duration::from_nanos(wait)).ok()
                }
            };
            self.pulses.scheduler.works();
            let rival = forward::Event::Rival(self.terms.has_rival());
            self.forwarder.handle(rival, self.clock.now());
            let Some(first) = first else {
                continue;
            };
            let now = self.clock.now();
            let burst: Vec<Mail> = iter::once(first)
                .chain(self.inbox.try_iter())
                .take(BURST)
                .collect();
            for mail in burst {
                match mail {
                    Mail::Event(Event::Drain) => draining = true,
                    Mail::Event(event) => {
                        if self.takes(event, now).is_break() {
                            return;
                        }
                    }
                    Mail::News(news) => self.hears(news, now),
                }
            }
        }
    }

    fn takes(&mut self, event: Event, now: Now) -> ControlFlow<()> {
        let event = match event {
            Event::Input(Input::Settings(settings)) => {
                self.configure(&settings);
                forward::Event::Input(Input::Settings(settings))
            }
            Event::Input(input) => {
                if let Input::Closed(consumer) = input {
                    self.hand_in(consumer, now);
                }
                forward::Event::Input(input)
            }
            Event::Connected(consumer, outbox) => {
                self.outboxes.insert(consumer, outbox);
                forward::Event::Input(Input::Opened(consumer))
            }
            Event::Arrived(guest, outbox) => {
                self.outboxes.insert(guest, outbox);
                return ControlFlow::Continue(());
            }
            Event::Disconnected(consumer) => {
                self.outboxes.remove(consumer);
                return ControlFlow::Continue(());
            }
            Event::IsIdle(consumer, answer) => {
                let _ = answer.send(self.forwarder.is_idle(consumer));
                return ControlFlow::Continue(());
            }
            Event::IsReady(answer) => {
                let _ = answer.send(self.forwarder.is_ready());
                return ControlFlow::Continue(());
            }
            Event::InMemory(answer) => {
                self.runtime.spawn(memory::tell(
                    self.shards.clone(),
                    self.forwarder.connections(),
                    answer,
                ));
                return ControlFlow::Continue(());
            }
            Event::HasConsumers(route, answer) => {
                self.waiting.last += 1;
                self.waiting.consumers.insert(self.waiting.last, answer);
                forward::Event::HasConsumers(self.waiting.last, route)
            }
            Event::Fresh(route, answer) => {
                self.waiting.last += 1;
                self.waiting.fresh.insert(self.waiting.last, answer);
                forward::Event::Fresh(self.waiting.last, route)
            }
            Event::Failed(error) => {
                // The disk fails for a client that reads. If it fails for the thread of a shard, too,
                // the shard stops; the others go on.
                tracing::error!(target: TARGET, %error, "a replica of this node cannot be read");
                return ControlFlow::Continue(());
            }
            Event::Damaged(seq, error) => {
                if let Some(shard) = self.shards.get(usize::from(shard_of_seq(seq).0)) {
                    shard.event(shard::Event::Damaged(error));
                }
                return ControlFlow::Continue(());
            }
            Event::Drain | Event::CommitterEnded => return ControlFlow::Continue(()),
            Event::Abandoned => return ControlFlow::Break(()),
        };
        self.forwarder.handle(event, now);
        ControlFlow::Continue(())
    }

    /// A connection is closed: what its writer has not written comes back before.
    fn hand_in(&mut self, consumer: ConsumerId, now: Now) {
        // What the forwarder has sent meanwhile is on its way to the outbox, too.
        let closing = Input::Closing(consumer);
        self.forwarder.handle(forward::Event::Input(closing), now);
        self.carry_out();
        for unwritten in self.outboxes.take_unwritten(consumer) {
            self.forwarder.handle(forward::Event::Input(unwritten), now);
        }
    }

    fn hears(&mut self, news: News, now: Now) {
        match news {
            News::Link(news) => {
                let event = self.nodes.take(news);
                self.forwarder.handle(event, now);
            }
            News::OfLeader(shard, told) => {
                for told in told {
                    let event = forward::Event::Told(self.node.clone(), shard, told);
                    self.forwarder.handle(event, now);
                }
            }
            News::Leader(shard, leader) => {
                self.links.leader_is(shard, leader.as_ref());
                let event = forward::Event::Leader(shard, leader);
                self.forwarder.handle(event, now);
            }
            News::Members(members) => self.links.members_are(&members),
            News::Follows(shard, follows) => {
                self.forwarder
                    .handle(forward::Event::Follows(shard, follows), now);
            }
            News::Applied(shard, seq) => {
                self.forwarder
                    .handle(forward::Event::Applied(shard, seq), now);
            }
        }
    }

    /// Passes a new configuration to the shards.
    fn configure(&self, settings: &Settings) {
        let shards = u16::try_from(self.shards.len()).expect("a charter has as many");
        let of_shard = settings.of_shard(shards);
        for shard in self.shards.iter() {
            shard.event(shard::Event::Settings(Box::new(of_shard.clone())));
        }
    }

    fn carry_out(&mut self) {
        loop {
            let Effects {
                messages,
                mut to_leaders,
                revoked,
                fresh,
                has_consumers,
            } = self.forwarder.take_effects();
            self.outboxes.deliver(messages);
            for (_, shard, message) in to_leaders.extract_if(.., |(node, ..)| *node == self.node) {
                self.shards[usize::from(shard.0)].event(shard::Event::Peer(OWN, message));
            }
            self.nodes.send(to_leaders);
            for (id, result) in fresh {
                if let Some(answer) = self.waiting.fresh.remove(&id) {
                    // Who has asked may have left.
                    let _ = answer.send(result);
                }
            }
            for (id, result) in has_consumers {
                if let Some(answer) = self.waiting.consumers.remove(&id) {
                    let _ = answer.send(result);
                }
            }
            if revoked.is_empty() {
                return;
            }
            // What is in the outboxes is void, and must be known before anything else is decided.
            let now = self.clock.now();
            let void: Vec<Input> = self
                .outboxes
                .iter()
                .flat_map(|outbox| outbox.take_void())
                .collect();
            for input in void {
                self.forwarder.handle(forward::Event::Input(input), now);
            }
        }
    }
}
