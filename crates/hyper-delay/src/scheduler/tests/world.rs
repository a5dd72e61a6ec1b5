use std::{collections::BTreeMap, sync::Arc, time::Duration};

use race_wheel::Tick;

use super::super::{
    Ask, Committed, ConsumerId, Effects, Input, Job, Message, Next, Scheduler, Settings,
};
use crate::{
    clock::Now,
    config::Config,
    ledger::Ledger,
    protocol::{Compression, Line, Mode, Named, Reply, Request, Schedule},
    store::{Durability, Space, Store, fake::Fake},
};

/// When the world begins, Unix milliseconds.
pub(super) const START: u64 = 1_000_000_000;

/// A server without sockets, threads and time of its own: each step is taken by hand.
pub(super) struct World {
    pub(super) now: Now,
    pub(super) store: Arc<Fake>,
    settings: Settings,
    pub(super) scheduler: Scheduler<Fake>,
    ledger: Ledger<Fake>,
    /// What the committer has not taken yet.
    pub(super) jobs: Vec<Job>,
    /// What is on disk, and the scheduler has not heard of.
    pub(super) told: Vec<Committed>,
    /// What connections were told.
    pub(super) replies: Vec<(ConsumerId, Reply)>,
    /// What they were given: connection, id, round, and when (Unix milliseconds).
    pub(super) deliveries: Vec<(ConsumerId, Arc<str>, u32, u64)>,
    /// Whether deliveries are acknowledged as they come, and how many have been.
    pub(super) acking: bool,
    acked: usize,
    next_consumer: ConsumerId,
}

/// What can happen next in a small world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The committer writes all that it was asked for.
    Commit,
    /// The scheduler hears of it.
    Tell,
    /// The scheduler looks what time it is.
    Tick,
    /// Milliseconds pass.
    Pass(u64),
    /// A task is asked for, so many milliseconds ahead.
    Schedule(u64),
}

impl World {
    /// With a window of `window_millis` that holds `window_tasks`, and routes that keep `ready` due tasks.
    pub(super) fn new(window_millis: u64, window_tasks: usize, ready: usize) -> Self {
        let mut settings = Settings::from(Arc::new(Config::default()));
        settings.window_millis = window_millis;
        settings.window_tasks = window_tasks;
        settings.ready = ready;
        let now = Now {
            wall_nanos: START * 1_000_000,
            monotonic: Tick::ZERO,
        };
        Self::open(Arc::new(Fake::default()), settings, now)
    }

    fn open(store: Arc<Fake>, settings: Settings, now: Now) -> Self {
        let ledger = Ledger::open(store.clone(), 300_000).unwrap();
        let scheduler = Scheduler::new(store.clone(), settings.clone(), ledger.low_water(), now);
        Self {
            now,
            store,
            settings,
            scheduler,
            ledger,
            jobs: Vec::new(),
            told: Vec::new(),
            replies: Vec::new(),
            deliveries: Vec::new(),
            acking: false,
            acked: 0,
            next_consumer: 1,
        }
    }

    /// The power goes and comes again; what was delivered is kept for the tests to see.
    pub(super) fn restart(&mut self) {
        let store = Arc::new(self.store.power_loss(0));
        let before = std::mem::replace(self, Self::open(store, self.settings.clone(), self.now));
        self.acking = before.acking;
        self.acked = before.acked;
        self.deliveries = before.deliveries;
        self.replies = before.replies;
        self.next_consumer = before.next_consumer;
    }

    pub(super) fn pass(&mut self, millis: u64) {
        self.now.wall_nanos += millis * 1_000_000;
        self.now.monotonic = self.now.after(Duration::from_millis(millis));
    }

    /// Somebody sets the wall clock.
    pub(super) fn set_clock(&mut self, by_millis: i64) {
        let wall = self.now.wall_nanos.cast_signed() + by_millis * 1_000_000;
        self.now.wall_nanos = wall.try_into().unwrap();
    }

