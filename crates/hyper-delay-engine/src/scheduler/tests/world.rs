use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
    time::Duration,
};

use race_wheel::Tick;

use super::{
    cluster_nodes::Nodes,
    committer::Committer,
    invariants,
    outcomes::Outcomes,
    sockets::{Queued, Sockets},
};
use crate::scheduler::{
    ConsumerId, NextCall, Scheduler, SchedulerInput, SchedulerSettings, UnsentReason,
};
use crate::{
    clock::Now,
    front::{ConsumerMessage, FrontInput},
    ledger::{Op, Sweep, SweepAct},
    single_server::{SingleServer, SingleServerEffects},
    sizes::Sizes,
};
use hyper_delay_config::Config;
use hyper_delay_protocol::{RegisterMode, Reply, TaskRequest};
use hyper_delay_store::{Space, fake::Fake, record::Place};

pub(super) use super::delivered::Delivered;

/// When the world begins, in Unix milliseconds.
pub(super) const START: u64 = 1_000_000_000;

/// A server without sockets and threads, on a clock that stands still: each step is taken by hand.
pub(super) struct World {
    pub(super) now: Now,
    /// The latest wall time from which the clock was set, in Unix milliseconds: what was decided before
    /// can be carried out later.
    set_from: u64,
    pub(super) store: Arc<Fake>,
    settings: SchedulerSettings,
    pub(super) server: SingleServer<Fake>,
    pub(super) committer: Committer,
    /// Replies, by connection.
    pub(super) replies: Vec<(ConsumerId, Reply)>,
    /// What was written to the connections.
    pub(super) deliveries: Vec<Delivered>,
    pub(super) sockets: Sockets,
    pub(super) outcomes: Outcomes,
    pub(super) nodes: Nodes,
    /// The sequence numbers of tasks whose content cannot be read.
    pub(super) unreadable: BTreeSet<u64>,
    /// The routes and ids of dead letters that were to be removed because of their age.
    pub(super) old_dead: BTreeSet<(Arc<str>, Arc<str>)>,
    /// Whether deliveries are acknowledged as they come, and how many have been.
    pub(super) acking: bool,
    acked: usize,
    next_consumer: ConsumerId,
}

/// A step of a small world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The committer writes what was submitted.
    Commit,
    /// The scheduler learns what is on disk.
    Tell,
    /// The scheduler learns the time.
    Tick,
    /// Milliseconds pass.
    Pass(u64),
    /// A task is scheduled, this many milliseconds ahead.
    Schedule(u64),
}

impl World {
    /// With a window of `window_millis` that holds `window_tasks`, and routes that queue `ready`
    /// due tasks.
    pub(super) fn new(window_millis: u64, window_tasks: usize, ready: usize) -> Self {
        Self::with(Config::default(), window_millis, window_tasks, ready)
    }

    pub(super) fn with(
        config: Config,
        window_millis: u64,
        window_tasks: usize,
        ready: usize,
    ) -> Self {
        let mut settings = SchedulerSettings::from(Arc::new(config)).with_sizes(Sizes::SMALL);
        settings.window_millis = window_millis;
        settings.window_tasks = window_tasks;
        settings.ready = ready;
        let now = Now {
            wall_nanos: START * 1_000_000,
            monotonic: Tick::ZERO,
        };
        Self::open(Arc::new(Fake::default()), settings, now)
    }

    fn open(store: Arc<Fake>, settings: SchedulerSettings, now: Now) -> Self {
        let committer = Committer::open(store.clone());
        let low_water = committer.low_water();
        let scheduler = Scheduler::new(store.clone(), settings.clone(), low_water, now)
            .with_operator_state(committer.standing());
        Self {
            now,
            set_from: 0,
            store,
            settings,
            server: SingleServer::new(scheduler, now),
            committer,
            replies: Vec::new(),
            deliveries: Vec::new(),
            sockets: Sockets::default(),
            outcomes: Outcomes::default(),
            nodes: Nodes::default(),
            unreadable: BTreeSet::new(),
            old_dead: BTreeSet::new(),
            acking: false,
            acked: 0,
            next_consumer: 1,
        }
    }

