//! Random requests of two nodes, to etcd and to the log in memory. Every answer must be the same.

use std::{collections::BTreeMap, sync::Arc};

use super::process::Processes;
use crate::{
    Charter, ShardId,
    log::{
        AnnounceOutcome, AppendOutcome, Fence, Heartbeat, LeaderAndHeartbeat, LeaseId, Log,
        LogAnswer, LogRequest, Member, MissingLink, SilentHeartbeat, Takeover,
        contract::{CHARTER, TTL, member},
        fake::FakeLog,
    },
};

const NODES: [&str; 2] = ["a", "b"];
const ROUNDS: u64 = 6;
const REQUESTS: usize = 600;

/// The number of leases. Both nodes use them.
const LEASES: u64 = 6;

/// The same leadership of a shard in both logs, which number changes differently.
type Epochs = Vec<(ShardId, u64, u64)>;
/// The same heartbeat of a node in both logs.
type Heartbeats = Vec<(Arc<str>, u64, u64)>;

/// The random requests, and what the logs call the same things.
struct Requests {
    random: fastrand::Rng,
    /// The same change in both logs: of etcd, by that of the log in memory.
    revisions: BTreeMap<u64, u64>,
    epochs: Epochs,
    heartbeats: Heartbeats,
    /// The lease that the heartbeat of each node was of.
    current: BTreeMap<Arc<str>, LeaseId>,
    taken_over: usize,
    /// The first place of each journal.
    first: [u64; 3],
    /// The last place of each journal, about.
    last: [u64; 3],
    sent: Vec<Pair>,
}

/// The same request, as etcd and as the log in memory get it.
type Pair = (LogRequest, LogRequest);

impl Requests {
    fn any_lease(&mut self) -> LeaseId {
        LeaseId(self.random.u64(0..LEASES))
    }

    /// Returns a lease, rather the one that a node has.
    fn lease(&mut self, node: &str) -> LeaseId {
        match self.current.get(node) {
            Some(lease) if self.random.u8(0..4) > 0 => *lease,
            _ => self.any_lease(),
        }
    }

    fn epoch(&mut self, shard: ShardId) -> (u64, u64) {
        let none = (shard, u64::MAX >> 1, u64::MAX >> 1);
        let mut latest = self.epochs.iter().rev();
        let latest = latest.find(|epoch| epoch.0 == shard);
        let latest = *latest.unwrap_or(&none);
        let epoch = match self.random.usize(0..10) {
            0 => none,
            1..3 => *self.random.choice(&self.epochs).unwrap_or(&none),
            _ => latest,
        };
        (epoch.1, epoch.2)
    }

    fn fences(&mut self, shard: ShardId) -> (Fence, Fence) {
        let lease = self.any_lease();
        let fence = |epoch| Fence {
            shard,
            epoch,
            lease,
        };
        let epoch = self.epoch(shard);
        (fence(epoch.0), fence(epoch.1))
    }

    /// The revision of a heartbeat, rather a late one.
    fn heartbeat(&mut self, node: &str) -> (u64, u64) {
        let mut latest = self.heartbeats.iter().rev();
        let latest = latest.find(|heartbeat| &*heartbeat.0 == node);
        let none = (Arc::from(node), 0, 0);
        let latest = latest.unwrap_or(&none);
        let heartbeat = match self.random.usize(0..10) {
            0..2 => &none,
            2 => self.random.choice(&self.heartbeats).unwrap_or(&none),
            _ => latest,
        };
        (heartbeat.1, heartbeat.2)
    }

    fn over(&mut self, shard: ShardId) -> (Option<Takeover>, Option<Takeover>) {
        if self.random.u8(0..3) == 0 {
            return (None, None);
        }
        let epoch = self.epoch(shard);
        if self.random.u8(0..6) == 0 {
            let over = |epoch| {
                let silence = None;
                Some(Takeover { epoch, silence })
            };
            return (over(epoch.0), over(epoch.1));
        }
        let node = Arc::from(*self.random.choice(&NODES).expect("there are two"));
        let heartbeat = self.heartbeat(&node);
        let over = |epoch, revision| {
            let node = Arc::clone(&node);
            let silence = Some(SilentHeartbeat { node, revision });
            Some(Takeover { epoch, silence })
        };
        (over(epoch.0, heartbeat.0), over(epoch.1, heartbeat.1))
    }

    /// Returns a place before which all is removed.
    fn removed(&mut self, shard: ShardId) -> u64 {
        let first = self.first[usize::from(shard.0)];
        match self.random.bool() {
            true => first,
            false => self.random.u64(0..=first),
        }
    }

    fn missing_links(&mut self) -> Arc<[MissingLink]> {
        let node = Arc::from(*self.random.choice(&NODES).expect("there are two"));
        let link = MissingLink {
            to: node,
            why: r#"say "why"}"#.into(),
            versions_differ: self.random.bool(),
        };
        vec![link; self.random.usize(0..3)].into()
    }

