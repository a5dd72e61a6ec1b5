//! Decides which task is delivered to which consumer, and when.
//!
//! The scheduler is a state machine without threads, sockets and clock. It takes inputs
//! ([`SchedulerInput`]) and the time, and returns effects ([`SchedulerEffects`]): jobs for the
//! committer, messages to connections. It reads the store, and never writes to it.
//!
//! Its memory is bounded: it holds the tasks of the near future, those that wait for a consumer to
//! have room, and those in flight. The disk holds all.
//!
//! Every change of a task on disk is a [`CommitJob`], and comes back as [`CommittedJob`], in the
//! order in which the jobs were submitted. While a change of a task is in flight, no other one
//! begins.
//!
//! Each part owns its fields and decides alone what concerns only it. Its methods return what must
//! follow elsewhere.
//!
//! - Tasks: `task` what is known of a task in memory, `task_table` their states, `round` the copies of
//!   a task in flight and their hedging, `declined_rounds` the rounds that were no failures.
//! - Deliveries: `route_table` and `route` the queues, `consumer_table` the connections and their
//!   credit, `rate_limits` the token buckets, `paused_routes` what operators have paused.
//! - Disk: `horizon` the position up to which it was read, `pending_commits` the jobs that the
//!   committer has not reported yet, `moves_in_flight` the names of the tasks that such jobs move;
//!   `expiry`, `retention` and `bulk_queue` the changes of many tasks, which are read in steps.
//! - Time: `stall_detector` and `clock_step` late calls and steps of the wall clock.
//! - Leaders: `takeover_state` when this one began, `inherited_deliveries` what earlier ones have
//!   delivered.
//!
//! [`Scheduler`] connects them. It has one method for each event: in `registration`, `scheduling`,
//! `delivery`, `acks`, `moves`, `commits`, `loading`, `removal`, `bulk`, `operator_requests`, `stats` and
//! `memory_gauges`; and in `cluster`, `takeover` and `unreported_copies` those that only a cluster has.
//!
//! A connection is known here as a consumer of routes: what belongs to the connection itself is in the
//! [`front`](crate::front). Requests and answers come with full names, and credit as a loan
//! (`lent_credit`). In a cluster there is a scheduler for each shard, and connections of other nodes.

mod input;
mod settings;

mod bulk_queue;
mod clock_step;
mod consumer;
mod consumer_table;
mod declined_rounds;
mod expiry;
mod held_ids;
mod horizon;
mod inherited_deliveries;
mod lent_credit;
mod low_water;
mod moves_in_flight;
mod paused_routes;
mod pending_commits;
mod rate_limits;
mod removal_log;
mod retention;
mod round;
mod route;
mod route_queue;
mod route_table;
mod stall_detector;
mod takeover_state;
mod task;
mod task_table;
mod timers;
mod write_deadline;

mod acks;
mod backoff;
mod bulk;
mod cluster;
mod commits;
mod delivery;
mod loading;
mod memory_gauges;
mod moves;
mod operator_requests;
mod registration;
mod removal;
mod schedule_refusal;
mod scheduling;
mod stats;
mod takeover;
mod task_lookup;
mod tick;
mod unreported_copies;

use std::{sync::Arc, time::Duration};

pub use bulk_queue::RunningBulkJob;
pub use input::{
    CommitJob, CommitToken, CommittedJob, ConsumerId, CopyId, CreditChange, DeliveryName, GoneCopy,
    Nack, RequestId, RequestNumber, RouteRequest, SchedulerEffects, SchedulerInput,
    SchedulerMessage, SentCopy, UnansweredDelivery, UnsentReason,
};
pub use operator_requests::{AUDIT_TARGET, OperatorRequest, OperatorState};
pub use settings::SchedulerSettings;
pub(crate) use stats::StatsFromDisk;
pub use stats::{RouteSelection, StatsFromMemory};
pub use tick::NextCall;