    /// The power fails and comes back; the deliveries stay visible to the tests.
    /// Returns the server of before.
    pub(super) fn restart(&mut self) -> SingleServer<Fake> {
        let store = Arc::new(self.store.power_loss(0));
        let before = mem::replace(self, Self::open(store, self.settings.clone(), self.now));
        self.acking = before.acking;
        self.acked = before.acked;
        self.deliveries = before.deliveries;
        self.replies = before.replies;
        self.outcomes = before.outcomes;
        self.unreadable = before.unreadable;
        self.old_dead = before.old_dead;
        self.next_consumer = before.next_consumer;
        before.server
    }

    pub(super) fn pass(&mut self, millis: u64) {
        self.now.wall_nanos += millis * 1_000_000;
        self.now.monotonic = self.now.after(Duration::from_millis(millis));
    }

    /// The wall clock is set.
    pub(super) fn set_clock(&mut self, by_millis: i64) {
        self.set_from = self.set_from.max(self.now.wall_millis());
        let wall = self.now.wall_nanos.cast_signed() + by_millis * 1_000_000;
        self.now.wall_nanos = wall.try_into().unwrap();
    }

    pub(super) fn step(&mut self, step: Step) {
        match step {
            Step::Commit => self.committer.commit(self.now.wall_millis()),
            Step::Tell => {
                let reported = mem::take(&mut self.committer.reported);
                self.server.committed(reported, self.now);
                self.carry_out();
            }
            Step::Tick => {
                self.tick();
            }
            Step::Pass(millis) => self.pass(millis),
            Step::Schedule(ahead) => {
                let id = format!("{}", self.next_consumer);
                self.next_consumer += 1;
                self.schedule(&id, self.now.wall_millis() + ahead);
            }
        }
    }

    pub(super) fn tick(&mut self) -> NextCall {
        self.drop_all_late();
        self.expire_waiting();
        let next = self.server.tick(self.now);
        self.carry_out();
        next
    }

    /// Lets everything that can happen at this instant happen.
    pub(super) fn settle(&mut self) -> NextCall {
        for _ in 0..100_000 {
            let next = self.tick();
            self.ack_if_acking();
            if next != NextCall::Now && self.committer.is_idle() {
                invariants::check_at_rest(self.server.scheduler());
                return next;
            }
            self.step(Step::Commit);
            self.step(Step::Tell);
            self.ack_if_acking();
        }
        panic!("the scheduler has always more to do");
    }

    fn ack_if_acking(&mut self) {
        while self.acking && self.acked < self.deliveries.len() {
            let delivered = self.deliveries[self.acked].clone();
            self.acked += 1;
            self.ack_delivery(&delivered);
        }
    }

    /// Lets time pass from deadline to deadline.
    pub(super) fn run(&mut self, millis: u64) {
        let end = self.now.after(Duration::from_millis(millis));
        loop {
            let next = self.settle();
            let at = match next {
                NextCall::At(at) if at < end => at,
                _ => end,
            };
            let passed = at.since(self.now.monotonic);
            self.now.monotonic = at;
            self.now.wall_nanos += passed;
            if at == end {
                self.settle();
                return;
            }
        }
    }

    pub(super) fn connect(&mut self, routes: &[&str]) -> ConsumerId {
        let consumer = self.next_consumer;
        self.next_consumer += 1;
        self.input(FrontInput::Opened(consumer));
        for route in routes {
            self.register(consumer, route, None);
        }
        consumer
    }

    pub(super) fn register_with_credit(&mut self, consumer: ConsumerId, route: &str, credit: u16) {
        self.register(consumer, route, Some(credit));
    }

    fn register(&mut self, consumer: ConsumerId, route: &str, credit: Option<u16>) {
        let request = TaskRequest::Register {
            route: route.into(),
            credit,
            mode: RegisterMode::Shared,
            accept: None,
        };
        self.ask(consumer, request);
    }

    pub(super) fn input(&mut self, input: FrontInput) {
        if let FrontInput::NotSent(copy, why) = &input {
            match why {
                UnsentReason::Unwritten { .. } | UnsentReason::TooLate { .. } => {
                    self.outcomes.unwritten(copy.seq);
                }
                // Of a revision that is gone, or of which another connection can have a copy.
                UnsentReason::Gone | UnsentReason::Undeliverable(_) => {
                    self.outcomes.can_fail(copy.seq);
                }
                UnsentReason::Void { .. } => {}
            }
            self.note_unsent(copy);
        }
        if let FrontInput::Closed(consumer) = &input {
            self.nodes.closed(*consumer);
        }
        self.server.handle(input, self.now);
        self.carry_out();
    }