    fn seq(&mut self, shard: ShardId) -> u64 {
        let last = self.last[usize::from(shard.0)];
        let near = self.random.u64(0..6);
        match self.random.u8(0..8) {
            0 => self.random.u64(0..=last + 2),
            1 => self.random.u64(..),
            2..4 => (last + 3).saturating_sub(near),
            _ => last + 1,
        }
    }

    fn next(&mut self) -> Pair {
        // The same request once more, at once or much later.
        if self.random.u8(0..6) == 0
            && let Some(pair) = match self.random.bool() {
                true => self.sent.last(),
                false => self.random.choice(&self.sent),
            }
        {
            return pair.clone();
        }
        let shard = ShardId(self.random.u16(0..CHARTER.shards));
        let name = *self.random.choice(&NODES).expect("there are two");
        let (node, member) = (Arc::from(name), member(name));
        let pair = match self.random.u8(0..46) {
            0..4 => {
                let lease = self.any_lease();
                both(self.heartbeat(name), |over| LogRequest::Announce {
                    member: member.clone(),
                    lease,
                    ttl: TTL,
                    replaces: over,
                })
            }
            4 => {
                let lease = self.lease(name);
                same(&LogRequest::Leave { node, lease })
            }
            40..46 => {
                let lease = self.lease(name);
                let ttl = TTL * self.random.u32(1..3);
                let missing_links = self.missing_links();
                same(&LogRequest::KeepAlive {
                    member,
                    lease,
                    ttl,
                    missing_links,
                })
            }
            5..11 => {
                let lease = self.lease(name);
                both(self.over(shard), |over| LogRequest::Lead {
                    shard,
                    lease,
                    member: member.clone(),
                    takeover: over,
                })
            }
            11..13 => both(self.fences(shard), LogRequest::Resign),
            13..24 => {
                let seq = self.seq(shard);
                let entry: Arc<[u8]> = [self.random.u8(0..2)].into();
                both(self.fences(shard), |fence| LogRequest::Append {
                    fence,
                    seq,
                    entry: entry.clone(),
                })
            }
            24..28 => {
                let from = self.seq(shard);
                same(&LogRequest::Tail { shard, from, node })
            }
            28 => {
                let from = self.removed(shard);
                same(&LogRequest::First { shard, from })
            }
            29 => {
                let from = self.removed(shard);
                // Never the last entry.
                let below = self.random.u64(0..=self.last[usize::from(shard.0)]);
                let first = &mut self.first[usize::from(shard.0)];
                *first = below.max(*first);
                same(&LogRequest::Trim { shard, from, below })
            }
            30..33 => {
                let synced = self.random.u64(0..9);
                let lease = self.lease(name);
                same(&LogRequest::Report {
                    shard,
                    node,
                    lease,
                    synced,
                })
            }
            33 => same(&LogRequest::Reports(shard)),
            34 => {
                let cluster = self.random.u128(..);
                same(&LogRequest::CreateCluster(Charter { cluster, shards: 1 }))
            }
            35 => same(&LogRequest::Charter),
            36 => same(&LogRequest::Join(member)),
            37 => same(&LogRequest::Remove(node)),
            38 => {
                let address = "moved.example:7000".into();
                same(&LogRequest::ChangeAddress(Member { node, address }))
            }
            _ => same(&LogRequest::Members),
        };
        self.sent.push(pair.clone());
        pair
    }

    /// Notes what is new in two answers, and compares them.
    fn compare(&mut self, request: &LogRequest, real: LogAnswer, mut model: LogAnswer) {
        if let (LogAnswer::Leader(Some(real)), LogAnswer::Leader(Some(model))) = (&real, &model)
            && let LogRequest::Lead { shard, .. } = request
            && let epoch = (*shard, real.leader.epoch, model.leader.epoch)
            && !self.epochs.contains(&epoch)
        {
            let is_later = self.epochs.last().is_none_or(|last| last.1 < epoch.1);
            assert!(is_later, "an epoch is higher than all before");
            self.epochs.push(epoch);
            self.taken_over += usize::from(matches!(
                request,
                LogRequest::Lead {
                    takeover: Some(_),
                    ..
                }
            ));
        }
        if let (LogAnswer::Tail(real), LogAnswer::Tail(model)) = (&real, &mut model) {
            self.last[shard(request)] = real.last;
            // Each has pages of its own.
            assert_eq!(real.entries.is_empty(), model.entries.is_empty());
            let common = real.entries.len().min(model.entries.len());
            assert_eq!(real.entries[..common], model.entries[..common]);
            model.entries.clone_from(&real.entries);
        }
        if let (LogRequest::Append { seq, .. }, LogAnswer::Appended(AppendOutcome::Done)) =
            (request, &real)
        {
            let last = &mut self.last[shard(request)];
            *last = (*last).max(*seq);
        }
        if let (LogRequest::Announce { member, lease, .. }, LogAnswer::Announced(announced)) =
            (request, &real)
        {
            let current = match announced {
                AnnounceOutcome::Done => Some(*lease),
                AnnounceOutcome::Not(there) => there.map(|heartbeat| heartbeat.lease),
            };
            let node = member.node.clone();
            self.current.extend(current.map(|lease| (node, lease)));
        }
        match (&real, &mut model) {
            (LogAnswer::Leader(real), LogAnswer::Leader(model)) => self.same_led(real, model),
            (LogAnswer::Tail(real), LogAnswer::Tail(model)) => {
                self.same_led(&real.leader, &mut model.leader);
            }
            (
                LogAnswer::Announced(AnnounceOutcome::Not(real)),
                LogAnswer::Announced(AnnounceOutcome::Not(model)),
            ) => {
                let LogRequest::Announce { member, .. } = request else {
                    panic!("{request:?} announces nothing");
                };
                self.same_beat(&member.node, real, model);
            }
            (LogAnswer::Members(real), LogAnswer::Members(model)) => {
                for (real, model) in real.iter().zip(model) {
                    self.same_beat(&real.member.node, &real.heartbeat, &mut model.heartbeat);
                }
            }
            _ => {}
        }
        assert_eq!(real, model, "{request:?}");
    }