use crate::{
    clock::{Now, nanos},
    ledger::{LedgerView, Op},
    metrics::Metrics,
};
use bulk_queue::BulkQueue;
use clock_step::ClockStep;
use consumer::Consumer;
use consumer_table::ConsumerTable;
use expiry::Expiry;
use horizon::Horizon;
use hyper_delay_protocol::Reply;
use hyper_delay_store::{Store, StoreError};
use inherited_deliveries::InheritedDeliveries;
use low_water::ReportedLowWater;
use moves_in_flight::MovesInFlight;
use paused_routes::PausedRoutes;
use pending_commits::PendingCommits;
use rate_limits::RateLimits;
use retention::DeadRetention;
use route_table::RouteTable;
use stall_detector::StallDetector;
use takeover_state::TakeoverState;
use task_table::TaskTable;
use timers::{Timer, Timers};

/// The state machine. See the [module](self).
#[derive(Debug)]
pub struct Scheduler<S> {
    settings: SchedulerSettings,
    view: LedgerView<S>,
    random: fastrand::Rng,
    now: Now,
    timers: Timers,
    /// The timers that the last tick found expired; kept for its memory.
    expired: Vec<Timer>,
    tasks: TaskTable,
    horizon: Horizon,
    clock_step: ClockStep,
    low_water: ReportedLowWater,
    routes: RouteTable,
    consumers: ConsumerTable,
    rate_limits: RateLimits,
    commits: PendingCommits,
    moves: MovesInFlight,
    expiry: Expiry,
    retention: DeadRetention,
    paused: PausedRoutes,
    bulk: BulkQueue,
    stalls: StallDetector,
    takeover: TakeoverState,
    inherited: InheritedDeliveries,
    messages: Vec<(ConsumerId, SchedulerMessage)>,
    /// Whether the index of retrying tasks must be compared with the tasks.
    wants_retrying_check: bool,
    failed: Option<StoreError>,
    metrics: Arc<Metrics>,
    /// The server is about to end: nothing is read, delivered or parked any more, and no round
    /// fails because its time or its connection ends. Requests and answers still count.
    is_shutting_down: bool,
}

impl<S: Store> Scheduler<S> {
    /// Creates a scheduler of the tasks in a store, of which none waits before `low_water` (Unix
    /// milliseconds).
    #[must_use]
    pub fn new(store: Arc<S>, settings: SchedulerSettings, low_water: u64, now: Now) -> Self {
        Self {
            timers: Timers::new(nanos(Duration::from_millis(settings.tick_millis))),
            expired: Vec::new(),
            settings,
            view: LedgerView::new(store),
            random: fastrand::Rng::new(),
            now,
            tasks: TaskTable::default(),
            horizon: Horizon::new(low_water, now),
            clock_step: ClockStep::new(now),
            low_water: ReportedLowWater::new(low_water, now),
            routes: RouteTable::default(),
            consumers: ConsumerTable::default(),
            rate_limits: RateLimits::default(),
            commits: PendingCommits::default(),
            moves: MovesInFlight::default(),
            expiry: Expiry::default(),
            retention: DeadRetention::default(),
            paused: PausedRoutes::default(),
            bulk: BulkQueue::default(),
            stalls: StallDetector::default(),
            takeover: TakeoverState::default(),
            inherited: InheritedDeliveries::default(),
            messages: Vec::new(),
            wants_retrying_check: true,
            failed: None,
            metrics: Arc::default(),
            is_shutting_down: false,
        }
    }

    /// Takes the time of an input.
    pub(crate) fn note_input(&mut self, now: Now) {
        self.now = now;
        self.stalls.note_input(now.monotonic);
    }

