//! A process of the cluster, its disk and its clock.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{
    PlantedFault, events::SimulationEvent, planted_faults::note_applied,
    snapshots::SnapshotReceiver, world::START,
};
use crate::{
    Charter, ShardId,
    call_id::CallIds,
    forward::{self, Forwarder},
    lease::{Lease, LeaseTimes},
    log::{Leader, LeaseId, Member, NodeName},
    shard::{Shard, ShardSetup},
};
use hyper_delay_config::{Config, Quota};
use hyper_delay_engine::{
    clock::Now, front::NewIds, release::Release, scheduler::SchedulerSettings, sizes::Sizes,
};
use hyper_delay_store::{Durability, fake::Fake};

/// How long the names of finished tasks are kept.
pub(super) const DEDUPE_MILLIS: u64 = 12_000;

/// The credit of a connection that says none.
pub(super) const CREDIT: u16 = 7;

pub(super) const LEASE: Duration = Duration::from_secs(2);

/// The configuration of all nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimulationOptions {
    /// `window_tasks`.
    pub(super) window: usize,
    /// `ack_timeout_ms`.
    pub(super) ack_timeout: u64,
    /// The delay of all routes, which are hedged then, in milliseconds.
    pub(super) hedge: Option<u64>,
    /// The bytes of a journal beyond which nodes are left behind.
    pub(super) retention: u64,
    /// `dead_retention_seconds`.
    pub(super) dead_retention: Option<u64>,
    /// The quota `pending` of the connections' own routes.
    pub(super) own_pending: Option<u64>,
    /// The release of the node.
    pub(super) release: Release,
}

/// A clock that is not quite right.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockDrift {
    /// Parts in a million by which it is fast.
    pub(super) rate: i64,
    /// Milliseconds by which the wall clock is ahead.
    pub(super) wall: i64,
}

impl SimulationOptions {
    /// Draws the delay of hedged routes. A seed of its own leaves the other histories as they are.
    pub(super) fn hedge(seed: u64) -> Option<u64> {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x6865_6467);
        let delays = [None, None, None, Some(20), Some(300)];
        *random.choice(&delays).expect("there are some")
    }

    /// Returns how many of ten entries do not reach a node. A serving node whose replica is
    /// behind still has the content of a task that was acknowledged on another node.
    pub(super) const fn missed_entries(&self) -> u8 {
        if self.hedge.is_some() { 6 } else { 1 }
    }

    /// Returns how many of ten sockets are slow. The second copy of a hedged task waits in an outbox
    /// while the first one is acknowledged on another node.
    pub(super) const fn slow_sockets(&self) -> u8 {
        if self.hedge.is_some() { 4 } else { 1 }
    }
}

impl ClockDrift {
    /// Returns the time there at `at`, the true time in nanoseconds.
    pub(super) fn now(self, at: u64) -> Now {
        let drifted = at.cast_signed() + at.cast_signed() / 1_000_000 * self.rate;
        let wall = START.cast_signed() + at.cast_signed() / 1_000_000 + self.wall;
        Now {
            wall_nanos: wall.cast_unsigned() * 1_000_000,
            monotonic: Tick::new(drifted.cast_unsigned()),
        }
    }

    /// Returns the true time at which its monotonic clock reaches `tick`.
    pub(super) fn reaches(self, tick: Tick) -> u64 {
        let tick = tick.value();
        let rate = (1_000_000 + self.rate).cast_unsigned();
        let at = tick / rate * 1_000_000 + tick % rate * 1_000_000 / rate;
        // Rounded up, so that it is not early.
        at + 2
    }
}

/// The parts of a process.
#[derive(Debug)]
pub(super) struct SimulatedProcess {
    pub(super) lease: Lease,
    pub(super) calls: CallIds,
    pub(super) shards: Vec<Shard<Fake>>,
    pub(super) forwarder: Forwarder,
    /// The last applied entry and the leader of each shard, as the forwarder knows them.
    pub(super) known: Vec<(u64, Option<Leader>)>,
    /// What each shard has spooled, and the store that a snapshot has become.
    pub(super) receiving: Vec<SnapshotReceiver>,
}

