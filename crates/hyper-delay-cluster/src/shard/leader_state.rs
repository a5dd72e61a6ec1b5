//! What a leader has in memory.

mod commit_pipeline;
mod pending_append;

use race_wheel::Tick;

use super::{
    ShardSetup,
    hand_over::{HandOver, HandOverInFlight, copy_of_earlier_leader},
    serving_nodes::ServingNodes,
};
use crate::{
    call_id::{CallId, CallIds},
    first_seq,
    forward::wire::{LeaderQuery, LeaderQueryAnswer},
    log::{Fence, LogRequest},
    replica::Replica,
};
use commit_pipeline::CommitPipeline;
pub(super) use commit_pipeline::PreparedWrite;
use hyper_delay_engine::{
    clock::Now,
    forecast::Forecast,
    ledger::Ledger,
    metrics::MemoryGauges,
    scheduler::{
        ConsumerId, GoneCopy, NextCall, OperatorState, RunningBulkJob, Scheduler, SchedulerEffects,
        SchedulerInput, SchedulerMessage,
    },
};
use hyper_delay_store::{Store, StoreError};
use pending_append::AppliedAppend;
pub(super) use pending_append::PendingAppend;

/// The scheduler of a leader, and its jobs that are not in the journal yet. It is dropped with the
/// leadership.
#[derive(Debug)]
pub(super) struct LeaderState<S> {
    fence: Fence,
    scheduler: Scheduler<S>,
    commits: CommitPipeline<S>,
    /// The waiting tasks by time.
    forecast: Forecast,
    hand_over: HandOver,
}

/// The effects of the scheduler for the rest of the shard.
#[derive(Debug)]
pub(super) struct LeaderEffects {
    /// For connections, in this order for each.
    pub(super) messages: Vec<(ConsumerId, SchedulerMessage)>,
    /// The store cannot be read.
    pub(super) failed: Option<StoreError>,
}

/// Reads the ledger of the shard.
pub(super) fn open_ledger<S: Store>(
    replica: &Replica<S>,
    setup: &ShardSetup,
) -> Result<Ledger<S>, StoreError> {
    let store = replica.store().clone();
    let (first, settings) = (first_seq(setup.shard), &setup.settings);
    let ledger = Ledger::open_from(store, setup.dedupe_millis, first, settings.sizes())?;
    Ok(ledger.with_release(settings.release()))
}

impl<S: Store> LeaderState<S> {
    /// Begins a leadership. The replica must contain everything that is in the journal.
    pub(super) fn open(
        fence: Fence,
        replica: &Replica<S>,
        setup: &ShardSetup,
        now: Now,
    ) -> Result<Self, StoreError> {
        let ledger = open_ledger(replica, setup)?;
        let standing = OperatorState {
            paused: ledger.paused().cloned().collect(),
            jobs: ledger
                .running_jobs()
                .map(|(id, job)| RunningBulkJob::from_stored(id, job))
                .collect(),
        };
        let forecast = Forecast::default();
        forecast.begin(ledger.low_water());
        let (store, settings) = (replica.store().clone(), setup.settings.clone());
        let scheduler = Scheduler::new(store, settings, ledger.low_water(), now);
        Ok(Self {
            fence,
            scheduler: scheduler
                .with_operator_state(standing)
                .with_metrics(setup.metrics.clone()),
            commits: CommitPipeline::new(ledger),
            forecast,
            hand_over: HandOver::default(),
        })
    }

    /// Returns the leadership.
    pub(super) const fn fence(&self) -> Fence {
        self.fence
    }

    /// Passes an input to the scheduler.
    pub(super) fn handle(&mut self, input: SchedulerInput, now: Now) -> LeaderEffects {
        self.scheduler.handle(input, now);
        self.take_effects()
    }

    /// Does what is due. Returns when the next call must come as well.
    pub(super) fn tick(
        &mut self,
        store: &S,
        setup: &ShardSetup,
        now: Now,
    ) -> (NextCall, LeaderEffects) {
        let next = self.scheduler.tick(now);
        let next = match self.forecast.is_counting() {
            true => NextCall::Now,
            false => next,
        };
        // A part at a time: other work is not delayed.
        let counted = self
            .forecast
            .count_next_slice(store, setup.settings.sizes());
        let mut effects = self.take_effects();
        effects.failed = effects.failed.or(counted.err());
        (next, effects)
    }

