//! Which task is delivered to which consumer, and when.
//!
//! The scheduler is a state machine without threads, sockets and clock. It is told what has
//! happened ([`Input`]) and what time it is, and returns what is to be done ([`Effects`]): jobs for
//! the committer, messages to connections. It reads the store, and never writes to it.
//!
//! What it holds in memory is bounded: the tasks of the near future, those that wait for a consumer
//! to have room, and those in flight. The disk holds all.
//!
//! Every change of a task on disk is a [`Job`], and comes back as [`Committed`], in the order in
//! which the jobs were submitted. While a change of a task is under way, no other one begins.
//!
//! Each part owns its fields: `tasks` the states of the tasks, `round` the copies of a task in
//! flight and their hedging, `routes` the queues, `consumers` the connections and their credit,
//! `horizon` how far the disk has been read, `requests` what the committer has not reported yet,
//! `unfailed` which rounds of a task were no failures, `stalls` whether the scheduler is called late.
//! [`Scheduler`] connects them: `registration`, `scheduling`, `delivery`, `answers`, `commits`,
//! `reading`, `counts` and `in_memory` have one method for each thing that happens.
//!
//! In a cluster there is a scheduler for each shard, and connections of other nodes. `remote`,
//! `adoption` and `away` have what only they need: `lending` is credit that is lent piece by piece,
//! `inherited` what an earlier leader has delivered. A single node uses none of it.

mod input;
mod settings;

mod consumer;
mod consumers;
mod horizon;
mod inherited;
mod late;
mod lending;
mod low_water;
mod own_registration;
mod quotas;
mod requests;
mod retention;
mod round;
mod route;
mod routes;
mod task;
mod tasks;
mod timers;
mod unfailed;

mod adoption;
mod answers;
mod away;
mod bulk;
mod commits;
mod counts;
mod delivery;
mod expiry;
mod in_memory;
mod operating;
mod reading;
mod registration;
mod remote;
mod removal_log;
mod scheduling;
mod seen;
mod stalls;
mod tick;

use std::{sync::Arc, time::Duration};

pub use bulk::Running;
pub use counts::Counted;
pub use counts::Listed;
pub use input::{
    Acked, Adopted, Ask, Committed, ConsumerId, CopyOf, CountsAsked, Credit, Effects, GoneCopy,
    Input, Job, Message, Nacked, ReplyTo, SeenTasks, Token,
};
pub use late::LateCopies;
pub use operating::AUDIT;
use operating::Unwritten;
pub use operating::{Operated, Standing};
pub use own_registration::OwnRegistration;
pub use settings::Settings;
pub use tick::Next;

use rustc_hash::FxHashSet;

use crate::{
    clock::{Now, nanos},
    ledger::{Op, View},
    metrics::Metrics,
};
use bulk::Bulk;
use consumer::Consumer;
use consumers::Consumers;
use expiry::Expiry;
use horizon::Horizon;
use hyper_delay_protocol::Reply;
use hyper_delay_store::{Store, StoreError};
use low_water::LowWater;
use quotas::Quotas;
use remote::Remote;
use requests::Requests;
use retention::Retention;
use routes::Routes;
use stalls::Stalls;
use tasks::Tasks;
use timers::{Timer, Timers};

/// The state machine. See the [module](self).
#[derive(Debug)]
pub struct Scheduler<S> {
    settings: Settings,
    view: View<S>,
    random: fastrand::Rng,
    now: Now,
    timers: Timers,
    /// The timers that the last tick found expired; kept for its memory.
    expired: Vec<Timer>,
    tasks: Tasks,
    horizon: Horizon,
    low_water: LowWater,
    routes: Routes,
    consumers: Consumers,
    quotas: Quotas,
    requests: Requests,
    expiry: Expiry,
    retention: Retention,
    /// Paused routes: none of their tasks are delivered.
    paused: FxHashSet<Arc<str>>,
    unwritten: Unwritten,
    bulk: Bulk,
    stalls: Stalls,
    remote: Remote,
    messages: Vec<(ConsumerId, Message)>,
    failed: Option<StoreError>,
    metrics: Arc<Metrics>,
    /// The server is about to end: nothing is read, delivered or parked any more, and no round
    /// fails because its time or its connection ends. Requests and answers still count.
    is_ending: bool,
}

