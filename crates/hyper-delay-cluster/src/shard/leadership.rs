//! Leading: the scheduler and the ledger of the shard run here.

use std::collections::VecDeque;

use race_wheel::Tick;

use super::{LeadershipChange, Shard, append::PendingAppend};
use crate::{first_seq, log::Fence};
use hyper_delay_engine::{
    clock::Now,
    committer::GroupBuilder,
    forecast::Forecast,
    ledger::Ledger,
    scheduler::{
        CommitJob, NextCall, OperatorState, RunningBulkJob, Scheduler, SchedulerEffects,
        SchedulerInput,
    },
};
use hyper_delay_store::{Store, StoreError};

/// The state of a leader in memory. It is dropped with the leadership.
#[derive(Debug)]
pub(super) struct LeaderState<S> {
    pub(super) fence: Fence,
    pub(super) scheduler: Scheduler<S>,
    pub(super) stage: GroupBuilder<S>,
    /// Jobs of the scheduler that are not applied to the ledger yet.
    pub(super) jobs: VecDeque<CommitJob>,
    /// The entry that is on its way to the journal.
    pub(super) pending_append: Option<PendingAppend>,
    /// The waiting tasks by time.
    pub(super) forecast: Forecast,
    /// The number of batches of the ledger that are in the store.
    pub(super) batches: u64,
    /// The shard is handed over: nothing more is taken, only answers to deliveries until then.
    answers_until: Option<Tick>,
    /// The next leader knows what is in flight, once the entry on its way is in the journal.
    pub(super) has_handed_over: bool,
}

impl<S: Store> LeaderState<S> {
    /// Returns whether the shard is handed over, and everything is in the journal that was taken.
    pub(super) fn is_settled(&self) -> bool {
        let is_written = self.pending_append.is_none() && self.jobs.is_empty();
        self.answers_until.is_some() && is_written && self.scheduler.is_settled()
    }

    /// Returns whether the leadership is over but for its last messages.
    pub(super) fn has_ended(&self) -> bool {
        self.is_settled() && self.has_handed_over
    }
}

impl<S: Store> Shard<S> {
    /// Leads the shard from now on. Everything that is in the journal is applied.
    pub(super) fn lead(&mut self, fence: Fence, now: Now) {
        match self.new_leader_state(fence, now) {
            Ok(leading) => {
                self.leading = Some(Box::new(leading));
                self.effects.changes.push(LeadershipChange::Begins(fence));
                self.begin_sessions(now);
                if let Err(error) = self.withhold(now) {
                    self.stop(error);
                }
            }
            Err(error) => self.stop(error),
        }
    }

    fn new_leader_state(&self, fence: Fence, now: Now) -> Result<LeaderState<S>, StoreError> {
        let ledger = self.ledger()?;
        let standing = OperatorState {
            paused: ledger.paused().cloned().collect(),
            jobs: ledger
                .running_jobs()
                .map(|(id, job)| RunningBulkJob::from_stored(id, job))
                .collect(),
        };
        let settings = self.setup.settings.clone();
        let forecast = Forecast::default();
        forecast.begin(ledger.low_water());
        let store = self.replica.store().clone();
        let scheduler = Scheduler::new(store, settings, ledger.low_water(), now);
        Ok(LeaderState {
            fence,
            scheduler: scheduler
                .with_operator_state(standing)
                .with_metrics(self.setup.metrics.clone()),
            stage: GroupBuilder::new(ledger),
            jobs: VecDeque::new(),
            pending_append: None,
            forecast,
            batches: 0,
            answers_until: None,
            has_handed_over: false,
        })
    }

    /// Reads the ledger of the shard.
    pub(super) fn ledger(&self) -> Result<Ledger<S>, StoreError> {
        let store = self.replica.store().clone();
        let first = first_seq(self.setup.shard);
        let sizes = self.setup.settings.sizes();
        Ledger::open_from(store, self.setup.dedupe_millis, first, sizes)
    }

    /// Passes an input from outside to the scheduler, if the leader still accepts it.
    pub(super) fn accept_input(&mut self, input: SchedulerInput, now: Now) {
        let is_ending = self.is_ending();
        if self.accepts_answers(now) && (!is_ending || is_delivery_outcome(&input)) {
            self.input(input, now);
        }
    }

    /// Returns whether what becomes of deliveries still counts.
    pub(super) fn accepts_answers(&self, now: Now) -> bool {
        self.leading.as_ref().is_some_and(|leading| {
            let is_in_time = |until| !leading.has_handed_over && now.monotonic < until;
            leading.answers_until.is_none_or(is_in_time)
        })
    }

    /// Returns whether this node leads the shard and hands it over.
    pub(super) fn is_ending(&self) -> bool {
        let leading = self.leading.as_ref();
        leading.is_some_and(|leading| leading.answers_until.is_some())
    }

    /// Takes and delivers nothing more. What becomes of deliveries still counts for a while, so that
    /// it is not passed on.
    pub(super) fn end_leading(&mut self, now: Now) {
        self.input(SchedulerInput::ShuttingDown, now);
        if let Some(leading) = &mut self.leading {
            leading.answers_until = Some(now.after(self.setup.lease / 8));
        }
    }

    /// Passes an input to the scheduler, if this node leads.
    pub(super) fn input(&mut self, input: SchedulerInput, now: Now) {
        if let Some(leading) = &mut self.leading {
            leading.scheduler.handle(input, now);
            self.collect(now);
        }
    }

    pub(super) fn tick_scheduler(&mut self, now: Now) -> NextCall {
        let Some(leading) = &mut self.leading else {
            return NextCall::Never;
        };
        let next = leading.scheduler.tick(now);
        let next = match leading.forecast.is_counting() {
            true => NextCall::Now,
            false => next,
        };
        // A part at a time: other work is not delayed.
        let counted = leading
            .forecast
            .count_next_slice(&**self.replica.store(), self.setup.settings.sizes());
        self.collect(now);
        if let Err(error) = counted {
            self.stop(error);
        }
        next
    }

    /// Takes the effects of the scheduler.
    fn collect(&mut self, now: Now) {
        let Some(leading) = &mut self.leading else {
            return;
        };
        let SchedulerEffects {
            jobs,
            messages,
            failed,
        } = leading.scheduler.take_effects();
        leading.jobs.extend(jobs);
        self.send_messages(messages, now);
        if let Some(error) = failed {
            self.stop(error);
        }
    }
}

/// Returns whether an input is the outcome of a delivery.
const fn is_delivery_outcome(input: &SchedulerInput) -> bool {
    matches!(
        input,
        SchedulerInput::Acked(..)
            | SchedulerInput::Nacked(..)
            | SchedulerInput::NotSent(..)
            | SchedulerInput::Closed(_)
    )
}
