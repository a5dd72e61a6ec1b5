//! An operator asks the log in memory.

mod join;
mod remove;
mod start_journals;
mod status;

use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::Admin;
use crate::{
    ShardId,
    log::{
        Fence, LeaseId, Log, LogAnswer, LogEvent, LogRequest, LogUnanswered, Member, MissingLink,
        UnansweredReason, fake::FakeLog,
    },
};

const TTL: Duration = Duration::from_secs(8);

/// The log in memory. It answers at once, except to the next `unanswered` requests, and to those of
/// a journal that is damaged.
#[derive(Debug, Default)]
struct Memory {
    log: Mutex<FakeLog>,
    unanswered: AtomicUsize,
    damaged: OnceLock<ShardId>,
}

impl Log for Memory {
    async fn call(&self, request: LogRequest) -> Result<LogAnswer, LogUnanswered> {
        let less = |left: usize| left.checked_sub(1);
        match self
            .unanswered
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
        {
            Ok(_) => Err(LogUnanswered("etcd at http://x: silence".into())),
            Err(_) if self.damaged.get().is_some_and(|it| reads(&request, *it)) => {
                let why = "etcd at http://x: etcd lacks it: restore etcd".to_owned();
                Err(LogUnanswered(UnansweredReason::Damage(why)))
            }
            Err(_) => Ok(self.log.lock().unwrap().carry_out(&request)),
        }
    }

    async fn watch(&self, _: impl FnMut(LogEvent) + Send) {
        std::future::pending::<()>().await;
    }
}

fn reads(request: &LogRequest, damaged: ShardId) -> bool {
    matches!(request, LogRequest::Tail { shard, .. } if *shard == damaged)
}

fn member(name: &str) -> Member {
    Member {
        node: name.into(),
        address: format!("{name}.internal:7002").into(),
    }
}

impl Admin<Memory> {
    /// A cluster of two shards with these members, none of which was ever started.
    async fn of(members: &[&str]) -> Self {
        let admin = Self::new(Memory::default());
        for name in members {
            admin.join(&member(name), Some(2)).await.unwrap();
        }
        admin
    }

    fn carry_out(&self, request: &LogRequest) -> LogAnswer {
        self.log.log.lock().unwrap().carry_out(request)
    }

    /// A process of a node begins a lease, in place of the heartbeat with this revision.
    fn announce(&self, name: &str, lease: u64, over: u64) {
        self.carry_out(&LogRequest::Announce {
            member: member(name),
            lease: LeaseId(lease),
            ttl: TTL,
            replaces: over,
        });
    }

    /// A node leads a shard.
    fn lead(&self, shard: u16, name: &str, lease: u64) -> Fence {
        let request = LogRequest::Lead {
            shard: ShardId(shard),
            lease: LeaseId(lease),
            member: member(name),
            takeover: None,
        };
        let LogAnswer::Leader(Some(led)) = self.carry_out(&request) else {
            panic!("nobody leads");
        };
        Fence {
            shard: ShardId(shard),
            epoch: led.leader.epoch,
            lease: LeaseId(lease),
        }
    }

    fn append(&self, fence: Fence, seq: u64, entry: &[u8]) {
        let entry = entry.into();
        self.carry_out(&LogRequest::Append { fence, seq, entry });
    }

    fn report(&self, shard: u16, name: &str, lease: u64, synced: u64) {
        let done = self.carry_out(&LogRequest::Report {
            shard: ShardId(shard),
            node: name.into(),
            lease: LeaseId(lease),
            synced,
        });
        assert_eq!(done, LogAnswer::Reported(true));
    }

    /// Waits for a future while these nodes keep their leases alive.
    async fn alive<T>(&self, nodes: &[(&str, u64)], future: impl Future<Output = T>) -> T {
        let missing = |_: &str| [].into();
        self.alive_without(nodes, missing, future).await
    }

    /// The same, and the nodes cannot make these links.
    async fn alive_without<T>(
        &self,
        nodes: &[(&str, u64)],
        missing: impl Fn(&str) -> Arc<[MissingLink]>,
        future: impl Future<Output = T>,
    ) -> T {
        let heartbeats = async {
            loop {
                for (name, lease) in nodes {
                    self.carry_out(&LogRequest::KeepAlive {
                        member: member(name),
                        lease: LeaseId(*lease),
                        ttl: TTL,
                        missing_links: missing(name),
                    });
                }
                tokio::time::sleep(TTL / 4).await;
            }
        };
        tokio::select! {
            done = future => done,
            () = heartbeats => unreachable!("the nodes live on"),
        }
    }
}
