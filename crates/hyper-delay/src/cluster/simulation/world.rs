use std::{collections::BTreeMap, mem, sync::Arc};

use super::{
    Faults, Planted,
    checks::Facts,
    clients::Clients,
    disks::Disks,
    links::Link,
    node::{Drift, Node, Options},
    planted::plant,
    reads::Reads,
};
use crate::{
    cluster::{
        Charter, ShardId,
        calls::CallId,
        forward,
        log::{Answer, LeaseId, NodeName, Request, Unanswered, fake::FakeLog},
        replica::{Persisting, genesis},
        shard::{Event, Fetch, PeerId, Shard},
    },
    protocol,
    record::{self, Name, Place},
    scheduler::{ConsumerId, Message},
    store::{Space, fake::Fake},
};

/// When the world begins, in Unix milliseconds.
pub(super) const START: u64 = 1_000_000_000;

/// True time is in nanoseconds.
pub(super) const MILLI: u64 = 1_000_000;

/// A process, by its node and the number of its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Life {
    pub(super) node: usize,
    pub(super) life: u64,
}

/// What happens at a moment.
#[derive(Debug)]
pub(super) enum Happening {
    /// A request reaches the log.
    Request(Life, Part, CallId, Request),
    /// An answer, or the end of the time for it, reaches a process.
    Answer(Life, Part, CallId, Result<Answer, Unanswered>),
    /// A part of a process is told the time.
    Tick(Life, Part),
    /// News of the journal, or of a link, reach a shard of a process.
    News(Life, ShardId, Event),
    /// A disk has synced.
    Persist(Life, ShardId, Persisting<Fake>),
    /// A message is about to be written to the socket of a consumer.
    Socket(Life, ConsumerId, Message),
    /// Something reaches the forwarder of a process.
    Forwarder(Life, forward::Event),
    /// A message of a serving node reaches the leader of a shard over a link.
    ToLeader(PeerId, Life, ShardId, Event),
    /// A message of a leader reaches a serving node over a link.
    ToServing(PeerId, Life, forward::Event),
    /// A consumer answers a delivery.
    Answers(Life, usize, ConsumerId, Arc<str>, protocol::Request),
    /// The request for a snapshot reaches another node.
    Snapshot(Life, ShardId, Fetch),
    /// The snapshot is there, or not.
    Snapshotted(Life, ShardId, Fetch, Option<Vec<u8>>),
    /// Processes connect to each other.
    Connect,
    /// Clients connect.
    Clients,
    /// A client does something.
    Client,
    /// A client registers a route, or leaves it.
    Registers(usize, ConsumerId, usize, bool),
    /// A client may wait for the answer to the schedule of this task.
    Unanswered(usize),
    /// A client may read.
    Read,
    /// Something goes wrong.
    Fault,
    /// A node is cut off from the log for this long.
    Cut(usize, u64),
    /// A process ends.
    End(Life),
    /// A node is started.
    Start(usize),
    /// The pause of a process is over, if it was not made longer.
    Resume(usize),
}

/// A part of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Lease,
    Forwarder,
    Shard(ShardId),
}

/// Everything there is.
pub(super) struct World {
    pub(super) random: fastrand::Rng,
    pub(super) disks: Disks,
    pub(super) planted: Planted,
    pub(super) faults: Faults,
    /// The true time in nanoseconds.
    pub(super) at: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    queued: u64,
    /// When each part is told the time next.
    pub(super) ticks: BTreeMap<(Life, Part), u64>,
    pub(super) log: FakeLog,
    pub(super) log_is_down_until: u64,
    pub(super) nodes: Vec<Node>,
    /// Until when each node is cut off from the log.
    pub(super) cut_until: Vec<u64>,
    /// Until when the answers of the log to each node are slow.
    pub(super) slow_until: Vec<u64>,
    members: Arc<[NodeName]>,
    pub(super) charter: Charter,
    pub(super) options: Options,
    pub(super) facts: Facts,
    pub(super) clients: Clients,
    pub(super) links: BTreeMap<PeerId, Link>,
    pub(super) last_link: u64,
    /// The last leadership of each shard of each process.
    pub(super) epochs: BTreeMap<(Life, ShardId), u64>,
    /// When the faults end.
    pub(super) calm: u64,
    pub(super) reads: Option<Reads>,
    broken: Option<String>,
    /// Whether everything that happens is printed.
    traces: bool,
}