/// A machine of the cluster.
#[derive(Debug)]
pub(super) struct SimulatedNode {
    pub(super) member: Member,
    pub(super) drift: ClockDrift,
    /// One store for each shard.
    pub(super) disks: Vec<Arc<Fake>>,
    /// The last entry of each shard that was ever on the disk for sure.
    pub(super) max_synced: Vec<u64>,
    /// The same for the time since the last start.
    pub(super) max_synced_since_start: Vec<u64>,
    /// Its process ends as planned: no client connects to it any more.
    pub(super) is_ending: bool,
    /// `None`: it is down.
    pub(super) process: Option<SimulatedProcess>,
    /// The number of starts. What was sent to an earlier process does not reach this one.
    pub(super) starts: u64,
    /// It does nothing until this true time.
    pub(super) stopped_until: u64,
    /// What it does then.
    pub(super) backlog: VecDeque<SimulationEvent>,
}

impl SimulatedNode {
    pub(super) fn new(name: &str, drift: ClockDrift, shards: u16) -> Self {
        Self {
            member: Member {
                node: name.into(),
                address: format!("{name}:1").into(),
            },
            drift,
            disks: (0..shards).map(|_| Arc::default()).collect(),
            max_synced: vec![0; shards.into()],
            max_synced_since_start: vec![0; shards.into()],
            is_ending: false,
            process: None,
            starts: 0,
            stopped_until: 0,
            backlog: VecDeque::new(),
        }
    }

    pub(super) fn start(
        &mut self,
        charter: Charter,
        members: &Arc<[NodeName]>,
        (at, planted, lease): (u64, PlantedFault, LeaseId),
        options: SimulationOptions,
    ) {
        let now = self.drift.now(at);
        self.starts += 1;
        self.is_ending = false;
        self.max_synced_since_start.fill(0);
        for disk in self.disks.iter_mut().filter(|disk| disk.is_damaged()) {
            // It is moved aside.
            *disk = Arc::default();
        }
        let shards = self.disks.iter().zip(0..).map(|(disk, shard)| {
            if planted == PlantedFault::StartsFromApplied {
                note_applied(disk, Durability::Synced).expect("it works");
            }
            let config = Config {
                window_tasks: options.window,
                ack_timeout_ms: options.ack_timeout,
                retry_delay_ms: 100,
                max_retry_delay_ms: 400,
                credit: 0,
                dead_retention_seconds: options.dead_retention,
                quotas: options
                    .own_pending
                    .map(|pending| {
                        (
                            "conn-*".to_owned(),
                            Quota {
                                pending: Some(pending),
                                ..Quota::default()
                            },
                        )
                    })
                    .into_iter()
                    .collect(),
                hedge: options
                    .hedge
                    .map(|delay| ("*".to_owned(), delay))
                    .into_iter()
                    .collect(),
                ..Config::default()
            };
            let setup = ShardSetup {
                charter,
                shard: ShardId(shard),
                member: self.member.clone(),
                settings: SchedulerSettings::from(Arc::new(config))
                    .with_sizes(Sizes::SMALL)
                    .with_release(options.release),
                metrics: Arc::default(),
                dedupe_millis: DEDUPE_MILLIS,
                lease: LEASE,
                group_bytes: 2_000,
                retention: options.retention,
                sync_interval: Duration::from_millis(700),
            };
            Shard::open(disk.clone(), setup, members.clone(), now).expect("the disk is whole")
        });
        let mut times = LeaseTimes::of(LEASE);
        if planted == PlantedFault::NoMargin {
            times.margin = Duration::ZERO;
        }
        self.process = Some(SimulatedProcess {
            shards: shards.collect(),
            lease: Lease::new(times, self.member.clone(), lease, now),
            calls: CallIds::default(),
            forwarder: Forwarder::new(
                forward::ForwarderSetup::new(
                    self.member.node.clone(),
                    charter.shards,
                    LEASE,
                    &Config {
                        credit: CREDIT,
                        max_routes_per_connection: 100,
                        max_routes: 1_000,
                        max_delay_days: 1,
                        max_line_bytes: 65_536,
                        ..Config::default()
                    },
                ),
                Arc::default(),
                now,
            )
            .with_new_ids(NewIds::seeded(lease.0)),
            known: vec![(0, None); charter.shards.into()],
            receiving: self
                .disks
                .iter()
                .map(|_| SnapshotReceiver::default())
                .collect(),
        });
    }
}
