//! Random requests of two nodes, to etcd and to the log in memory. Every answer must be the same.

use std::sync::Arc;

use race_wheel::Tick;

use super::process::Processes;
use crate::cluster::{
    Charter, ShardId,
    log::{
        Answer, Appended, Fence, Leader, LeaseId, Log, Request,
        facts::{CHARTER, LONG, member},
        fake::FakeLog,
    },
};

const NODES: [&str; 2] = ["a", "b"];
const ROUNDS: u64 = 6;
const REQUESTS: usize = 400;

/// The same lease in both logs, which number them differently.
type Leases = Vec<(LeaseId, LeaseId)>;
/// The same leadership of a shard in both logs.
type Epochs = Vec<(ShardId, u64, u64)>;

/// The random requests, and what the logs call the same things.
struct Requests {
    random: fastrand::Rng,
    leases: Leases,
    epochs: Epochs,
    /// The last place of each journal, about.
    last: [u64; 3],
    sent: Vec<Pair>,
}

/// The same request, as etcd and as the log in memory get it.
type Pair = (Request, Request);

impl Requests {
    fn lease(&mut self) -> (LeaseId, LeaseId) {
        // A lease that was never granted, or one of those that were, mostly a recent one.
        let none = (LeaseId(i64::MAX), LeaseId(i64::MAX));
        match self.random.usize(0..10) {
            0 => none,
            1..4 => *self.random.choice(&self.leases).unwrap_or(&none),
            _ => *self.leases.last().unwrap_or(&none),
        }
    }

    fn fences(&mut self, shard: ShardId) -> (Fence, Fence) {
        let none = (shard, u64::MAX >> 1, u64::MAX >> 1);
        let mut latest = self.epochs.iter().rev();
        let latest = latest.find(|epoch| epoch.0 == shard);
        let latest = *latest.unwrap_or(&none);
        let epoch = match self.random.usize(0..10) {
            0 => none,
            1..3 => *self.random.choice(&self.epochs).unwrap_or(&none),
            _ => latest,
        };
        let lease = self.lease();
        let fence = |epoch, lease| Fence {
            shard,
            epoch,
            lease,
        };
        (fence(epoch.1, lease.0), fence(epoch.2, lease.1))
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
        let pair = match self.random.u8(0..40) {
            0..2 => same(&Request::Grant(LONG)),
            2..4 => {
                let leases = self.lease();
                (Request::KeepAlive(leases.0), Request::KeepAlive(leases.1))
            }
            4..7 => both(self.lease(), |lease| Request::Announce {
                member: member.clone(),
                lease,
            }),
            7..11 => both(self.lease(), |lease| Request::Lead {
                shard,
                lease,
                member: member.clone(),
            }),
            11..13 => both(self.fences(shard), Request::Resign),
            13..24 => {
                let seq = self.seq(shard);
                let entry: Arc<[u8]> = [self.random.u8(0..2)].into();
                both(self.fences(shard), |fence| Request::Append {
                    fence,
                    seq,
                    entry: entry.clone(),
                })
            }
            24..28 => {
                let from = self.seq(shard);
                same(&Request::Tail { shard, from, node })
            }
            28 => same(&Request::First(shard)),
            29 => {
                // Never the last entry.
                let below = self.random.u64(0..=self.last[usize::from(shard.0)]);
                same(&Request::Trim { shard, below })
            }
            30..33 => {
                let synced = self.random.u64(0..9);
                both(self.lease(), |lease| Request::Report {
                    shard,
                    node: node.clone(),
                    lease,
                    synced,
                })
            }
            33 => same(&Request::Reports(shard)),
            34 => {
                let cluster = self.random.u128(..);
                same(&Request::Found(Charter { cluster, shards: 1 }))
            }
            35 => same(&Request::Charter),
            36 => same(&Request::Join(member)),
            37 => same(&Request::Remove(node)),
            _ => same(&Request::Members),
        };
        self.sent.push(pair.clone());
        pair
    }

