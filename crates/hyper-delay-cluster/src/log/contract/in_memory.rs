//! The log in memory, as a log that can be shared.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use crate::{
    ShardId,
    log::{
        Leader, Log, LogAnswer, LogEvent, LogRequest, LogUnanswered, Member, NodeName,
        fake::FakeLog,
    },
};

/// The log in memory. It answers at once.
#[derive(Debug, Default)]
pub(super) struct InMemoryLog {
    log: Mutex<FakeLog>,
}

/// The state that a watch has reported.
#[derive(Debug, Default, PartialEq, Eq)]
struct WatchedState {
    shards: BTreeMap<ShardId, (Option<Leader>, Option<u64>)>,
    members: BTreeMap<NodeName, Member>,
    revision: u64,
}

impl InMemoryLog {
    fn log(&self) -> MutexGuard<'_, FakeLog> {
        self.log.lock().unwrap()
    }

    fn seen(&self) -> WatchedState {
        let log = self.log();
        let shards = log.shards().map(|(id, shard)| {
            let last = shard.journal.last_key_value();
            (id, (shard.leader.clone(), last.map(|(seq, _)| *seq)))
        });
        WatchedState {
            shards: shards.collect(),
            members: log.members().clone(),
            revision: log.revision(),
        }
    }

    /// Returns what is different from what was seen, and notes it.
    fn events(&self, before: &mut WatchedState) -> Vec<LogEvent> {
        let after = self.seen();
        let mut events = Vec::new();
        for (id, (leader, last)) in &after.shards {
            let before = before.shards.get(id);
            if before.map(|(leader, _)| leader) != Some(leader) {
                events.push(LogEvent::Leader(*id, leader.clone(), after.revision));
            }
            let seen = before.and_then(|(_, last)| *last);
            if let Some(last) = *last
                && seen < Some(last)
            {
                let from = seen.map_or(0, |seq| seq + 1);
                let log = self.log();
                let entries = log.shard(*id).journal.range(from..=last);
                let entries = entries.map(|(seq, entry)| (*seq, entry.clone()));
                events.push(LogEvent::Entries(*id, entries.collect()));
            }
        }
        if before.members != after.members {
            events.push(LogEvent::Members);
        }
        *before = after;
        events
    }
}

impl Log for InMemoryLog {
    async fn call(&self, request: LogRequest) -> Result<LogAnswer, LogUnanswered> {
        Ok(self.log().carry_out(&request))
    }

    async fn watch(&self, mut tell: impl FnMut(LogEvent) + Send) {
        let mut seen = self.seen();
        loop {
            self.events(&mut seen).into_iter().for_each(&mut tell);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
