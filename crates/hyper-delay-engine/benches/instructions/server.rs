//! A server without a disk, sockets and threads.

use std::sync::Arc;

use hyper_delay_config::Config;
use hyper_delay_engine::{
    clock::Now,
    front::{ClientRequest, ConsumerMessage, FrontInput},
    ledger::{Op, Outcome},
    scheduler::{CommitJob, CommittedJob, ConsumerId, Scheduler, SchedulerSettings},
    single_server::{SingleServer, SingleServerEffects},
    sizes::Sizes,
};
use hyper_delay_protocol::{
    Compression, DeliverySelector, Due, Headers, RegisterMode, Schedule, TaskRequest,
};
use hyper_delay_store::fake::Fake;
use race_wheel::Tick;

/// Unix milliseconds.
const START: u64 = 1_000_000_000_000;

/// The requests that a connection sends at once.
const BATCH: u64 = 16;

const CONSUMER: ConsumerId = 1;

/// How deliveries are answered.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) selector: fn(Arc<str>, Arc<str>, u32) -> DeliverySelector,
    pub(crate) confirm: bool,
}

impl Answer {
    /// By the full name, with a reply.
    pub(crate) const FULL: Self = Self {
        selector: |id, route, attempt| DeliverySelector {
            id,
            route: Some(route),
            attempt: Some(attempt),
        },
        confirm: true,
    };
}

/// A server with one connection.
pub(crate) struct Server {
    server: SingleServer<Fake>,
    now: Now,
    last_seq: u64,
    last_id: u64,
    /// The tasks that are removed.
    finished: u64,
}

impl Server {
    /// With a connection that has registered these routes.
    pub(crate) fn new(routes: &[&str]) -> Self {
        let settings = SchedulerSettings::from(Arc::new(Config::default()));
        let now = Now {
            wall_nanos: START * 1_000_000,
            monotonic: Tick::ZERO,
        };
        let store = Arc::new(Fake::default());
        let scheduler = Scheduler::new(store, settings.with_sizes(Sizes::SERVER), START, now);
        let mut server = Self {
            server: SingleServer::new(scheduler, now),
            now,
            last_seq: 0,
            last_id: 0,
            finished: 0,
        };
        server.handle(FrontInput::Opened(CONSUMER));
        let register = |route: &&str| TaskRequest::Register {
            route: (*route).into(),
            credit: None,
            mode: RegisterMode::Shared,
            accept: None,
        };
        server.request(routes.iter().map(register));
        server
    }

    /// Schedules tasks that are due in a day.
    pub(crate) fn schedule_far(&mut self, tasks: u64) {
        for _ in 0..tasks / BATCH {
            self.schedule(Some("route"), START + 86_400_000);
            let deliveries = self.settle();
            assert!(deliveries.is_empty());
        }
    }

    /// Schedules tasks that are due, and acknowledges their deliveries.
    pub(crate) fn deliver(&mut self, tasks: u64, route: Option<&str>, answer: Answer) {
        // From then on the connection has its own route, if it has no other one.
        self.schedule(route, START + 86_400_000);
        self.settle();
        for _ in 0..tasks / BATCH {
            self.schedule(route, START);
            let deliveries = self.settle();
            assert_eq!(deliveries.len() as u64, BATCH);
            let acks = deliveries
                .into_iter()
                .map(|(id, route, attempt)| TaskRequest::Ack {
                    delivery: (answer.selector)(id, route, attempt),
                    confirm: answer.confirm,
                });
            self.request(acks);
            assert!(self.settle().is_empty());
        }
        assert_eq!(self.finished, tasks / BATCH * BATCH);
    }

    fn schedule(&mut self, route: Option<&str>, fire_at: u64) {
        let first = self.last_id;
        self.last_id += BATCH;
        let schedules = (first..self.last_id).map(|id| {
            TaskRequest::Schedule(Schedule {
                id: Some(format!("order-{id:08}").into()),
                route: route.map(Into::into),
                due: Due::At(fire_at),
                compression: Compression::None,
                payload: Box::from([0; 100]),
                replace: false,
                headers: Headers::default(),
                terms: None,
            })
        });
        self.request(schedules);
    }

    fn request(&mut self, requests: impl Iterator<Item = TaskRequest>) {
        let requests = requests.map(|request| ClientRequest {
            tag: None,
            request,
            weight: 1,
            grant: None,
        });
        self.handle(FrontInput::Requested(CONSUMER, requests.collect()));
    }

    fn handle(&mut self, input: FrontInput) {
        self.server.handle(input, self.now);
    }

    /// Reports what is asked for as done, until nothing more is. Returns the deliveries.
    fn settle(&mut self) -> Vec<(Arc<str>, Arc<str>, u32)> {
        let mut deliveries = Vec::new();
        loop {
            self.server.tick(self.now);
            let SingleServerEffects { jobs, messages, .. } = self.server.take_effects();
            for (_, message) in messages {
                if let ConsumerMessage::Deliver {
                    route, id, attempt, ..
                } = message
                {
                    deliveries.push((id, route, attempt));
                }
            }
            if jobs.is_empty() {
                return deliveries;
            }
            let committed = jobs.into_iter().map(|job| self.commit(job)).collect();
            self.server.committed(committed, self.now);
        }
    }

    fn commit(&mut self, job: CommitJob) -> CommittedJob {
        let CommitJob { op, token, .. } = job;
        let outcome = match &op {
            Op::Schedule(_) => {
                self.last_seq += 1;
                Outcome::Scheduled {
                    seq: self.last_seq,
                    attempt: 0,
                    replaced: None,
                }
            }
            Op::Finish(_) => {
                self.finished += 1;
                Outcome::Applied(true)
            }
            _ => Outcome::Applied(true),
        };
        CommittedJob { op, token, outcome }
    }
}
