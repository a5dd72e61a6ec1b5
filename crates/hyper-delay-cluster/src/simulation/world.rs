use std::{collections::BTreeMap, mem, sync::Arc};

use super::{
    FaultSet, PlantedFault,
    checks::HistoryChecks,
    clients::SimulatedClients,
    disks::DiskFaults,
    events::{ProcessId, ProcessPart, SimulationEvent},
    links::SimulatedLink,
    moves::Moves,
    node::{ClockDrift, SimulatedNode, SimulationOptions},
    operators::Operators,
    own_routes::OwnRoutes,
    reads::{ReadCounts, SimulatedReads},
    takeovers::Takeovers,
    task_name::TaskName,
    versions::NodeVersions,
};
use crate::{
    Charter, ShardId,
    log::{LogRequest, NodeName, fake::FakeLog},
    replica::genesis,
    shard::{PeerId, SavedLedger, Shard, ShardEvent},
};
use hyper_delay_engine::{release::Release, scheduler::ConsumerId};
use hyper_delay_store::{
    Space,
    record::{self, Name, Place, key},
};

/// When the world begins, in Unix milliseconds.
pub(super) const START: u64 = 1_000_000_000;

/// The wall clocks of the nodes are wrong by at most this many milliseconds.
pub(super) const CLOCK_ERROR: u64 = 200;

/// True time is in nanoseconds.
pub(super) const MILLI: u64 = 1_000_000;

/// Everything there is.
pub(super) struct World {
    pub(super) random: fastrand::Rng,
    pub(super) disks: DiskFaults,
    pub(super) takeovers: Takeovers,
    pub(super) versions: NodeVersions,
    pub(super) planted: PlantedFault,
    /// The ledgers with which shards began to lead, for a planted fault.
    pub(super) saved_ledgers: BTreeMap<(ProcessId, ShardId), SavedLedger>,
    pub(super) faults: FaultSet,
    /// The true time in nanoseconds.
    pub(super) at: u64,
    /// What happens is large, and moves when something is inserted before it.
    queue: BTreeMap<(u64, u64), Box<SimulationEvent>>,
    queued: u64,
    /// The next tick of each part.
    pub(super) ticks: BTreeMap<(ProcessId, ProcessPart), u64>,
    pub(super) log: FakeLog,
    pub(super) log_is_down_until: u64,
    pub(super) nodes: Vec<SimulatedNode>,
    /// Until when each node is cut off from the log.
    pub(super) cut_until: Vec<u64>,
    /// Until when the answers of the log to each node are slow.
    pub(super) slow_until: Vec<u64>,
    pub(super) members: Arc<[NodeName]>,
    pub(super) charter: Charter,
    pub(super) options: SimulationOptions,
    pub(super) checks: HistoryChecks,
    pub(super) clients: SimulatedClients,
    pub(super) operators: Operators,
    pub(super) own_routes: OwnRoutes,
    pub(super) moves: Moves,
    pub(super) links: BTreeMap<PeerId, SimulatedLink>,
    /// What was sent last on each connection is written then.
    pub(super) sockets: BTreeMap<ConsumerId, u64>,
    pub(super) last_link: u64,
    /// The last leadership of each shard of each process.
    pub(super) epochs: BTreeMap<(ProcessId, ShardId), u64>,
    /// When the faults end.
    pub(super) calm: u64,
    pub(super) reads: Option<SimulatedReads>,
    broken: Option<String>,
    /// Whether everything that happens is printed.
    pub(super) traces: bool,
}

/// What has happened in a history.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlayedHistory {
    /// How many copies were in flight at planned ends.
    pub(super) handed_over: u64,
    /// How many tasks were moved.
    pub(super) moved: u64,
    /// How many tasks operators have moved.
    pub(super) moved_together: u64,
}