    /// An input that only the scheduler of a shard has.
    pub(super) fn lead(&mut self, input: SchedulerInput) {
        match &input {
            SchedulerInput::CopiesGone(copies) => {
                for copy in copies {
                    self.outcomes.can_fail(copy.seq);
                }
            }
            SchedulerInput::Withheld(tasks) => {
                for (seq, _) in tasks {
                    self.outcomes.can_fail(*seq);
                }
            }
            SchedulerInput::NotSent(copy, _) => self.note_unsent(copy),
            SchedulerInput::DeliveriesHeld(true) => self.note_hold(),
            SchedulerInput::Adopted(consumer, copies) => {
                for copy in copies {
                    self.outcomes.written(copy.seq, copy.attempt, *consumer);
                }
            }
            _ => {}
        }
        self.server.lead(input, self.now);
        self.carry_out();
    }

    /// Whether the test lends the connections their credit, as a cluster does. Otherwise the front
    /// lends the scheduler all of it.
    pub(super) fn is_shard(&self) -> bool {
        self.settings.config().credit == 0
    }

    /// The number of deliveries of each id.
    pub(super) fn delivered(&self) -> BTreeMap<Arc<str>, usize> {
        let mut times = BTreeMap::new();
        for delivered in &self.deliveries {
            *times.entry(delivered.id.clone()).or_default() += 1;
        }
        times
    }

    /// The number of tasks in memory.
    pub(super) fn in_memory(&self) -> usize {
        self.server.scheduler().tasks.len()
    }

    pub(super) fn on_disk(&self, space: Space) -> usize {
        self.store.all(space).len()
    }

    /// A dead letter is about to be removed because of its age.
    fn check_age(&mut self, sweep: &Sweep) {
        let SweepAct::Delete {
            place: Place::Dead(at),
        } = sweep.act
        else {
            panic!("{sweep:?} is of no dead letter");
        };
        let retention = self.server.scheduler().settings.dead_retention_millis;
        let ends = at + retention.expect("there is a retention");
        let now = self.now.wall_millis().max(self.set_from);
        assert!(ends <= now, "{sweep:?} is early");
        self.old_dead
            .insert((sweep.route.clone(), sweep.id.clone()));
    }

    fn carry_out(&mut self) {
        let SingleServerEffects {
            jobs,
            messages,
            failed,
        } = self.server.take_effects();
        for (consumer, credit) in self.server.take_credit_changes() {
            if self.is_shard() {
                self.nodes.note_credit(consumer, credit);
            }
        }
        assert!(failed.is_none(), "{failed:?}");
        for job in &jobs {
            if let Op::Sweep(sweep) = &job.op
                && sweep.job.is_none()
            {
                self.check_age(sweep);
            }
        }
        self.committer.jobs.extend(jobs);
        let mut inputs = Vec::new();
        for (consumer, message) in messages {
            match message {
                ConsumerMessage::Reply { reply, .. } => self.replies.push((consumer, reply)),
                ConsumerMessage::Done(_) => {}
                ConsumerMessage::Deliver {
                    seq,
                    route,
                    id,
                    due,
                    attempt,
                    until,
                    write_by,
                    ..
                } => {
                    assert!(write_by > self.now.monotonic, "a copy is sent too late");
                    let now = self.now.wall_millis();
                    let delivery = Delivered {
                        consumer,
                        route,
                        id,
                        attempt,
                        seq,
                        until,
                        at: now,
                    };
                    delivery.check_stored(due, &self.store);
                    self.check_hold(&delivery);
                    self.nodes.sent(&delivery, until, self.now.monotonic);
                    let queued = self.sockets.send(Queued {
                        delivery,
                        until,
                        write_by,
                    });
                    inputs.extend(queued.and_then(|queued| self.write(queued)));
                }
            }
        }
        for input in inputs {
            self.input(input);
        }
    }
}
