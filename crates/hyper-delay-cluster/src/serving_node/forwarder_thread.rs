//! The forwarder's thread: passes events and the time to the forwarder and carries out its effects.

use std::{
    collections::HashMap,
    iter,
    ops::ControlFlow,
    sync::{Arc, mpsc::Receiver},
    thread,
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot};

use super::{ClusterEvent, ForwarderMessage, shard_memory, to_forwarder::OWN};
use crate::{
    forward::{self, CallerId, Forwarder, ForwarderEffects},
    link::{self, outgoing_links::OutgoingLinks},
    log::NodeName,
    node::{CurrentTerm, NodeError, ShardHandle},
    shard, shard_of_seq,
};
use hyper_delay_engine::{
    clock::{Clock, Now},
    front::FrontInput,
    scheduler::{ConsumerId, NextCall, SchedulerSettings},
    thread_progress::ThreadProgress,
};
use hyper_delay_protocol::Refusal;
use hyper_delay_server::{
    driver::ServerEvent, outbox::ConnectionOutboxes, replica_events::ReplicaEvent,
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::serve::forwarding";

/// The maximum number of events between two reads of the clock.
const BURST: usize = 256;

/// The forwarder with its channels, its clock, the outboxes of its connections and the links.
pub(super) struct ForwarderThread {
    pub(super) node: NodeName,
    pub(super) forwarder: Forwarder,
    pub(super) inbox: Receiver<ForwarderMessage>,
    pub(super) outboxes: ConnectionOutboxes,
    pub(super) links: OutgoingLinks,
    pub(super) nodes: link::outboxes::LinkOutboxes,
    pub(super) shards: Arc<[ShardHandle]>,
    pub(super) current_term: Arc<CurrentTerm>,
    pub(super) clock: Clock,
    pub(super) pulses: Arc<ThreadProgress>,
    pub(super) runtime: Handle,
    pub(super) waiting: WaitingCallers,
}

/// Callers that wait for an answer of the forwarder.
#[derive(Debug, Default)]
pub(super) struct WaitingCallers {
    last: CallerId,
    fresh: HashMap<CallerId, oneshot::Sender<Result<(), Refusal>>>,
    consumers: HashMap<CallerId, oneshot::Sender<Result<bool, Refusal>>>,
    /// No connection reads any more.
    is_draining: bool,
    /// Notified once, when no request is in flight while draining.
    settled: Option<oneshot::Sender<()>>,
}

impl WaitingCallers {
    pub(super) fn new(settled: oneshot::Sender<()>) -> Self {
        Self {
            settled: Some(settled),
            ..Self::default()
        }
    }
}

impl ForwarderThread {
    /// Starts the thread. The receiver resolves when it has ended.
    pub(super) fn spawn(self) -> Result<oneshot::Receiver<()>, NodeError> {
        let (end, ended) = oneshot::channel();
        let thread = thread::Builder::new().name("forwarder".to_owned());
        let running = thread.spawn(move || {
            let _end = end;
            self.run();
        });
        running.map_err(NodeError::Thread)?;
        Ok(ended)
    }

    /// Runs until it is abandoned.
    fn run(mut self) {
        self.serve();
        self.outboxes.close();
    }

    fn serve(&mut self) {
        loop {
            let next = self.forwarder.tick(self.clock.now());
            self.carry_out();
            if self.waiting.is_draining && self.forwarder.is_settled() {
                let settled = self.waiting.settled.take();
                // The server ends without waiting if a thread has panicked.
                let _ = settled.map(|settled| settled.send(()));
            }
            self.pulses.scheduler.begin_wait();
            let first = match next {
                NextCall::Now => self.inbox.try_recv().ok(),
                NextCall::Never => self.inbox.recv().ok(),
                NextCall::At(at) => {
                    let wait = at.since(self.clock.now().monotonic);
                    self.inbox.recv_timeout(Duration::from_nanos(wait)).ok()
                }
            };
            self.pulses.scheduler.begin_work();
            let rival = forward::ForwarderEvent::Rival(self.current_term.has_rival());
            self.forwarder.handle(rival, self.clock.now());
            let Some(first) = first else {
                continue;
            };
            let now = self.clock.now();
            let burst: Vec<ForwarderMessage> = iter::once(first)
                .chain(self.inbox.try_iter())
                .take(BURST)
                .collect();
            for message in burst {
                match message {
                    ForwarderMessage::Event(event) => {
                        if self.handle_connection_event(event, now).is_break() {
                            return;
                        }
                    }
                    ForwarderMessage::Replica(event) => self.handle_replica_event(event, now),
                    ForwarderMessage::Cluster(event) => self.handle_cluster_event(event, now),
                }
            }
        }
    }

    fn handle_connection_event(&mut self, event: ServerEvent, now: Now) -> ControlFlow<()> {
        let event = match event {
            ServerEvent::Input(FrontInput::Settings(settings)) => {
                self.configure(&settings);
                forward::ForwarderEvent::Input(FrontInput::Settings(settings))
            }
            ServerEvent::Input(input) => {
                if let FrontInput::Closed(consumer) = input {
                    self.return_unwritten(consumer, now);
                }
                forward::ForwarderEvent::Input(input)
            }
            ServerEvent::Connected(consumer, outbox) => {
                self.outboxes.insert(consumer, outbox);
                forward::ForwarderEvent::Input(FrontInput::Opened(consumer))
            }
            ServerEvent::OneShot(guest, outbox) => {
                self.outboxes.insert(guest, outbox);
                return ControlFlow::Continue(());
            }
            ServerEvent::Disconnected(consumer) => {
                self.outboxes.remove(consumer);
                return ControlFlow::Continue(());
            }
            ServerEvent::IsIdle(consumer, answer) => {
                let _ = answer.send(self.forwarder.is_idle(consumer));
                return ControlFlow::Continue(());
            }
            ServerEvent::IsReady(answer) => {
                let _ = answer.send(self.forwarder.is_ready());
                return ControlFlow::Continue(());
            }
            ServerEvent::InMemory(answer) => {
                self.runtime.spawn(shard_memory::report(
                    self.shards.clone(),
                    self.forwarder.connections(),
                    answer,
                ));
                return ControlFlow::Continue(());
            }
            ServerEvent::HasConsumers(route, answer) => {
                self.waiting.last += 1;
                self.waiting.consumers.insert(self.waiting.last, answer);
                forward::ForwarderEvent::HasConsumers(self.waiting.last, route)
            }
            ServerEvent::Failed(error) => {
                // The disk fails for a client that reads. If it fails for the thread of a shard, too,
                // the shard stops; the others continue.
                tracing::error!(target: TARGET, %error, "a replica of this node cannot be read");
                return ControlFlow::Continue(());
            }
            ServerEvent::Drain => {
                self.waiting.is_draining = true;
                return ControlFlow::Continue(());
            }
            ServerEvent::Abandoned => return ControlFlow::Break(()),
        };
        self.forwarder.handle(event, now);
        ControlFlow::Continue(())
    }

    fn handle_replica_event(&mut self, event: ReplicaEvent, now: Now) {
        match event {
            ReplicaEvent::Fresh(route, answer) => {
                self.waiting.last += 1;
                self.waiting.fresh.insert(self.waiting.last, answer);
                let event = forward::ForwarderEvent::Fresh(self.waiting.last, route);
                self.forwarder.handle(event, now);
            }
            ReplicaEvent::Damaged(seq, error) => {
                if let Some(shard) = self.shards.get(usize::from(shard_of_seq(seq).0)) {
                    shard.event(shard::ShardEvent::Damaged(error));
                }
            }
        }
    }

    /// A connection is closed: what its writer has not written comes back before.
    fn return_unwritten(&mut self, consumer: ConsumerId, now: Now) {
        // What the forwarder has sent meanwhile is on its way to the outbox, too.
        let closing = FrontInput::Closing(consumer);
        self.forwarder
            .handle(forward::ForwarderEvent::Input(closing), now);
        self.carry_out();
        for unwritten in self.outboxes.take_unwritten(consumer) {
            self.forwarder
                .handle(forward::ForwarderEvent::Input(unwritten), now);
        }
    }

    fn handle_cluster_event(&mut self, event: ClusterEvent, now: Now) {
        match event {
            ClusterEvent::Link(event) => {
                let event = self.nodes.handle(event);
                self.forwarder.handle(event, now);
            }
            ClusterEvent::OfLeader(shard, messages) => {
                for message in messages {
                    let event =
                        forward::ForwarderEvent::LeaderMessage(self.node.clone(), shard, message);
                    self.forwarder.handle(event, now);
                }
            }
            ClusterEvent::Leader(shard, leader) => {
                self.links.set_leader(shard, leader.as_ref());
                let event = forward::ForwarderEvent::Leader(shard, leader);
                self.forwarder.handle(event, now);
            }
            ClusterEvent::Members(members) => self.links.set_members(&members),
            ClusterEvent::Follows(shard, follows) => {
                self.forwarder
                    .handle(forward::ForwarderEvent::ReplicaFollows(shard, follows), now);
            }
            ClusterEvent::Applied(shard, seq) => {
                self.forwarder
                    .handle(forward::ForwarderEvent::Applied(shard, seq), now);
            }
        }
    }

    /// Passes a new configuration to the shards.
    fn configure(&self, settings: &SchedulerSettings) {
        let shards = u16::try_from(self.shards.len()).expect("a charter has as many");
        let of_shard = settings.for_shard(shards);
        for shard in self.shards.iter() {
            shard.event(shard::ShardEvent::Settings(Box::new(of_shard.clone())));
        }
    }

    fn carry_out(&mut self) {
        loop {
            let ForwarderEffects {
                messages,
                mut to_leaders,
                revoked,
                fresh,
                has_consumers,
            } = self.forwarder.take_effects();
            self.outboxes.deliver(messages);
            for (_, shard, message) in to_leaders.extract_if(.., |(node, ..)| *node == self.node) {
                self.shards[usize::from(shard.0)]
                    .event(shard::ShardEvent::PeerMessage(OWN, message));
            }
            self.nodes.send(to_leaders);
            for (id, result) in fresh {
                if let Some(answer) = self.waiting.fresh.remove(&id) {
                    // The caller may be gone.
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
            let void: Vec<FrontInput> = self
                .outboxes
                .iter()
                .flat_map(|outbox| outbox.take_void())
                .collect();
            for input in void {
                self.forwarder
                    .handle(forward::ForwarderEvent::Input(input), now);
            }
        }
    }
}
