//! The scheduler's thread: passes events and the time to the scheduler and carries out its effects.

use std::{
    fmt,
    sync::{
        Arc,
        mpsc::{Receiver, Sender},
    },
    time::Duration,
};

use tokio::sync::oneshot;

use crate::outbox::{ConnectionOutbox, ConnectionOutboxes, ReportSender};
use hyper_delay_engine::{
    clock::{Clock, Now},
    front::FrontInput,
    metrics::MemoryGauges,
    scheduler::{CommitJob, CommittedJob, ConsumerId, NextCall},
    single_server::{SingleServer, SingleServerEffects},
    thread_progress::ThreadProgress,
};
use hyper_delay_protocol::Refusal;
use hyper_delay_store::{Store, StoreError};

/// The maximum number of events between two reads of the clock.
const BURST: usize = 256;

/// An event of a server, for the thread of its scheduler, or in a cluster for that of its forwarder.
#[derive(Debug)]
pub enum ServerEvent {
    /// An input of a connection, or of the server.
    Input(FrontInput),
    /// A connection has opened; its messages go to this outbox.
    Connected(ConsumerId, Arc<ConnectionOutbox>),
    /// A peer without a connection sends a request; the reply goes to this outbox.
    OneShot(ConsumerId, Arc<ConnectionOutbox>),
    /// A connection or such a peer has ended and takes no more messages.
    Disconnected(ConsumerId),
    /// Asks whether a connection has no route and no delivery in flight.
    IsIdle(ConsumerId, oneshot::Sender<bool>),
    /// Asks whether requests can be carried out. The error says why not.
    IsReady(oneshot::Sender<Result<(), String>>),
    /// Asks whether a route has consumers. The error says why that is not known.
    HasConsumers(Arc<str>, oneshot::Sender<Result<bool, Refusal>>),
    /// Asks what the scheduler has in memory, or the schedulers of all shards, in their order.
    InMemory(oneshot::Sender<Vec<MemoryGauges>>),
    /// No connection reads any more. The thread ends once all requests are on disk and answered.
    Drain,
    /// The store has failed.
    Failed(StoreError),
    /// The future of the server is gone: the thread ends at once.
    Abandoned,
}

/// A message for the scheduler's thread of a single server.
#[derive(Debug)]
pub(crate) enum SchedulerThreadMessage {
    /// Of the server.
    Event(ServerEvent),
    /// These jobs are on disk.
    Committed(Vec<CommittedJob>),
    /// The committer has ended: by itself only if it failed. Its threads report the reason.
    CommitterEnded,
}

/// Sends events to the thread that serves connections: that of the scheduler, or in a cluster
/// that of the forwarder. They arrive in the order in which they were sent.
#[derive(Clone)]
pub struct EventSender {
    send: Arc<dyn Fn(ServerEvent) -> bool + Send + Sync>,
    reports: ReportSender,
}

/// The thread that events are sent to has ended.
#[derive(Debug)]
pub(crate) struct ThreadEnded;

impl EventSender {
    /// Sends each event as a message on a channel.
    pub fn new<M: Send + 'static>(channel: Sender<M>, message: fn(ServerEvent) -> M) -> Self {
        let of_outboxes = channel.clone();
        Self {
            send: Arc::new(move |event| channel.send(message(event)).is_ok()),
            reports: ReportSender::new(move |report| {
                let _ = of_outboxes.send(message(ServerEvent::Input(report)));
            }),
        }
    }

    /// Sends an event.
    ///
    /// # Errors
    ///
    /// If the thread has ended.
    pub(crate) fn send(&self, event: ServerEvent) -> Result<(), ThreadEnded> {
        (self.send)(event).then_some(()).ok_or(ThreadEnded)
    }

    /// Returns the sender for the reports of outboxes.
    pub(crate) fn reports(&self) -> ReportSender {
        self.reports.clone()
    }
}

impl fmt::Debug for EventSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSender").finish_non_exhaustive()
    }
}

impl From<Sender<ServerEvent>> for EventSender {
    fn from(channel: Sender<ServerEvent>) -> Self {
        Self::new(channel, |event| event)
    }
}

