//! The journal alone, without nodes: how many entries etcd takes. Only the benchmarks use it.

use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use super::{
    Etcd,
    config::{EtcdConfig, EtcdTls},
};
use crate::{
    Charter, ShardId,
    log::{
        AnnounceOutcome, AppendOutcome, Fence, LeaseId, Log as _, LogAnswer, LogRequest, Member,
    },
};

type BoxedError = Box<dyn Error + Send + Sync>;

/// Journals in an etcd without a cluster, which belong to this process.
#[derive(Debug)]
pub struct StandaloneJournal {
    log: Arc<Etcd>,
    /// The leadership of each shard, and the place of its next entry.
    shards: Vec<(Fence, u64)>,
}

impl StandaloneJournal {
    /// Makes a cluster of this many shards and leads all of them.
    ///
    /// # Errors
    ///
    /// If etcd does not answer, or has a cluster.
    pub async fn new(endpoints: Vec<String>, shards: u16) -> Result<Self, BoxedError> {
        const LEASE: Duration = Duration::from_secs(40);
        let log = Arc::new(Etcd::new(&EtcdConfig {
            endpoints,
            tls: EtcdTls::default(),
            user: None,
            lease: LEASE,
        })?);
        let charter = Charter::new(fastrand::u128(..), shards)?;
        if log.call(LogRequest::CreateCluster(charter)).await? != LogAnswer::ClusterCreated(charter)
        {
            return Err(unexpected("there is a cluster"));
        }
        let member = Member {
            node: "alone".into(),
            address: "127.0.0.1:1".into(),
        };
        let lease = LeaseId(fastrand::u64(..));
        let announce = LogRequest::Announce {
            member: member.clone(),
            lease,
            ttl: LEASE,
            replaces: 0,
        };
        if log.call(announce).await? != LogAnswer::Announced(AnnounceOutcome::Done) {
            return Err(unexpected("there is a node"));
        }
        let mut led = Vec::new();
        for shard in (0..shards).map(ShardId) {
            let lead = LogRequest::Lead {
                shard,
                lease,
                member: member.clone(),
                takeover: None,
            };
            let LogAnswer::Leader(Some(answer)) = log.call(lead).await? else {
                return Err(unexpected("there is a leader"));
            };
            let epoch = answer.leader.epoch;
            let fence = Fence {
                shard,
                epoch,
                lease,
            };
            led.push((fence, 1));
        }
        Ok(Self { log, shards: led })
    }

    /// Appends entries of `bytes` bytes that cannot be compressed to all shards, one at a time to
    /// each. Returns how long each took.
    ///
    /// # Errors
    ///
    /// If etcd refuses an entry, or does not answer.
    pub async fn append(
        &mut self,
        bytes: usize,
        time: Duration,
    ) -> Result<Vec<Duration>, BoxedError> {
        let mut writers = JoinSet::new();
        for (place, (fence, next)) in self.shards.iter().enumerate() {
            let random = std::iter::repeat_with(|| fastrand::u8(..)).take(bytes);
            let writer = StandaloneAppender {
                log: self.log.clone(),
                fence: *fence,
                next: *next,
                entry: random.collect(),
            };
            writers.spawn(async move { writer.run(time).await.map(|times| (place, times)) });
        }
        let mut took = Vec::new();
        while let Some(ended) = writers.join_next().await {
            let (place, times) = ended??;
            self.shards[place].1 += times.len() as u64;
            took.extend(times);
        }
        Ok(took)
    }
}

/// Appends to one shard.
struct StandaloneAppender {
    log: Arc<Etcd>,
    fence: Fence,
    next: u64,
    entry: Arc<[u8]>,
}

impl StandaloneAppender {
    async fn run(self, time: Duration) -> Result<Vec<Duration>, BoxedError> {
        let Self {
            log,
            fence,
            next,
            entry,
        } = self;
        let begin = Instant::now();
        let (mut took, mut trimmed) = (Vec::new(), 0);
        for seq in next.. {
            let sent = Instant::now();
            if begin.elapsed() >= time {
                break;
            }
            let entry = entry.clone();
            let append = LogRequest::Append { fence, seq, entry };
            if log.call(append).await? != LogAnswer::Appended(AppendOutcome::Done) {
                return Err(unexpected("the entry is refused"));
            }
            took.push(sent.elapsed());
            // The journal of a cluster in good health is short.
            if seq % 100 == 0 {
                let shard = fence.shard;
                let trim = LogRequest::Trim {
                    shard,
                    from: trimmed,
                    below: seq,
                };
                log.call(trim).await?;
                trimmed = seq;
            }
        }
        Ok(took)
    }
}

fn unexpected(what: &str) -> BoxedError {
    what.into()
}