impl World {
    pub(super) fn new(seed: u64, planted: Planted, faults: Faults) -> Self {
        plant(planted);
        // The scheduler takes its seed from here.
        fastrand::seed(seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let charter = Charter::new(1 + u128::from(seed), random.u16(1..=2));
        let charter = charter.expect("the shards can be numbered");
        let mut log = FakeLog::default();
        log.ignores_fences = planted == Planted::NoFence;
        log.ignores_beats = planted == Planted::IgnoresHeartbeats;
        log.leases_look_short = planted == Planted::ShortWait;
        log.keeps_highest_reports = planted == Planted::KeepsReports;
        let mut facts = Facts::default();
        for shard in (0..charter.shards).map(ShardId) {
            let genesis = genesis(charter, shard).bytes;
            facts.appended(shard, &genesis).expect("it is the first");
            log.create(shard, genesis);
        }
        // No clock is that wrong. It makes a missing margin show, which covers an eighth.
        let wrong = *random.choice(&[300, 60_000]).expect("there are two");
        let nodes = ["a", "b", "c"].map(|name| {
            let drift = Drift {
                rate: random.i64(-wrong..=wrong),
                wall: random.i64(-200..=200),
            };
            Node::new(name, drift, charter.shards)
        });
        let calm = random.u64(5_000..40_000) * MILLI;
        let mut disks = Disks::new(seed);
        let mut world = Self {
            members: nodes.each_ref().map(|node| node.member.node.clone()).into(),
            cut_until: vec![0; nodes.len()],
            slow_until: vec![0; nodes.len()],
            nodes: nodes.into(),
            options: Options {
                window: *random.choice(&[2, 20, 100_000]).expect("there are three"),
                ack_timeout: *random.choice(&[2_500, 7_000]).expect("there are two"),
                retention: disks.retention(),
            },
            clients: Clients::new(&mut random, charter.shards),
            random,
            disks,
            planted,
            faults,
            // A clock that is slow must not show a time before its epoch.
            at: 1_000 * MILLI,
            queue: BTreeMap::new(),
            queued: 0,
            ticks: BTreeMap::new(),
            log,
            log_is_down_until: 0,
            charter,
            facts,
            links: BTreeMap::new(),
            last_link: 0,
            epochs: BTreeMap::new(),
            calm,
            reads: None,
            broken: None,
            traces: std::env::var_os("CLUSTER_TRACE").is_some(),
        };
        for node in 0..world.nodes.len() {
            world.after(0, Happening::Start(node));
        }
        world.after(0, Happening::Connect);
        world.after(0, Happening::Clients);
        world.after(MILLI, Happening::Client);
        world.after(MILLI, Happening::Fault);
        world
    }

    /// Plays the history to its end. Returns how many copies were in flight at planned ends.
    pub(super) fn run(mut self) -> Result<u64, String> {
        self.play()?;
        Ok(self.facts.handed_over())
    }

    /// Plays the history to its end. Returns how many reads were answered.
    pub(super) fn run_with_reads(mut self) -> Result<u64, String> {
        self.play()?;
        Ok(self.reads.map_or(0, |reads| reads.done))
    }

    fn play(&mut self) -> Result<(), String> {
        let end = self.calm + 60_000 * MILLI;
        while let Some(((at, _), happening)) = self.queue.pop_first() {
            if at > end {
                break;
            }
            self.at = at;
            self.happens(happening);
            if let Some(broken) = self.broken.take() {
                return Err(format!("{broken}, at {} ms", at / MILLI));
            }
        }
        self.facts.end(|id| self.is_dead(id))?;
        self.all_is_answered()?;
        self.nodes_agree()
    }

    /// A promise is broken.
    pub(super) fn check(&mut self, result: Result<(), String>) {
        if let Err(broken) = result {
            self.broken.get_or_insert(broken);
        }
    }

    /// Lets something happen this many nanoseconds from now.
    pub(super) fn after(&mut self, nanos: u64, happening: Happening) {
        self.queued += 1;
        self.queue.insert((self.at + nanos, self.queued), happening);
    }

    /// No node ends any more, and nobody schedules anything.
    pub(super) fn is_calm(&self) -> bool {
        self.at >= self.calm
    }

    /// Nothing goes wrong any more, or ever.
    pub(super) fn is_faultless(&self) -> bool {
        self.faults == Faults::Harmless || self.is_calm()
    }

    fn happens(&mut self, happening: Happening) {
        let life = match &happening {
            Happening::Answer(life, ..)
            | Happening::Tick(life, _)
            | Happening::News(life, ..)
            | Happening::Persist(life, ..)
            | Happening::Socket(life, ..)
            | Happening::Forwarder(life, ..)
            | Happening::ToLeader(_, life, ..)
            | Happening::ToServing(_, life, _)
            | Happening::Snapshotted(life, ..)
            | Happening::Answers(life, ..) => Some(*life),
            _ => None,
        };
        if let Some(life) = life {
            let node = &mut self.nodes[life.node];
            if node.life != life.life || node.process.is_none() {
                return;
            }
            if node.stopped_until > self.at || !node.backlog.is_empty() {
                if node.backlog.is_empty() {
                    let pause = node.stopped_until - self.at;
                    self.after(pause, Happening::Resume(life.node));
                }
                return self.nodes[life.node].backlog.push_back(happening);
            }
        }
        if self.traces {
            eprintln!("{} {happening:?}", self.at / MILLI);
        }
        match happening {
            Happening::Request(life, part, call, request) => {
                self.reaches_log(life, part, call, &request);
            }
            Happening::Answer(life, part, call, answer) => self.answered(life, part, call, answer),
            Happening::Tick(life, part) => {
                // A part that is told the time earlier than planned has a later plan.
                if self.ticks.get(&(life, part)).is_none_or(|at| *at > self.at) {
                    return;
                }
                self.ticks.remove(&(life, part));
                match part {
                    Part::Lease => self.lease(life),
                    Part::Forwarder => self.forwarder(life, None),
                    Part::Shard(shard) => self.shard(life, shard, None),
                }
            }
            Happening::News(life, shard, event) => self.shard(life, shard, Some(event)),
            Happening::Persist(life, shard, persisting)
                if !self.is_faultless() && self.random.u8(0..16) == 0 =>
            {
                let disk = &self.nodes[life.node].disks[usize::from(shard.0)];
                disk.power_fails_after(self.random.usize(0..2));
                // The process is gone, so the result is not reported.
                let _ = persisting.run();
                let time = self.random.u64(10..2_000) * MILLI;
                self.lose_power(life.node, time);
            }
            Happening::Persist(life, shard, persisting) => {
                let result = persisting.run();
                self.shard(life, shard, Some(Event::Persisted(result)));
            }
            Happening::Socket(life, consumer, message) => self.writes(life, consumer, message),
            Happening::Forwarder(life, event) => self.forwarder(life, Some(event)),
            Happening::ToLeader(peer, life, shard, event) => {
                if self.link_is_there(peer) {
                    self.shard(life, shard, Some(event));
                }
            }
            Happening::ToServing(peer, life, event) => {
                if self.link_is_there(peer) {
                    self.forwarder(life, Some(event));
                }
            }
            Happening::Answers(life, client, consumer, id, answer) => {
                self.answers(life, (client, consumer), &id, answer);
            }
            Happening::Snapshot(life, shard, fetch) => self.gives(life, shard, fetch),
            Happening::Snapshotted(life, shard, fetch, snapshot) => {
                self.has_received(life, shard, &fetch, snapshot);
            }
            Happening::Connect => self.connect(),
            Happening::Clients => self.clients_connect(),
            Happening::Resume(node) => self.resume(node),
            Happening::Client => self.client_acts(),
            Happening::Registers(client, consumer, route, joins) => {
                self.registers(client, consumer, route, joins);
            }
            Happening::Unanswered(task) => self.unanswered(task),
            Happening::Read => self.read(),
            Happening::Fault => self.fault(),
            Happening::Cut(node, time) => {
                if !self.is_calm() {
                    self.cut_until[node] = self.at + time;
                }
            }
            Happening::End(life) => {
                if self.life(life.node) == life {
                    self.ends(life);
                }
            }
            Happening::Start(node) => {
                let Self {
                    nodes,
                    charter,
                    members,
                    at,
                    planted,
                    options,
                    random,
                    ..
                } = self;
                if nodes[node].process.is_some() {
                    return;
                }
                let lease = LeaseId(random.u64(..));
                let moment = (*at, *planted, lease);
                nodes[node].start(*charter, members, moment, *options);
                let life = self.life(node);
                self.lease(life);
                self.forwarder(life, None);
                for shard in (0..self.charter.shards).map(ShardId) {
                    self.shard(life, shard, None);
                }
            }
        }
    }

    /// A process does what has waited for it, in its order.
    fn resume(&mut self, node: usize) {
        let until = self.nodes[node].stopped_until;
        if until > self.at {
            return self.after(until - self.at, Happening::Resume(node));
        }
        for happening in mem::take(&mut self.nodes[node].backlog) {
            self.happens(happening);
        }
    }

    pub(super) fn life(&self, node: usize) -> Life {
        let life = self.nodes[node].life;
        Life { node, life }
    }

    /// Whether a task is a dead letter.
    fn is_dead(&self, id: &str) -> bool {
        let disks = self.nodes[0].disks.iter();
        let mut names = disks.flat_map(|disk| disk.all(Space::Names));
        names.any(|(name, value)| {
            let name_of: Name = record::decode(&value).expect("it was encoded");
            name.ends_with(id.as_bytes()) && matches!(name_of.place, Place::Dead(_))
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

    /// All nodes contain the same.
    fn nodes_agree(&self) -> Result<(), String> {
        for shard in 0..usize::from(self.charter.shards) {
            let contents = self.nodes.iter().map(|node| node.disks[shard].contents());
            let contents: Vec<_> = contents.collect();
            let journal = self
                .log
                .shard(ShardId(shard.try_into().expect("it is small")));
            let length = journal.journal.len();
            if contents.iter().any(|other| *other != contents[0]) {
                return Err(format!("the nodes differ in shard {shard}"));
            }
            if length > 3 {
                return Err(format!("the journal has still {length} entries"));
            }
        }
        Ok(())
    }

    /// Tells a process to lead no longer.
    pub(super) fn hand_over(&mut self, node: usize) {
        if self.nodes[node].process.is_some() {
            let life = self.life(node);
            for shard in (0..self.charter.shards).map(ShardId) {
                self.after(0, Happening::News(life, shard, Event::HandOver));
            }
        }
    }

    /// A process that leads nothing any more removes its heartbeat before it ends.
    fn ends(&mut self, life: Life) {
        let Some(process) = &mut self.nodes[life.node].process else {
            return;
        };
        if process.shards.iter().all(Shard::is_out) {
            let (call, request) = (process.calls.next(), process.lease.leaving());
            self.sends(life, Part::Lease, call, request);
        } else if self.faults == Faults::Harmless {
            return self.after(5 * MILLI, Happening::End(life));
        }
        self.end(life.node);
        let pause = self.random.u64(10..6_000) * MILLI;
        self.after(pause, Happening::Start(life.node));
    }

    /// Takes a node down.
    pub(super) fn end(&mut self, node: usize) {
        let life = self.life(node);
        let node = &mut self.nodes[node];
        node.life += 1;
        node.stopped_until = 0;
        node.backlog.clear();
        drop(mem::take(&mut node.process));
        self.break_links_of(life);
    }
}
