//! The log in memory for nodes with threads: with delays, losses and cuts on demand.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::sleep,
};

use super::{
    AnnounceOutcome, AppendOutcome, Leader, Log, LogAnswer, LogEvent, LogRequest, LogUnanswered,
    fake::FakeLog,
};
use crate::{Charter, ShardId, replica::genesis};

/// A log that the nodes of one process share.
#[derive(Debug)]
pub(crate) struct SharedLog {
    charter: Charter,
    log: Mutex<FakeLog>,
    events: broadcast::Sender<FakeLogEvent>,
    appended: AtomicUsize,
}

#[derive(Debug, Clone)]
enum FakeLogEvent {
    Entry(ShardId, u64, Arc<[u8]>),
    Leader(ShardId, Option<Leader>, u64),
    Members,
}

impl SharedLog {
    /// Creates the journals of a cluster.
    pub(crate) fn new(charter: Charter) -> Arc<Self> {
        let mut log = FakeLog::default();
        for shard in (0..charter.shards).map(ShardId) {
            log.create(shard, genesis(charter, shard).bytes);
        }
        Arc::new(Self {
            charter,
            log: Mutex::new(log),
            events: broadcast::channel(10_000).0,
            appended: AtomicUsize::new(0),
        })
    }

    /// Returns the connection of a node, which gives up a request after `deadline`.
    pub(crate) fn connect(self: &Arc<Self>, deadline: Duration) -> Arc<FakeConnection> {
        Arc::new(FakeConnection {
            log: self.clone(),
            deadline,
            is_cut: AtomicBool::new(false),
            only_heartbeats: AtomicBool::new(false),
            refused: AtomicUsize::new(0),
            faults: AtomicUsize::new(0),
        })
    }

    /// Returns the number of entries that were appended.
    pub(crate) fn appended(&self) -> usize {
        self.appended.load(Ordering::Relaxed)
    }

    pub(crate) fn inner(&self) -> MutexGuard<'_, FakeLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leaders(&self, log: &FakeLog) -> Vec<Option<Leader>> {
        let shards = (0..self.charter.shards).map(ShardId);
        shards
            .map(|shard| log.shard(shard).leader.clone())
            .collect()
    }

    pub(crate) fn carry_out(&self, request: &LogRequest) -> LogAnswer {
        let mut log = self.inner();
        let before = self.leaders(&log);
        let answer = log.carry_out(request);
        let after = self.leaders(&log);
        // It fails if there is no watch.
        for (shard, (before, after)) in (0..).map(ShardId).zip(before.into_iter().zip(after)) {
            if before != after {
                let _ = self
                    .events
                    .send(FakeLogEvent::Leader(shard, after, log.revision()));
            }
        }
        if let LogRequest::Join(_) | LogRequest::ChangeAddress(_) | LogRequest::Remove(_) = request
        {
            let _ = self.events.send(FakeLogEvent::Members);
        }
        if let (
            LogRequest::Append { fence, seq, entry },
            LogAnswer::Appended(AppendOutcome::Done),
        ) = (request, &answer)
        {
            self.appended.fetch_add(1, Ordering::Relaxed);
            let _ = self
                .events
                .send(FakeLogEvent::Entry(fence.shard, *seq, entry.clone()));
        }
        answer
    }
}

/// The connection of one node to the log.
#[derive(Debug)]
pub(crate) struct FakeConnection {
    log: Arc<SharedLog>,
    deadline: Duration,
    is_cut: AtomicBool,
    only_heartbeats: AtomicBool,
    /// Announcements that have found another heartbeat.
    refused: AtomicUsize,
    /// Per cent of requests lost, and per cent of answers lost.
    faults: AtomicUsize,
}

impl FakeConnection {
    /// Nothing reaches the log any more, and no answer comes back, or all does again.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }

    /// From now on only heartbeats reach the log.
    pub(crate) fn only_heartbeats(&self) {
        self.only_heartbeats.store(true, Ordering::Relaxed);
    }

    /// From now on loses this per cent of the requests, and of the answers. The others take up to a
    /// tenth of the deadline.
    pub(crate) fn lose(&self, percent: usize) {
        self.faults.store(percent, Ordering::Relaxed);
    }

    /// Returns how often the node was refused its lease: another process has the name.
    pub(crate) fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    fn is_lost(&self) -> bool {
        fastrand::usize(0..100) < self.faults.load(Ordering::Relaxed)
    }

    async fn delay(&self) {
        if self.faults.load(Ordering::Relaxed) > 0 {
            sleep(self.deadline.mul_f64(fastrand::f64() / 10.0)).await;
        }
    }

    async fn no_answer(&self) -> Result<LogAnswer, LogUnanswered> {
        sleep(self.deadline).await;
        Err(LogUnanswered("no answer in time".into()))
    }
}

impl Log for FakeConnection {
    async fn call(&self, request: LogRequest) -> Result<LogAnswer, LogUnanswered> {
        self.delay().await;
        let is_heartbeat = matches!(request, LogRequest::KeepAlive { .. });
        let is_held = self.only_heartbeats.load(Ordering::Relaxed) && !is_heartbeat;
        if self.is_cut() || self.is_lost() || is_held {
            return self.no_answer().await;
        }
        let answer = self.log.carry_out(&request);
        self.delay().await;
        if self.is_cut() || self.is_lost() {
            return self.no_answer().await;
        }
        if let LogAnswer::Announced(AnnounceOutcome::Not(Some(_))) = answer {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        Ok(answer)
    }

    async fn watch(&self, mut tell: impl FnMut(LogEvent) + Send) {
        let mut events = self.log.events.subscribe();
        loop {
            let item = match events.recv().await {
                Ok(item) => item,
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => return,
            };
            if self.is_cut() || self.is_lost() {
                continue;
            }
            tell(match item {
                FakeLogEvent::Entry(shard, seq, entry) => {
                    LogEvent::Entries(shard, vec![(seq, entry)])
                }
                FakeLogEvent::Leader(shard, leader, revision) => {
                    LogEvent::Leader(shard, leader, revision)
                }
                FakeLogEvent::Members => LogEvent::Members,
            });
        }
    }
}
