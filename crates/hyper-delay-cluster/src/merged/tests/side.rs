//! The same history, in one store or in those of shards.

use std::sync::Arc;

use crate::{
    Charter, ShardId, first_seq,
    import::{NewShardStore, split},
    merged::MergedStore,
    shard_of,
};
use hyper_delay_engine::{
    ledger::{
        Actor, AuditedOp, BulkAdvance, Ledger, LedgerView, NewBulkJob, Op, Outcome, ScheduleOrder,
        Sweep, SweepAct, TaskRevision,
    },
    sizes::Sizes,
};
use hyper_delay_protocol::{
    BulkAct, BulkMove, BulkMoveTo, Compression, FailureKind, Filter, Headers, LastFailure,
    TaskState, Terms,
};
use hyper_delay_store::{Durability, Space, fake::Fake, record::JobState};

pub(super) const ROUTES: u8 = 12;
pub(super) const IDS: u8 = 30;
pub(super) const REASONS: [&str; 3] = ["", "bad address", "timeout"];

/// The most bulk operations. The ledger keeps this many ended ones of each shard.
const JOBS: usize = 3;

pub(super) fn route(number: u8) -> Arc<str> {
    // Some are longer than others: they are in the order of their lengths first.
    format!("{}{number}", "r".repeat(usize::from(number % 3))).into()
}

pub(super) fn id(number: u8) -> Arc<str> {
    format!("id-{number}").into()
}

/// A change of a task or a route.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Schedule { at: u64, payload: u8, expires: bool },
    Park,
    Bury(usize),
    Retry(u64),
    Finish,
    Cancel,
    Kick,
    Delete,
    Pause,
    Resume,
    Begin(usize),
    Sweep,
    End(usize),
    RaiseLowWater,
}

impl Step {
    pub(super) fn random(random: &mut fastrand::Rng) -> Self {
        match random.u8(0..40) {
            0..14 => Self::Schedule {
                at: random.u64(20_000..20_040),
                payload: random.u8(0..50),
                expires: random.bool(),
            },
            14..18 => Self::Park,
            18..26 => Self::Bury(random.usize(0..REASONS.len())),
            26..28 => Self::Retry(random.u64(20_000..20_040)),
            28 => Self::Finish,
            29 => Self::Cancel,
            30 => Self::Kick,
            31 => Self::Delete,
            32 => Self::Pause,
            33 => Self::Resume,
            34 => Self::Begin(random.usize(0..REASONS.len())),
            35..37 => Self::Sweep,
            37 => Self::End(random.usize(0..JOBS)),
            _ => Self::RaiseLowWater,
        }
    }
}

/// The stores of some shards and their ledgers.
pub(super) struct Side {
    ledgers: Vec<Ledger<Fake>>,
    pub(super) stores: Vec<Arc<Fake>>,
    /// The numbers of the bulk operations with their routes, in the order in which they began.
    pub(super) jobs: Vec<(u64, Arc<str>)>,
    now: u64,
}

impl Side {
    pub(super) fn new(shards: u16) -> Self {
        let stores: Vec<Arc<Fake>> = (0..shards).map(|_| Arc::default()).collect();
        let ledgers = stores.iter().zip(0..).map(|(store, shard)| {
            let first = first_seq(ShardId(shard));
            Ledger::open_from(store.clone(), 1_000, first, Sizes::SMALL).unwrap()
        });
        Self {
            ledgers: ledgers.collect(),
            stores,
            jobs: Vec::new(),
            now: 10_000,
        }
    }

    /// Returns a history of `steps` steps in a server without a cluster and in this many shards.
    pub(super) fn pair(seed: u64, shards: u16, steps: usize) -> [Self; 2] {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut pair = [Self::new(1), Self::new(shards)];
        Self::go_on(&mut pair, &mut random, steps);
        pair
    }

