//! Leading: the scheduler and the ledger of the shard run here.

use std::collections::VecDeque;

use race_wheel::Tick;

use super::{Leadership, Shard, append::Writing};
use crate::{first_seq, log::Fence};
use hyper_delay_engine::{
    clock::Now,
    committer::Stage,
    forecast::Forecast,
    ledger::Ledger,
    scheduler::{Effects, Input, Job, Next, Running, Scheduler, Standing},
};
use hyper_delay_store::{Store, StoreError};

/// What a leader has in memory. It is dropped with the leadership.
#[derive(Debug)]
pub(super) struct Leading<S> {
    pub(super) fence: Fence,
    pub(super) scheduler: Scheduler<S>,
    pub(super) stage: Stage<S>,
    /// What the scheduler has asked for and is not applied to the ledger yet.
    pub(super) jobs: VecDeque<Job>,
    /// The entry that is on its way to the journal.
    pub(super) writing: Option<Writing>,
    /// The waiting tasks by time.
    pub(super) forecast: Forecast,
    /// The number of batches of the ledger that are in the store.
    pub(super) batches: u64,
    /// The shard is handed over: nothing more is taken, only answers to deliveries until then.
    ending: Option<Tick>,
    /// The next leader knows what is in flight, once the entry on its way is in the journal.
    pub(super) has_passed_on: bool,
}

impl<S: Store> Leading<S> {
    /// Returns whether the shard is handed over, and everything is in the journal that was taken.
    pub(super) fn is_settled(&self) -> bool {
        let is_written = self.writing.is_none() && self.jobs.is_empty();
        self.ending.is_some() && is_written && self.scheduler.is_settled()
    }

    /// Returns whether the leadership is over but for its last messages.
    pub(super) fn has_ended(&self) -> bool {
        self.is_settled() && self.has_passed_on
    }
}

impl<S: Store> Shard<S> {
    /// Leads the shard from now on. Everything that is in the journal is applied.
    pub(super) fn lead(&mut self, fence: Fence, now: Now) {
        match self.leading(fence, now) {
            Ok(leading) => {
                self.leading = Some(Box::new(leading));
                self.effects.changes.push(Leadership::Begins(fence));
                self.audience_begins(now);
                if let Err(error) = self.withhold(now) {
                    self.stop(error);
                }
            }
            Err(error) => self.stop(error),
        }
    }

    fn leading(&self, fence: Fence, now: Now) -> Result<Leading<S>, StoreError> {
        let ledger = self.ledger()?;
        let standing = Standing {
            paused: ledger.paused().cloned().collect(),
            jobs: ledger
                .running_jobs()
                .map(|(id, job)| Running::stored(id, job))
                .collect(),
        };
        let settings = self.setup.settings.clone();
        let forecast = Forecast::default();
        forecast.begin(ledger.low_water());
        let store = self.replica.store().clone();
        let scheduler = Scheduler::new(store, settings, ledger.low_water(), now);
        Ok(Leading {
            fence,
            scheduler: scheduler
                .with_standing(standing)
                .with_metrics(self.setup.metrics.clone()),
            stage: Stage::new(ledger),
            jobs: VecDeque::new(),
            writing: None,
            forecast,
            batches: 0,
            ending: None,
            has_passed_on: false,
        })
    }

    /// Reads the ledger of the shard.
    pub(super) fn ledger(&self) -> Result<Ledger<S>, StoreError> {
        let store = self.replica.store().clone();
        let first = first_seq(self.setup.shard);
        let sizes = self.setup.settings.sizes();
        Ledger::open_from(store, self.setup.dedupe_millis, first, sizes)
    }

    /// Something for the scheduler, from outside.
    pub(super) fn asked(&mut self, input: Input, now: Now) {
        let is_ending = self.is_ending();
        if self.takes_answers(now) && (!is_ending || is_of_delivery(&input)) {
            self.input(input, now);
        }
    }

    /// Returns whether what becomes of deliveries still counts.
    pub(super) fn takes_answers(&self, now: Now) -> bool {
        self.leading.as_ref().is_some_and(|leading| {
            let is_in_time = |until| !leading.has_passed_on && now.monotonic < until;
            leading.ending.is_none_or(is_in_time)
        })
    }

    /// Returns whether this node leads the shard and hands it over.
    pub(super) fn is_ending(&self) -> bool {
        let leading = self.leading.as_ref();
        leading.is_some_and(|leading| leading.ending.is_some())
    }

    /// Takes and delivers nothing more. What becomes of deliveries still counts for a while, so that
    /// it is not passed on.
    pub(super) fn end_leading(&mut self, now: Now) {
        self.input(Input::Ending, now);
        if let Some(leading) = &mut self.leading {
            leading.ending = Some(now.after(self.setup.lease / 8));
        }
    }

    /// Something for the scheduler.
    pub(super) fn input(&mut self, input: Input, now: Now) {
        if let Some(leading) = &mut self.leading {
            leading.scheduler.handle(input, now);
            self.collect(now);
        }
    }

    pub(super) fn tick_scheduler(&mut self, now: Now) -> Next {
        let Some(leading) = &mut self.leading else {
            return Next::Never;
        };
        let next = leading.scheduler.tick(now);
        let next = match leading.forecast.is_counting() {
            true => Next::Now,
            false => next,
        };
        // A part at a time: other work is not delayed.
        let counted = leading
            .forecast
            .count_on(&**self.replica.store(), self.setup.settings.sizes());
        self.collect(now);
        if let Err(error) = counted {
            self.stop(error);
        }
        next
    }

    /// Takes what the scheduler wants to be done.
    fn collect(&mut self, now: Now) {
        let Some(leading) = &mut self.leading else {
            return;
        };
        let Effects {
            jobs,
            messages,
            failed,
        } = leading.scheduler.take_effects();
        leading.jobs.extend(jobs);
        self.tell(messages, now);
        if let Some(error) = failed {
            self.stop(error);
        }
    }
}

/// Returns whether an input says what has become of a delivery.
const fn is_of_delivery(input: &Input) -> bool {
    matches!(
        input,
        Input::Acked(_)
            | Input::Nacked(_)
            | Input::Unsent(_)
            | Input::Void { .. }
            | Input::SentTooLate { .. }
            | Input::Closed(_)
    )
}