    /// Takes the effects of the scheduler. Its jobs stay here.
    fn take_effects(&mut self) -> LeaderEffects {
        let SchedulerEffects {
            jobs,
            messages,
            failed,
        } = self.scheduler.take_effects();
        self.commits.push(jobs);
        LeaderEffects { messages, failed }
    }

    /// Returns the next write of the ledger, whose time is in Unix milliseconds.
    pub(super) fn prepare(
        &mut self,
        time: u64,
        store: &S,
        setup: &ShardSetup,
    ) -> Result<PreparedWrite, StoreError> {
        self.commits
            .prepare(time, setup.group_bytes, store, &setup.metrics)
    }

    /// Begins to append an entry.
    pub(super) fn append(&mut self, append: PendingAppend) {
        self.commits.append(append);
    }

    /// Returns the request that puts an entry at a place of the journal, if one must be sent now.
    pub(super) fn append_request(
        &mut self,
        seq: u64,
        calls: &mut CallIds,
        now: Now,
    ) -> Option<(CallId, LogRequest)> {
        self.commits.request(self.fence, seq, calls, now)
    }

    /// Returns the entry whose request is answered, if it is the one in flight.
    pub(super) fn take_answered(&mut self, call: CallId) -> Option<PendingAppend> {
        self.commits.take_answered(call)
    }

    /// The replica contains an entry of this leader.
    pub(super) fn applied(&mut self, applied: &AppliedAppend) -> Result<(), StoreError> {
        self.forecast.committed(&applied.waiting_changes);
        self.commits.applied(applied)
    }

    pub(super) fn append_unanswered(&mut self, call: CallId, again: Tick) {
        self.commits.unanswered(call, again);
    }

    /// Returns when a request must be sent.
    pub(super) fn append_next(&self) -> Option<Tick> {
        self.commits.next()
    }

    /// Takes and delivers nothing more. What becomes of deliveries still counts until
    /// `answers_until`, so that it is not passed on.
    pub(super) fn end(&mut self, answers_until: Tick, now: Now) -> LeaderEffects {
        self.hand_over.begin(answers_until);
        self.handle(SchedulerInput::ShuttingDown, now)
    }

    /// Returns how far the planned end of the leadership is.
    pub(super) const fn hand_over(&self) -> HandOver {
        self.hand_over
    }

    /// Passes on what is in flight, if everything else that was taken is in the journal. Returns
    /// `false` if that is not due, or was done.
    pub(super) fn pass_on(&mut self) -> bool {
        self.is_settled() && self.hand_over.pass_on()
    }

    /// Returns whether the leadership is over but for its last messages.
    pub(super) fn has_ended(&self) -> bool {
        self.hand_over.is_passed_on() && self.is_settled()
    }

    /// Returns whether everything that was taken is in the journal.
    fn is_settled(&self) -> bool {
        self.commits.is_empty() && self.scheduler.is_settled()
    }

    /// Returns what a connection has in flight.
    pub(super) fn copies_of(&self, consumer: ConsumerId) -> Vec<GoneCopy> {
        self.scheduler.copies_of(consumer)
    }

    /// Returns what the serving nodes have in flight, as far as this leader knows.
    pub(super) fn in_flight(&self, serving_nodes: &ServingNodes) -> Vec<HandOverInFlight> {
        let known = self.scheduler.in_flight().filter_map(|(consumer, copy)| {
            let node = serving_nodes.node_of(consumer)?.clone();
            let gone = copy_of_earlier_leader(copy.seq, copy.attempt);
            Some((node, gone, copy.left))
        });
        let unaccounted = serving_nodes.unaccounted().filter_map(|(node, copy)| {
            let left = self.scheduler.unreported_for(copy.seq)?;
            Some((node.clone(), copy, left))
        });
        known.chain(unaccounted).collect()
    }