    /// Both revisions are of the same change: the one of etcd takes the place of the other.
    fn same(&mut self, real: u64, model: &mut u64) {
        *model = *self.revisions.entry(*model).or_insert(real);
    }

    fn same_beat(
        &mut self,
        node: &Arc<str>,
        real: &Option<Heartbeat>,
        model: &mut Option<Heartbeat>,
    ) {
        if let (Some(real), Some(model)) = (real, model) {
            let heartbeat = (node.clone(), real.revision, model.revision);
            if !self.heartbeats.contains(&heartbeat) {
                self.heartbeats.push(heartbeat);
            }
            self.same(real.revision, &mut model.revision);
        }
    }

    fn same_led(
        &mut self,
        real: &Option<LeaderAndHeartbeat>,
        model: &mut Option<LeaderAndHeartbeat>,
    ) {
        if let (Some(real), Some(model)) = (real, model) {
            self.same(real.leader.epoch, &mut model.leader.epoch);
            self.same_beat(
                &real.leader.member.node,
                &real.heartbeat,
                &mut model.heartbeat,
            );
        }
    }
}

fn both<T>((real, model): (T, T), request: impl Fn(T) -> LogRequest) -> Pair {
    (request(real), request(model))
}

fn same(request: &LogRequest) -> Pair {
    (request.clone(), request.clone())
}

fn shard(request: &LogRequest) -> usize {
    match request {
        LogRequest::Tail { shard, .. } => shard.0.into(),
        LogRequest::Append { fence, .. } => fence.shard.0.into(),
        _ => unreachable!("others do not tell a place"),
    }
}

#[tokio::test]
async fn etcd_answers_as_the_log_in_memory_does() {
    let seeds = match std::env::var("ETCD_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (0..ROUNDS).map(|_| fastrand::u64(..)).collect(),
    };
    let Some(etcd) = Processes::one() else { return };
    let (mut appended, mut taken_over) = (0, 0);
    for seed in &seeds {
        println!("ETCD_SEED={seed}");
        let run = run(&etcd, *seed).await;
        appended += run.0;
        taken_over += run.1;
    }
    println!("{appended} appended, {taken_over} leaderships taken over");
    // About 160 and 15 of six seeds.
    let is_useful = appended > 0 && taken_over > 0;
    assert!(is_useful || seeds.len() == 1, "the test is of no use");
}

/// Returns how many entries were appended, and how many leaderships were taken over.
async fn run(etcd: &Processes, seed: u64) -> (usize, usize) {
    let all = hyper_delay_etcd::Keys::prefix("/hd/");
    let all = hyper_delay_etcd::Delete::new(all);
    etcd.client().await.delete(all).await.unwrap();
    // Each node has connections of its own.
    let logs = [etcd.log(), etcd.log()];
    let mut model = FakeLog::default();
    let mut requests = Requests {
        random: fastrand::Rng::with_seed(seed),
        revisions: BTreeMap::new(),
        epochs: Vec::new(),
        heartbeats: Vec::new(),
        current: BTreeMap::new(),
        taken_over: 0,
        first: [0; 3],
        last: [0; 3],
        sent: Vec::new(),
    };
    let founded = same(&LogRequest::CreateCluster(CHARTER));
    let mut appended = 0;
    for step in 0..REQUESTS {
        let (real, faked) = match step {
            0 => founded.clone(),
            _ => requests.next(),
        };
        let log = &logs[requests.random.usize(0..2)];
        let answer = log.call(real.clone()).await.unwrap();
        appended += usize::from(answer == LogAnswer::Appended(AppendOutcome::Done));
        requests.compare(&real, answer, model.carry_out(&faked));
    }
    (appended, requests.taken_over)
}