    /// Handles an input.
    pub fn handle(&mut self, input: SchedulerInput, now: Now) {
        self.note_input(now);
        match input {
            SchedulerInput::Opened(consumer) => self.consumers.open(consumer),
            SchedulerInput::Closing(consumer) => self.handle_closing(consumer),
            SchedulerInput::Closed(consumer) => self.handle_closed(consumer),
            SchedulerInput::Requested(id, request) => self.handle_request(id, *request),
            SchedulerInput::Operated(id, operated) => self.operate(id, *operated),
            SchedulerInput::Committed(committed) => self.handle_committed(committed),
            SchedulerInput::NotSent(copy, why) => self.not_sent(&copy, &why),
            SchedulerInput::ShuttingDown => {
                self.is_shutting_down = true;
                self.retention.flush_log(self.now);
            }
            SchedulerInput::Settings(settings) => self.set_settings(*settings),
            SchedulerInput::Lent(consumer, credit) => self.lend(consumer, credit),
            SchedulerInput::Recalled(consumer, credit) => {
                self.recall(consumer, credit);
            }
            SchedulerInput::Registered(consumer, route, mode) => {
                self.bind(consumer, &route, mode);
            }
            SchedulerInput::TookOver => self.takeover.begin(now),
            SchedulerInput::DeliveriesHeld(holds_deliveries) => {
                self.hold_deliveries(holds_deliveries);
            }
            SchedulerInput::Adopted(consumer, copies) => self.adopt_deliveries(consumer, copies),
            SchedulerInput::Withheld(tasks) => self.withhold_deliveries(tasks),
            SchedulerInput::Detached(consumer) => self.handle_detached(consumer),
            SchedulerInput::CopiesGone(copies) => self.handle_gone_copies(&copies),
            SchedulerInput::Acked(consumer, revision, confirm) => {
                self.ack(consumer, *revision, confirm);
            }
            SchedulerInput::Nacked(consumer, nack) => {
                self.nack(consumer, *nack);
            }
        }
    }

    /// Returns the settings.
    #[must_use]
    pub const fn settings(&self) -> &SchedulerSettings {
        &self.settings
    }

    /// Returns whether there are messages about connections.
    pub(crate) const fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Swaps the messages about connections since the last call with an empty list.
    pub(crate) const fn swap_messages(&mut self, empty: &mut Vec<(ConsumerId, SchedulerMessage)>) {
        std::mem::swap(&mut self.messages, empty);
    }

    /// Returns the effects since the last call.
    pub fn take_effects(&mut self) -> SchedulerEffects {
        SchedulerEffects {
            jobs: self.take_jobs(),
            messages: std::mem::take(&mut self.messages),
            failed: self.take_failure(),
        }
    }

    /// Returns the jobs for the committer since the last call.
    pub(crate) fn take_jobs(&mut self) -> Vec<CommitJob> {
        self.commits.take_jobs()
    }

    /// Returns why the store cannot be read.
    pub(crate) const fn take_failure(&mut self) -> Option<StoreError> {
        self.failed.take()
    }

    /// Returns whether no job is in flight: everything that was submitted is on disk.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.commits.is_empty()
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

    /// Returns whether a connection has no copy that it could answer in time.
    pub(crate) fn has_no_copy(&self, consumer: ConsumerId) -> bool {
        let state = self.consumers.get(consumer);
        state.is_none_or(Consumer::has_no_copy)
    }

    /// Returns the number of registrations of closed connections that are not removed yet.
    pub(crate) const fn departing(&self) -> usize {
        self.routes.departing()
    }

    /// Applies new settings.
    fn set_settings(&mut self, settings: SchedulerSettings) {
        if settings.dead_retention_millis != self.settings.dead_retention_millis {
            self.retention.restart();
        }
        self.settings.reload(settings);
        let settings = &self.settings;
        self.routes.reload(|route| settings.of_route(route));
    }

    fn submit(&mut self, op: Op, token: CommitToken) {
        self.commits.submit(op, token);
    }

    fn reply(&mut self, to: RequestId, reply: Reply) {
        let message = SchedulerMessage::Reply(to.number, reply);
        self.messages.push((to.consumer, message));
    }

    fn fail(&mut self, error: StoreError) {
        self.failed.get_or_insert(error);
    }
}

#[cfg(test)]
mod tests;