    /// Returns what the scheduler has in memory.
    pub(super) fn in_memory(&self, now: Now) -> MemoryGauges {
        self.scheduler.in_memory(now)
    }

    /// Returns the answer to a question. `applied` is the last entry that is applied.
    pub(super) fn answer_query(&self, query: LeaderQuery, applied: u64) -> LeaderQueryAnswer {
        let scheduler = &self.scheduler;
        match query {
            LeaderQuery::Applied => LeaderQueryAnswer::Applied(applied),
            LeaderQuery::InFlight(seqs) => {
                LeaderQueryAnswer::InFlight(scheduler.in_flight_attempts(&seqs).collect())
            }
            LeaderQuery::Future(now) => {
                LeaderQueryAnswer::Future(Box::new(self.forecast.read(now)))
            }
            LeaderQuery::HasConsumers(route) => {
                LeaderQueryAnswer::HasConsumers(scheduler.has_consumers(&route))
            }
            LeaderQuery::Counts(selection) => {
                LeaderQueryAnswer::Counts(scheduler.stats_from_memory(&selection))
            }
        }
    }

    /// The commits, for the simulation, which plants faults in them.
    #[cfg(test)]
    pub(super) const fn commits(&mut self) -> &mut CommitPipeline<S> {
        &mut self.commits
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        log::LeaseId,
        shard::fixture::{at, setup},
    };
    use hyper_delay_engine::{
        metrics::Metrics,
        scheduler::{RequestId, RouteRequest},
    };
    use hyper_delay_store::fake::Fake;

    const UNTIL: Tick = Tick::new(50);

    struct World {
        replica: Replica<Fake>,
        leader: LeaderState<Fake>,
        calls: CallIds,
    }

    impl World {
        fn new() -> Self {
            let setup = setup();
            let fence = Fence {
                shard: setup.shard,
                epoch: 3,
                lease: LeaseId(5),
            };
            let replica = Replica::open(Arc::default(), setup.charter, setup.shard).unwrap();
            Self {
                leader: LeaderState::open(fence, &replica, &setup, at(0)).unwrap(),
                replica,
                calls: CallIds::default(),
            }
        }

        fn ask(&mut self, number: u32) {
            let request = RouteRequest::Cancel {
                route: "r".into(),
                id: "x".into(),
            };
            let consumer = 1;
            let id = RequestId { consumer, number };
            let input = SchedulerInput::Requested(id, Box::new(request));
            self.leader.handle(input, at(0));
        }

        /// Appends the next entry. Returns the number of messages that follow from it.
        fn commit(&mut self) -> usize {
            let store = self.replica.store();
            let prepared = self.leader.prepare(1_000_000, store, &setup()).unwrap();
            let PreparedWrite::Change(mut change, committed) = prepared else {
                panic!("{prepared:?}");
            };
            let entry = self.replica.next(3, 1, 1_000_000, &mut change);
            let append = PendingAppend::new(entry, change, committed, 1_000_000, at(0));
            self.leader.append(append);
            let request = self.leader.append_request(1, &mut self.calls, at(0));
            let append = self.leader.take_answered(request.unwrap().0).unwrap();
            let metrics = Metrics::default();
            let applied = append.apply(&mut self.replica, &metrics, at(0)).unwrap();
            self.leader.applied(&applied).unwrap();
            let committed = SchedulerInput::Committed(applied.committed.unwrap());
            self.leader.handle(committed, at(0)).messages.len()
        }
    }

    #[test]
    fn what_is_in_flight_is_passed_on_when_the_journal_has_all_that_was_taken() {
        let mut world = World::new();
        world.ask(1);
        assert!(!world.leader.pass_on(), "no end is planned");
        world.leader.end(UNTIL, at(0));
        assert!(!world.leader.pass_on(), "the request is not in the journal");
        assert_eq!(world.commit(), 1);
        assert!(!world.leader.has_ended());
        assert!(world.leader.pass_on());
        assert!(world.leader.has_ended());
        assert!(!world.leader.pass_on(), "it is done once");
    }
}