impl<S: Store> Scheduler<S> {
    /// Creates a scheduler of the tasks in a store, of which none waits before `low_water` (Unix
    /// milliseconds).
    #[must_use]
    pub fn new(store: Arc<S>, settings: Settings, low_water: u64, now: Now) -> Self {
        Self {
            timers: Timers::new(nanos(Duration::from_millis(settings.tick_millis))),
            expired: Vec::new(),
            settings,
            view: View::new(store),
            random: fastrand::Rng::new(),
            now,
            tasks: Tasks::default(),
            horizon: Horizon::new(low_water, now),
            low_water: LowWater::new(low_water, now),
            routes: Routes::default(),
            consumers: Consumers::default(),
            quotas: Quotas::default(),
            requests: Requests::default(),
            expiry: Expiry::default(),
            retention: Retention::default(),
            paused: FxHashSet::default(),
            unwritten: Unwritten::default(),
            bulk: Bulk::default(),
            stalls: Stalls::default(),
            remote: Remote::default(),
            messages: Vec::new(),
            failed: None,
            metrics: Arc::default(),
            is_ending: false,
        }
    }

    /// Something has happened.
    pub fn handle(&mut self, input: Input, now: Now) {
        self.now = now;
        self.stalls.told(now.monotonic);
        match input {
            Input::Opened(consumer) => self.consumers.open(consumer, self.settings.credit),
            Input::Closing(consumer) => self.closing(consumer),
            Input::Closed(consumer) => self.closed(consumer),
            Input::Asked(consumer, asks) => {
                for ask in asks {
                    self.asked(consumer, ask);
                }
            }
            Input::Stats(asked) => self.counts(*asked),
            Input::Future(reply_to) => {
                let future = self.metrics.forecast.read(now.wall_millis());
                self.reply(reply_to, Reply::Future(Box::new(future)));
            }
            Input::Seen(tasks) => self.seen(*tasks),
            Input::Operated(operated) => self.operated(*operated),
            Input::Committed(committed) => self.committed(committed),
            Input::Unsent(copy) => self.unsent(&copy),
            Input::Unwritten { copy, attempt } => self.unwritten(&copy, attempt),
            Input::Void { copy, attempt, .. } => self.voided(&copy, attempt),
            Input::SentTooLate {
                copy,
                attempt,
                until,
            } => self.sent_too_late(&copy, attempt, until),
            Input::Undeliverable { copy, reason } => self.undeliverable(&copy, &reason),
            Input::Ending => {
                self.is_ending = true;
                self.retention.log_rest(self.now);
            }
            Input::Settings(settings) => self.set_settings(*settings),
            Input::Lent(consumer, credit) => self.lent(consumer, credit),
            Input::Recalled(consumer, credit) => self.recalled(consumer, credit),
            Input::Bound(consumer, route, mode) => self.bound(consumer, &route, mode),
            Input::TookOver => self.took_over(),
            Input::Holding(is_holding) => self.set_holding(is_holding),
            Input::Adopted(consumer, copies) => self.adopted(consumer, copies),
            Input::Withheld(tasks) => self.withheld(tasks),
            Input::Detached(consumer) => self.detached(consumer),
            Input::Gone(copies) => self.gone(&copies),
            Input::Acked(acked) => self.acked_by_name(*acked),
            Input::Nacked(nacked) => self.nacked_by_name(*nacked),
        }
    }

    /// Returns what is to be done, since the last call.
    pub fn take_effects(&mut self) -> Effects {
        Effects {
            jobs: self.requests.take_jobs(),
            messages: std::mem::take(&mut self.messages),
            failed: self.failed.take(),
        }
    }

    /// Whether no job is under way: everything that was submitted is on disk.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.requests.is_empty()
    }

    /// Counts in these metrics from now on, which several schedulers can share.
    #[must_use]
    pub fn with_metrics(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    /// Returns what the server counts. Other threads count there, too.
    #[must_use]
    pub fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }

    /// Returns whether a connection has no route and no delivery in flight.
    #[must_use]
    pub fn is_idle(&self, consumer: ConsumerId) -> bool {
        let state = self.consumers.get(consumer);
        state.is_none_or(Consumer::is_idle)
    }

    /// Applies new settings.
    fn set_settings(&mut self, settings: Settings) {
        if settings.dead_retention_millis != self.settings.dead_retention_millis {
            self.retention.begin_again();
        }
        self.settings.reload(settings);
        let settings = &self.settings;
        self.routes.reload(|route| settings.of_route(route));
    }

    fn submit(&mut self, op: Op, token: Token) {
        self.requests.submit(op, token);
    }

    fn reply(&mut self, to: ReplyTo, reply: Reply) {
        let ReplyTo {
            consumer,
            tag,
            weight,
        } = to;
        let message = Message::Reply { reply, tag, weight };
        self.messages.push((consumer, message));
    }

    fn fail(&mut self, error: StoreError) {
        self.failed.get_or_insert(error);
    }
}

#[cfg(test)]
mod tests;