    pub(super) fn step(&mut self, step: Step) {
        match step {
            Step::Commit => self.commit(),
            Step::Tell => {
                let told = std::mem::take(&mut self.told);
                self.input(Input::Committed(told));
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

    pub(super) fn tick(&mut self) -> Next {
        let next = self.scheduler.tick(self.now);
        self.carry_out();
        next
    }

    pub(super) fn commit(&mut self) {
        let now = self.now.wall_millis();
        for Job { op, token } in std::mem::take(&mut self.jobs) {
            let outcome = self.ledger.apply(&op, now).unwrap();
            self.told.push(Committed { op, token, outcome });
        }
        self.ledger.commit(Durability::Synced, now).unwrap();
    }

    /// Lets everything that can happen at this instant happen.
    pub(super) fn settle(&mut self) -> Next {
        loop {
            let next = self.tick();
            self.ack_if_acking();
            if next != Next::Now && self.jobs.is_empty() && self.told.is_empty() {
                return next;
            }
            self.step(Step::Commit);
            self.step(Step::Tell);
            self.ack_if_acking();
        }
    }

    fn ack_if_acking(&mut self) {
        while self.acking && self.acked < self.deliveries.len() {
            let (consumer, id, attempt, _) = self.deliveries[self.acked].clone();
            self.acked += 1;
            self.ack(consumer, &id, attempt);
        }
    }

    /// Lets time pass from deadline to deadline.
    pub(super) fn run(&mut self, millis: u64) {
        let end = self.now.after(Duration::from_millis(millis));
        loop {
            let next = self.settle();
            let at = match next {
                Next::At(at) if at < end => at,
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
        self.input(Input::Opened(consumer));
        for route in routes {
            self.ask(
                consumer,
                Request::Register {
                    route: (*route).into(),
                    credit: None,
                    mode: Mode::Shared,
                },
            );
        }
        consumer
    }

    pub(super) fn ask(&mut self, consumer: ConsumerId, request: Request) {
        let line = Line { tag: None, request };
        let ask = Ask { line, weight: 1 };
        self.input(Input::Asked(consumer, vec![ask]));
    }

    pub(super) fn schedule(&mut self, id: &str, fire_at: u64) {
        self.ask(
            0,
            Request::Schedule(Schedule {
                id: Some(id.into()),
                route: Some("route".into()),
                fire_at,
                compression: Compression::None,
                payload: b"payload".as_slice().into(),
                replace: false,
            }),
        );
    }

    pub(super) fn ack(&mut self, consumer: ConsumerId, id: &Arc<str>, attempt: u32) {
        let delivery = Named {
            id: id.clone(),
            route: None,
            attempt: Some(attempt),
        };
        self.ask(
            consumer,
            Request::Ack {
                delivery,
                confirm: true,
            },
        );
    }

    pub(super) fn input(&mut self, input: Input) {
        self.scheduler.handle(input, self.now);
        self.carry_out();
    }

    /// How many deliveries each id has had.
    pub(super) fn delivered(&self) -> BTreeMap<Arc<str>, usize> {
        let mut times = BTreeMap::new();
        for (_, id, _, _) in &self.deliveries {
            *times.entry(id.clone()).or_default() += 1;
        }
        times
    }

    /// How many tasks are in memory.
    pub(super) fn in_memory(&self) -> usize {
        self.scheduler.tasks.len()
    }

    pub(super) fn on_disk(&self, space: Space) -> usize {
        self.store.all(space).len()
    }

    fn carry_out(&mut self) {
        let Effects {
            jobs,
            messages,
            failed,
            ..
        } = self.scheduler.take_effects();
        assert!(failed.is_none(), "{failed:?}");
        self.jobs.extend(jobs);
        for (consumer, message) in messages {
            match message {
                Message::Reply { reply, .. } => self.replies.push((consumer, reply)),
                Message::Quiet(_) => {}
                Message::Deliver {
                    seq, id, attempt, ..
                } => {
                    // As the writer does: what is gone by then is not sent.
                    let key = crate::record::key::task(seq);
                    if self.store.get(Space::Tasks, &key).unwrap().is_some() {
                        let now = self.now.wall_millis();
                        self.deliveries.push((consumer, id, attempt, now));
                    }
                }
            }
        }
    }
}