impl World {
    pub(super) fn new(seed: u64, planted: PlantedFault, faults: FaultSet) -> Self {
        // The scheduler takes its seed from here.
        fastrand::seed(seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let charter = Charter::new(1 + u128::from(seed), random.u16(1..=2));
        let charter = charter.expect("the shards can be numbered");
        let mut log = FakeLog::default();
        log.ignores_fences = planted == PlantedFault::NoFence;
        log.ignores_heartbeats = planted == PlantedFault::IgnoresHeartbeats;
        log.leases_look_short = planted == PlantedFault::ShortWait;
        log.keeps_highest_reports = planted == PlantedFault::KeepsReports;
        let mut facts = HistoryChecks::default();
        for shard in (0..charter.shards).map(ShardId) {
            let genesis = genesis(charter, shard).bytes;
            facts.appended(shard, &genesis, 0).expect("it is the first");
            log.create(shard, genesis);
        }
        // No clock is that wrong. It makes a missing margin show, which covers an eighth.
        let mut takeovers = Takeovers::new(seed);
        let wrong = *random.choice(&[300, 60_000]).expect("there are two");
        let nodes = ["a", "b", "c"].map(|name| {
            let drift = ClockDrift {
                rate: takeovers.rate(random.i64(-wrong..=wrong)),
                wall: random.i64(-CLOCK_ERROR.cast_signed()..=CLOCK_ERROR.cast_signed()),
            };
            SimulatedNode::new(name, drift, charter.shards)
        });
        for node in &nodes {
            log.carry_out(&LogRequest::Join(node.member.clone()));
        }
        let calm = random.u64(5_000..40_000) * MILLI;
        let mut disks = DiskFaults::new(seed);
        let operators = Operators::new(seed, charter.shards);
        let own_routes = OwnRoutes::new(seed);
        let members: Arc<[NodeName]> = nodes.each_ref().map(|node| node.member.node.clone()).into();
        let mut world = Self {
            members: members.clone(),
            cut_until: vec![0; nodes.len()],
            slow_until: vec![0; nodes.len()],
            nodes: nodes.into(),
            options: SimulationOptions {
                window: *random.choice(&[2, 20, 100_000]).expect("there are three"),
                ack_timeout: *random.choice(&[2_500, 7_000]).expect("there are two"),
                hedge: SimulationOptions::hedge(seed),
                retention: disks.retention(),
                dead_retention: operators.dead_retention,
                own_pending: own_routes.pending,
                release: Release::Current,
            },
            clients: SimulatedClients::new(&mut random, seed, charter.shards),
            operators,
            own_routes,
            moves: Moves::new(seed),
            random,
            disks,
            takeovers,
            versions: NodeVersions::new(seed, members.len(), faults),
            planted,
            saved_ledgers: BTreeMap::new(),
            faults,
            // A clock that is slow must not show a time before its epoch.
            at: 1_000 * MILLI,
            queue: BTreeMap::new(),
            queued: 0,
            ticks: BTreeMap::new(),
            log,
            log_is_down_until: 0,
            charter,
            checks: facts,
            links: BTreeMap::new(),
            sockets: BTreeMap::new(),
            last_link: 0,
            epochs: BTreeMap::new(),
            calm,
            reads: None,
            broken: None,
            traces: std::env::var_os("CLUSTER_TRACE").is_some(),
        };
        world.checks.time_to_answer = world.time_to_answer();
        world.checks.has_older_nodes = world.versions.is_upgrade();
        world.checks.stored = world.operators.stored(charter.shards);
        world.operators.raise_failures(&mut world.clients);
        for node in 0..world.nodes.len() {
            world.after(0, SimulationEvent::Start(node));
        }
        world.after(0, SimulationEvent::Connect);
        world.after(0, SimulationEvent::Clients);
        world.after(MILLI, SimulationEvent::Client);
        if world.own_routes.are_made() {
            world.after(MILLI, SimulationEvent::WithoutRoute);
        }
        if world.moves.are_made() {
            world.after(MILLI, SimulationEvent::Moves);
        }
        world.after(MILLI, SimulationEvent::Fault);
        world.after(1_000 * MILLI, SimulationEvent::Takeover);
        if world.operators.are_active() {
            world.after(MILLI, SimulationEvent::Operator);
        }
        world
    }

    /// Plays the history to its end.
    pub(super) fn run(mut self) -> Result<PlayedHistory, String> {
        self.play()?;
        Ok(PlayedHistory {
            handed_over: self.checks.handed_over(),
            moved: self.checks.moved,
            moved_together: {
                let stored = self.checks.stored.as_ref();
                stored.map_or(0, |stored| stored.moved_together())
            },
        })
    }

    /// Plays the history to its end. Returns what the reads have seen.
    pub(super) fn run_with_reads(mut self) -> Result<ReadCounts, String> {
        self.play()?;
        let reads = self.reads.as_ref().map(SimulatedReads::counts);
        Ok(reads.unwrap_or_default())
    }

    fn play(&mut self) -> Result<(), String> {
        let mut end = self.calm + 15_000 * MILLI;
        let most = self.calm + 300_000 * MILLI;
        while let Some(((at, _), event)) = self.queue.pop_first() {
            if at > end {
                // With many tasks and slow clients it takes longer.
                if self.result().is_ok() || at > most {
                    break;
                }
                end = at + 1_000 * MILLI;
            }
            self.at = at;
            self.handle(*event);
            if let Some(broken) = self.broken.take() {
                return Err(format!("{broken}, at {} ms", at / MILLI));
            }
        }
        self.result()
    }

    /// What must hold in the end: no task is lost, no request waits, and the nodes contain the same.
    fn result(&self) -> Result<(), String> {
        let now = START + self.at / MILLI;
        self.checks.end(|task| self.is_dead(task), now)?;
        self.all_is_answered()?;
        self.retrying_agrees()?;
        self.nodes_agree()
    }

    /// A promise is broken.
    pub(super) fn check(&mut self, result: Result<(), String>) {
        if let Err(broken) = result {
            self.broken.get_or_insert(broken);
        }
    }

    /// Lets something happen this many nanoseconds from now.
    pub(super) fn after(&mut self, nanos: u64, event: SimulationEvent) {
        self.queued += 1;
        let event = Box::new(event);
        self.queue.insert((self.at + nanos, self.queued), event);
    }

    /// No node ends any more, and nothing is scheduled.
    pub(super) fn is_calm(&self) -> bool {
        self.at >= self.calm
    }

    /// Nothing goes wrong any more, or ever.
    pub(super) fn is_faultless(&self) -> bool {
        self.faults == FaultSet::Harmless || self.is_calm()
    }

    pub(super) fn process_id(&self, node: usize) -> ProcessId {
        let life = self.nodes[node].starts;
        ProcessId { node, start: life }
    }

    /// Whether a task is a dead letter.
    fn is_dead(&self, task: &TaskName) -> bool {
        let disks = self.nodes[0].disks.iter();
        let mut names = disks.flat_map(|disk| disk.all(Space::Names));
        names.any(|(key, value)| {
            task.has_key(&key) && {
                let name: Name = record::decode(&value).expect("it was encoded");
                matches!(name.place, Place::Dead(_))
            }
        })
    }

    /// No request waits for an answer.
    fn all_is_answered(&self) -> Result<(), String> {
        let mut processes = self.nodes.iter().filter_map(|node| node.process.as_ref());
        match processes.find(|process| !process.forwarder.is_settled()) {
            Some(process) => Err(format!("requests wait: {:?}", process.forwarder)),
            None => Ok(()),
        }
    }

    /// Returns the last entry that each node has applied. `None`: it is down.
    fn applied(&self, shard: usize) -> Vec<Option<u64>> {
        let processes = self.nodes.iter().map(|node| node.process.as_ref());
        let applied = processes.map(|it| it.map(|it| it.shards[shard].applied()));
        applied.collect()
    }

    /// All nodes contain the same.
    fn nodes_agree(&self) -> Result<(), String> {
        for shard in 0..usize::from(self.charter.shards) {
            let contents = self
                .nodes
                .iter()
                .map(|node| node.disks[shard].contents_without(Space::Meta, key::SYNCED));
            let contents: Vec<_> = contents.collect();
            let journal = self
                .log
                .shard(ShardId(shard.try_into().expect("it is small")));
            let length = journal.journal.len();
            if contents.iter().any(|other| *other != contents[0]) {
                let applied = self.applied(shard);
                return Err(format!("the nodes differ in shard {shard}: {applied:?}"));
            }
            if length > 3 {
                return Err(format!("the journal has still {length} entries"));
            }
        }
        Ok(())
    }

    /// Tells a process to end: it closes its connections, and then leads no longer.
    pub(super) fn hand_over(&mut self, node: usize) {
        if self.nodes[node].process.is_some() && !self.nodes[node].is_ending {
            let life = self.process_id(node);
            self.nodes[node].is_ending = true;
            if !self.is_linked_to_all(life) {
                self.note_unannounced_end(life);
            }
            let last = self.disconnect_all(life) + 1;
            for shard in (0..self.charter.shards).map(ShardId) {
                self.after(
                    last,
                    SimulationEvent::Shard(life, shard, ShardEvent::HandOver),
                );
            }
        }
    }

    /// A process that ends may not have notified all leaders: what its connections have fails.
    pub(super) fn note_unannounced_end(&mut self, life: ProcessId) {
        let processes = self.clients.processes.iter();
        let of_life = processes.filter(|(_, of)| **of == life);
        for (consumer, _) in of_life {
            self.checks.connection_left(*consumer);
        }
    }

    /// A process that leads nothing any more removes its heartbeat before it ends.
    pub(super) fn end_process(&mut self, life: ProcessId) {
        let Some(process) = &mut self.nodes[life.node].process else {
            return;
        };
        if process.shards.iter().all(Shard::has_no_leadership) {
            let (call, request) = (process.calls.next(), process.lease.leave_request());
            self.send_request(life, ProcessPart::Lease, call, request);
        } else if self.faults == FaultSet::Harmless {
            return self.after(5 * MILLI, SimulationEvent::End(life));
        }
        self.end(life.node);
        let pause = self.random.u64(10..6_000) * MILLI;
        self.after(pause, SimulationEvent::Start(life.node));
    }

    /// Takes a node down.
    pub(super) fn end(&mut self, node: usize) {
        let life = self.process_id(node);
        let node = &mut self.nodes[node];
        node.starts += 1;
        node.stopped_until = 0;
        node.backlog.clear();
        drop(mem::take(&mut node.process));
        self.break_links_of(life);
    }
}