    /// Returns a history of `steps` steps in a server without a cluster, and in this many shards
    /// that its store is imported into after half of them.
    pub(super) fn imported_pair(seed: u64, shards: u16, steps: usize) -> [Self; 2] {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut single = [Self::new(1)];
        Self::go_on(&mut single, &mut random, steps / 2);
        let [mut single] = single;
        single.end_jobs();
        let imported = Self::imported(&single, shards);
        let mut pair = [single, imported];
        Self::go_on(&mut pair, &mut random, steps / 2);
        pair
    }

    /// Applies the same steps to each side.
    fn go_on(sides: &mut [Self], random: &mut fastrand::Rng, steps: usize) {
        for _ in 0..steps {
            let (route, id) = (random.u8(0..ROUTES), random.u8(0..IDS));
            let step = Step::random(random);
            for side in &mut *sides {
                side.apply((&super::side::route(route), &super::side::id(id)), &step);
            }
        }
    }

    /// Returns what is left of a history in a server without a cluster after an import into this
    /// many shards. No bulk operation may be running.
    pub(super) fn imported(single: &Self, shards: u16) -> Self {
        let charter = Charter { cluster: 7, shards };
        let stores: Vec<Arc<Fake>> = (0..shards).map(|_| Arc::default()).collect();
        let mut targets: Vec<_> = stores.iter().cloned().map(NewShardStore::new).collect();
        let imported = split(&*single.stores[0], &mut targets, charter).unwrap();
        let ledgers = stores.iter().zip(0..).map(|(store, shard)| {
            let first = first_seq(ShardId(shard));
            Ledger::open_from(store.clone(), 1_000, first, Sizes::SMALL).unwrap()
        });
        let jobs = single.jobs.iter();
        Self {
            ledgers: ledgers.collect(),
            stores: stores.clone(),
            jobs: jobs
                .map(|(job, route)| (imported.jobs[job], route.clone()))
                .collect(),
            now: single.now,
        }
    }

    /// Ends the bulk operations that are running.
    pub(super) fn end_jobs(&mut self) {
        for job in 0..self.jobs.len() {
            self.apply((&route(0), &id(0)), &Step::End(job));
        }
    }

    pub(super) fn merged(&self) -> Arc<MergedStore<Fake>> {
        Arc::new(MergedStore::new(self.stores.iter().cloned()))
    }

    /// Lets time pass.
    pub(super) const fn pass(&mut self, millis: u64) {
        self.now += millis;
    }

    pub(super) const fn now(&self) -> u64 {
        self.now
    }

    /// Returns the number of keys that were read.
    pub(super) fn reads(&self) -> usize {
        self.stores.iter().map(|store| store.calls().keys).sum()
    }

    /// Applies a step to a task, or to its route.
    pub(super) fn apply(&mut self, task: (&Arc<str>, &Arc<str>), step: &Step) {
        self.now += 3;
        if matches!(step, Step::RaiseLowWater) {
            return self.raise_low_water();
        }
        let shards = u16::try_from(self.ledgers.len()).unwrap();
        let of_job = self.job_of(step);
        let route = of_job.as_ref().map_or(task.0, |(_, route)| route);
        let shard = usize::from(shard_of(route, shards).0);
        let job = of_job.as_ref().map(|(job, _)| *job);
        let Some(op) = self.op(shard, (route, task.1), step, job) else {
            return;
        };
        let ledger = &mut self.ledgers[shard];
        let outcome = ledger.apply(&op, self.now).unwrap();
        ledger.commit(Durability::Written, self.now).unwrap();
        if let Outcome::BulkBegun(job) = outcome {
            self.jobs.push((job, route.clone()));
        }
    }

    /// Each shard raises its own mark as far as it can.
    fn raise_low_water(&mut self) {
        for (ledger, store) in self.ledgers.iter_mut().zip(&self.stores) {
            let first = store.all(Space::Waiting).into_iter().next();
            let at = first.map_or(19_000, |(key, _)| {
                hyper_delay_store::record::key::time_of(&key).unwrap().0
            });
            ledger.apply(&Op::AdvanceLowWater(at), self.now).unwrap();
            ledger.commit(Durability::Written, self.now).unwrap();
        }
    }