    /// Notes what is new in two answers, and compares them.
    fn compare(&mut self, request: &Request, real: Answer, mut model: Answer) {
        if let (Answer::Granted(real, _), Answer::Granted(model, _)) = (&real, &model) {
            self.leases.push((*real, *model));
        }
        if let (Answer::Leads(Some(real)), Answer::Leads(Some(model))) = (&real, &model)
            && let Request::Lead { shard, .. } = request
            && !self.epochs.contains(&(*shard, real.epoch, model.epoch))
        {
            let is_later = self.epochs.last().is_none_or(|last| last.1 < real.epoch);
            assert!(is_later, "an epoch is higher than all before");
            self.epochs.push((*shard, real.epoch, model.epoch));
        }
        if let (Answer::Tail(real), Answer::Tail(model)) = (&real, &mut model) {
            self.last[shard(request)] = real.last;
            // Each has pages of its own.
            assert_eq!(real.entries.is_empty(), model.entries.is_empty());
            let common = real.entries.len().min(model.entries.len());
            assert_eq!(real.entries[..common], model.entries[..common]);
            model.entries.clone_from(&real.entries);
        }
        if let (Request::Append { seq, .. }, Answer::Appended(Appended::Done)) = (request, &real) {
            let last = &mut self.last[shard(request)];
            *last = (*last).max(*seq);
        }
        match &mut model {
            Answer::Granted(lease, _) => self.translate(lease),
            Answer::Leads(leader) => self.translate_leader(leader),
            Answer::Tail(tail) => self.translate_leader(&mut tail.leader),
            _ => {}
        }
        assert_eq!(real, model, "{request:?}");
    }

    fn translate(&self, lease: &mut LeaseId) {
        let mut leases = self.leases.iter();
        let same = leases.find(|(_, model)| model == lease);
        *lease = same.expect("it was granted").0;
    }

    fn translate_leader(&self, leader: &mut Option<Leader>) {
        if let Some(leader) = leader {
            self.translate(&mut leader.lease);
            let mut epochs = self.epochs.iter();
            let same = epochs.find(|(_, _, model)| *model == leader.epoch);
            leader.epoch = same.expect("it was won").1;
        }
    }
}

fn both<T>((real, model): (T, T), request: impl Fn(T) -> Request) -> Pair {
    (request(real), request(model))
}

fn same(request: &Request) -> Pair {
    (request.clone(), request.clone())
}

fn shard(request: &Request) -> usize {
    match request {
        Request::Tail { shard, .. } => shard.0.into(),
        Request::Append { fence, .. } => fence.shard.0.into(),
        _ => unreachable!("others do not tell a place"),
    }
}

#[tokio::test]
async fn etcd_answers_as_the_log_in_memory_does() {
    let seeds = match std::env::var("ETCD_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (0..ROUNDS).map(|_| fastrand::u64(..)).collect(),
    };
    let etcd = Processes::one().await;
    for seed in seeds {
        println!("ETCD_SEED={seed}");
        run(&etcd, seed).await;
    }
}

async fn run(etcd: &Processes, seed: u64) {
    let mut client = etcd.client().await;
    let all = etcd_client::DeleteOptions::new().with_prefix();
    client.delete("/hd/", Some(all)).await.unwrap();
    // Each node has connections of its own.
    let logs = [etcd.log(), etcd.log()];
    let mut model = FakeLog::default();
    let now = Tick::new(0);
    let mut requests = Requests {
        random: fastrand::Rng::with_seed(seed),
        leases: Vec::new(),
        epochs: Vec::new(),
        last: [0; 3],
        sent: Vec::new(),
    };
    let founded = same(&Request::Found(CHARTER));
    let mut appended = 0;
    for step in 0..REQUESTS {
        let (real, faked) = match step {
            0 => founded.clone(),
            _ => requests.next(),
        };
        let log = &logs[requests.random.usize(0..2)];
        let answer = log.call(real.clone()).await.unwrap();
        appended += u32::from(answer == Answer::Appended(Appended::Done));
        requests.compare(&real, answer, model.carry_out(&faked, now));
        if requests.random.u8(0..40) == 0
            && let Some((lease, faked)) = requests.random.choice(&requests.leases)
        {
            // It has ended already, perhaps.
            let _ended = client.lease_revoke(lease.0).await;
            model.end(*faked);
        }
    }
    assert!(appended > 10, "{appended} appended: the test is of no use");
}