/// The scheduler with its channels, its clock and the outboxes of its connections.
pub(crate) struct SchedulerDriver<S> {
    pub(crate) server: SingleServer<S>,
    pub(crate) messages: Receiver<SchedulerThreadMessage>,
    pub(crate) jobs: Sender<Vec<CommitJob>>,
    pub(crate) clock: Clock,
    pub(crate) outboxes: ConnectionOutboxes,
    pub(crate) pulses: Arc<ThreadProgress>,
}

impl<S: Store> SchedulerDriver<S> {
    /// Runs until it is drained or abandoned, the disk fails or the committer ends.
    pub(crate) fn run(mut self) -> Result<(), StoreError> {
        let result = self.serve();
        self.outboxes.close();
        result
    }

    fn serve(&mut self) -> Result<(), StoreError> {
        let mut draining = false;
        loop {
            let next = self.server.tick(self.clock.now());
            self.apply_effects()?;
            if draining {
                // A committer that waits for room on the disk gives up at an empty group.
                let _ = self.jobs.send(Vec::new());
            }
            if draining && self.server.is_settled() {
                return Ok(());
            }
            self.pulses.scheduler.begin_wait();
            let first = match next {
                NextCall::Now => self.messages.try_recv().ok(),
                NextCall::Never => self.messages.recv().ok(),
                NextCall::At(at) => {
                    let wait = at.since(self.clock.now().monotonic);
                    self.messages.recv_timeout(Duration::from_nanos(wait)).ok()
                }
            };
            self.pulses.scheduler.begin_work();
            let Some(first) = first else {
                continue;
            };
            let mut now = self.clock.now();
            let mut burst = Some(first);
            for _ in 0..BURST {
                let next = || self.messages.try_recv().ok();
                let Some(event) = burst.take().or_else(next) else {
                    break;
                };
                let event = match event {
                    SchedulerThreadMessage::Event(event) => event,
                    SchedulerThreadMessage::Committed(jobs) => {
                        self.server.committed(jobs, now);
                        continue;
                    }
                    SchedulerThreadMessage::CommitterEnded => return Ok(()),
                };
                match event {
                    ServerEvent::Input(input) => {
                        if input.has_delay() {
                            now = self.clock.now();
                        }
                        if let FrontInput::Closed(consumer) = input {
                            self.return_unwritten(consumer, now)?;
                        }
                        self.server.handle(input, now);
                    }
                    ServerEvent::Connected(consumer, outbox) => {
                        self.outboxes.insert(consumer, outbox);
                        self.server.handle(FrontInput::Opened(consumer), now);
                    }
                    ServerEvent::OneShot(consumer, outbox) => {
                        self.outboxes.insert(consumer, outbox);
                    }
                    ServerEvent::Disconnected(consumer) => {
                        self.outboxes.remove(consumer);
                    }
                    ServerEvent::IsIdle(consumer, answer) => {
                        let _ = answer.send(self.server.is_idle(consumer));
                    }
                    ServerEvent::IsReady(answer) => {
                        let _ = answer.send(Ok(()));
                    }
                    ServerEvent::HasConsumers(route, answer) => {
                        let _ = answer.send(Ok(self.server.has_consumers(&route)));
                    }
                    ServerEvent::InMemory(answer) => {
                        let _ = answer.send(vec![self.server.in_memory(self.clock.now())]);
                    }
                    ServerEvent::Drain => draining = true,
                    ServerEvent::Abandoned => return Ok(()),
                    ServerEvent::Failed(error) => return Err(error),
                }
            }
        }
    }

    /// Returns the unwritten deliveries of a closed connection to the scheduler.
    fn return_unwritten(&mut self, consumer: ConsumerId, now: Now) -> Result<(), StoreError> {
        // Messages that the scheduler has sent meanwhile go to the outbox first.
        self.server.handle(FrontInput::Closing(consumer), now);
        self.apply_effects()?;
        for unwritten in self.outboxes.take_unwritten(consumer) {
            self.server.handle(unwritten, now);
        }
        Ok(())
    }

    fn apply_effects(&mut self) -> Result<(), StoreError> {
        let SingleServerEffects {
            jobs,
            messages,
            failed,
        } = self.server.take_effects();
        if let Some(error) = failed {
            return Err(error);
        }
        if !jobs.is_empty() {
            // A committer that has ended says so with an event.
            let _ = self.jobs.send(jobs);
        }
        self.outboxes.deliver(messages);
        Ok(())
    }
}