    fn job_of(&self, step: &Step) -> Option<(u64, Arc<str>)> {
        match step {
            Step::End(job) => self.jobs.get(*job).cloned(),
            Step::Sweep => self.jobs.last().cloned(),
            _ => None,
        }
    }

    fn op(
        &self,
        shard: usize,
        (route, id): (&Arc<str>, &Arc<str>),
        step: &Step,
        job: Option<u64>,
    ) -> Option<Op> {
        let at = self.now;
        let audited = |op| {
            let actor = Actor::default();
            Some(Op::Audited(Box::new(AuditedOp { op, actor })))
        };
        let name = LedgerView::new(self.stores[shard].clone())
            .name(route, id)
            .unwrap();
        let seq = name.map_or(0, |name| name.seq);
        let revision = TaskRevision {
            route: route.clone(),
            id: id.clone(),
            seq,
            attempt: 1,
        };
        let (route, id) = (route.clone(), id.clone());
        match *step {
            Step::Schedule {
                at,
                payload,
                expires,
            } => Some(Op::Schedule(ScheduleOrder {
                route,
                id,
                named: true,
                at,
                fire_at: at,
                delay_ms: (payload % 3 == 0).then_some(u64::from(payload)),
                compression: Compression::None,
                payload: vec![payload; usize::from(payload)].into(),
                replace: true,
                headers: Headers::default(),
                terms: expires.then(|| {
                    Box::new(Terms {
                        expires_at: Some(at + 1_000),
                        ..Terms::default()
                    })
                }),
            })),
            Step::Park => Some(Op::Park(revision)),
            Step::Bury(reason) => Some(Op::Bury {
                revision,
                // Several die at the same time.
                at: at / 50 * 50,
                attempt: 2,
                failures: 1,
                reason: Some(REASONS[reason].into()).filter(|_| reason > 0),
                failure: None,
            }),
            Step::Retry(at) => Some(Op::Retry {
                revision,
                at,
                attempt: 3,
                failures: 2,
                failure: (at % 2 == 0).then(|| {
                    Box::new(LastFailure {
                        at,
                        kind: FailureKind::Nack,
                        reason: None,
                    })
                }),
            }),
            Step::Finish => Some(Op::Finish(revision)),
            Step::Cancel => Some(Op::Cancel { route, id }),
            Step::Kick => audited(Op::Kick {
                route,
                id,
                at: 20_000,
            }),
            Step::Delete => audited(Op::Delete { route, id }),
            Step::Pause => audited(Op::Pause(route)),
            Step::Resume => audited(Op::Resume(route)),
            Step::Begin(_) if self.jobs.len() == JOBS => None,
            Step::Begin(reason) => audited(Op::BeginBulk(Box::new(NewBulkJob {
                act: match reason % 2 {
                    0 => BulkAct::Purge,
                    _ => BulkAct::Move(BulkMove {
                        to: BulkMoveTo::Later(5),
                        state: Some(TaskState::Retrying),
                    }),
                },
                route,
                filter: Filter {
                    reason: Some(REASONS[reason].into()),
                    ..Filter::default()
                },
                in_flight: false,
                at,
                actor: Actor::default(),
            }))),
            Step::Sweep => Some(Op::Sweep(Sweep {
                job: Some(job?),
                route,
                id,
                seq,
                act: SweepAct::Purge,
            })),
            Step::End(_) => Some(Op::AdvanceBulk(Box::new(BulkAdvance {
                job: job?,
                cursor: Box::default(),
                state: JobState::Done,
                at,
                actor: Actor::default(),
            }))),
            Step::RaiseLowWater => None,
        }
    }

    /// Returns the number of tasks.
    pub(super) fn tasks(&self) -> u64 {
        let view = LedgerView::new(self.merged());
        view.totals().unwrap().total()
    }

    /// Returns whether each shard has rows of that space.
    pub(super) fn is_spread(&self, space: Space) -> bool {
        self.stores.iter().all(|store| !store.all(space).is_empty())
    }
}
