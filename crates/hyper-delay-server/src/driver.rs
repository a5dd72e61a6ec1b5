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

use crate::outbox::{Outbox, Outboxes, Report, Reports};
use hyper_delay_engine::{
    clock::{Clock, Now},
    metrics::InMemory,
    pulse::Pulses,
    scheduler::{ConsumerId, Effects, Input, Job, Next, Scheduler},
};
use hyper_delay_protocol::Refusal;
use hyper_delay_store::{Store, StoreError};

/// The maximum number of events between two reads of the clock.
const BURST: usize = 256;

/// An event for the scheduler's thread.
#[derive(Debug)]
pub enum Event {
    /// An input of the scheduler.
    Input(Input),
    /// A connection has opened; its messages go to this outbox.
    Connected(ConsumerId, Arc<Outbox>),
    /// A peer without a connection sends a request; the reply goes to this outbox.
    Arrived(ConsumerId, Arc<Outbox>),
    /// A connection or such a peer has ended and takes no more messages.
    Disconnected(ConsumerId),
    /// Asks whether a connection has no route and no delivery in flight.
    IsIdle(ConsumerId, oneshot::Sender<bool>),
    /// Asks whether requests can be carried out. The error says why not.
    IsReady(oneshot::Sender<Result<(), String>>),
    /// Asks whether a route has consumers. The error says why that is not known.
    HasConsumers(Arc<str>, oneshot::Sender<Result<bool, Refusal>>),
    /// Asks what the scheduler has in memory, or the schedulers of all shards, in their order.
    InMemory(oneshot::Sender<Vec<InMemory>>),
    /// Asks to be told when the replicas of this node contain all that was acknowledged before, of
    /// the shard of a route, or of all. The error says why that is not known.
    Fresh(Option<Arc<str>>, oneshot::Sender<Result<(), Refusal>>),
    /// The content of this revision cannot be read from the replica of this node.
    Damaged(u64, StoreError),
    /// No connection reads any more. The thread ends once all requests are on disk and answered.
    Drain,
    /// The store has failed.
    Failed(StoreError),
    /// The committer has ended: by itself only if it failed. Its threads report the reason.
    CommitterEnded,
    /// The future of the server is gone: the thread ends at once.
    Abandoned,
}

/// The way of events to the thread that serves connections: that of the scheduler, or in a cluster
/// that of the forwarder. They arrive in the order in which they were sent.
#[derive(Clone)]
pub struct Events {
    send: Arc<dyn Fn(Event) -> bool + Send + Sync>,
    reports: Reports,
}

/// The thread that events are sent to has ended.
#[derive(Debug)]
pub(crate) struct Ended;

impl Events {
    /// Sends each event as a message on a channel.
    pub fn new<M: Send + 'static>(channel: Sender<M>, message: fn(Event) -> M) -> Self {
        let of_outboxes = channel.clone();
        Self {
            send: Arc::new(move |event| channel.send(message(event)).is_ok()),
            reports: Reports::new(move |report| {
                let _ = of_outboxes.send(message(Event::from(report)));
            }),
        }
    }

    /// Sends an event.
    ///
    /// # Errors
    ///
    /// If the thread has ended.
    pub(crate) fn send(&self, event: Event) -> Result<(), Ended> {
        (self.send)(event).then_some(()).ok_or(Ended)
    }

    /// Returns the same way for what outboxes report.
    pub(crate) fn reports(&self) -> Reports {
        self.reports.clone()
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl From<Sender<Event>> for Events {
    fn from(channel: Sender<Event>) -> Self {
        Self::new(channel, |event| event)
    }
}

impl From<Report> for Event {
    fn from(report: Report) -> Self {
        match report {
            Report::Input(input) => Self::Input(input),
            Report::Damaged(seq, error) => Self::Damaged(seq, error),
        }
    }
}

/// The scheduler with its channels, its clock and the outboxes of its connections.
pub(crate) struct Driver<S> {
    pub(crate) scheduler: Scheduler<S>,
    pub(crate) events: Receiver<Event>,
    pub(crate) jobs: Sender<Vec<Job>>,
    pub(crate) clock: Clock,
    pub(crate) outboxes: Outboxes,
    pub(crate) pulses: Arc<Pulses>,
}

impl<S: Store> Driver<S> {
    /// Runs until it is drained or abandoned, the disk fails or the committer ends.
    pub(crate) fn run(mut self) -> Result<(), StoreError> {
        let result = self.serve();
        self.outboxes.close();
        result
    }

    fn serve(&mut self) -> Result<(), StoreError> {
        let mut draining = false;
        loop {
            let next = self.scheduler.tick(self.clock.now());
            self.carry_out()?;
            if draining {
                // A committer that waits for room on the disk gives up at an empty group.
                let _ = self.jobs.send(Vec::new());
            }
            if draining && self.scheduler.is_settled() {
                return Ok(());
            }
            self.pulses.scheduler.rests();
            let first = match next {
                Next::Now => self.events.try_recv().ok(),
                Next::Never => self.events.recv().ok(),
                Next::At(at) => {
                    let wait = at.since(self.clock.now().monotonic);
                    self.events.recv_timeout(Duration::from_nanos(wait)).ok()
                }
            };
            self.pulses.scheduler.works();
            let Some(first) = first else {
                continue;
            };
            let now = self.clock.now();
            let mut burst = Some(first);
            for _ in 0..BURST {
                let next = || self.events.try_recv().ok();
                let Some(event) = burst.take().or_else(next) else {
                    break;
                };
                match event {
                    Event::Input(input) => {
                        if let Input::Closed(consumer) = input {
                            self.hand_in(consumer, now)?;
                        }
                        self.scheduler.handle(input, now);
                    }
                    Event::Connected(consumer, outbox) => {
                        self.outboxes.insert(consumer, outbox);
                        self.scheduler.handle(Input::Opened(consumer), now);
                    }
                    Event::Arrived(guest, outbox) => {
                        self.outboxes.insert(guest, outbox);
                    }
                    Event::Disconnected(consumer) => {
                        self.outboxes.remove(consumer);
                    }
                    Event::IsIdle(consumer, answer) => {
                        let _ = answer.send(self.scheduler.is_idle(consumer));
                    }
                    Event::IsReady(answer) => {
                        let _ = answer.send(Ok(()));
                    }
                    Event::HasConsumers(route, answer) => {
                        let _ = answer.send(Ok(self.scheduler.has_consumers(&route)));
                    }
                    Event::InMemory(answer) => {
                        let _ = answer.send(vec![self.scheduler.in_memory(self.clock.now())]);
                    }
                    Event::Drain => draining = true,
                    Event::Damaged(..) => debug_assert!(false, "a single node has no replicas"),
                    Event::Fresh(..) => {
                        debug_assert!(false, "this is for a node of a cluster");
                    }
                    Event::CommitterEnded | Event::Abandoned => return Ok(()),
                    Event::Failed(error) => return Err(error),
                }
            }
        }
    }

    /// A connection is closed: what its writer has not written comes back before.
    fn hand_in(&mut self, consumer: ConsumerId, now: Now) -> Result<(), StoreError> {
        // What the scheduler has sent meanwhile is on its way to the outbox, too.
        self.scheduler.handle(Input::Closing(consumer), now);
        self.carry_out()?;
        for unwritten in self.outboxes.take_unwritten(consumer) {
            self.scheduler.handle(unwritten, now);
        }
        Ok(())
    }

    fn carry_out(&mut self) -> Result<(), StoreError> {
        let Effects {
            jobs,
            messages,
            failed,
        } = self.scheduler.take_effects();
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
