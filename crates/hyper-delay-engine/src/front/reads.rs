//! What was read from the disk, completed with what the schedulers have in memory.

use std::collections::BTreeMap;

use super::{ReplyTo, StatsRequest, TaskLookup};
use crate::{
    metrics::Metrics,
    scheduler::{StatsFromDisk, StatsFromMemory},
};
use hyper_delay_protocol::{Reply, TaskState, TaskView};

impl TaskLookup {
    /// Returns the reply, and where it goes: what was read, with which of it is in flight.
    #[must_use]
    pub fn complete(self, in_flight: &BTreeMap<u64, u32>) -> (ReplyTo, Reply) {
        let Self {
            seqs,
            mut reply,
            reply_to,
        } = self;
        let complete = |seen: &mut TaskView, seq: &u64| {
            if let Some(attempt) = in_flight.get(seq) {
                seen.state = TaskState::InFlight;
                seen.attempt = seen.attempt.max(*attempt);
            }
        };
        match (&mut reply, seqs.first()) {
            (
                Reply::Task {
                    task: Some(task), ..
                },
                Some(seq),
            ) => complete(task, seq),
            (Reply::List { tasks, .. }, _) => {
                for (task, seq) in tasks.iter_mut().zip(&seqs) {
                    complete(task, seq);
                }
            }
            _ => {}
        }
        (reply_to, reply)
    }
}

impl StatsRequest {
    /// Returns the reply, and where it goes: the counts on disk, with what the memory of each
    /// scheduler knows of them. A line has room for `max_line_bytes`.
    #[must_use]
    pub fn complete(
        self,
        counts: impl IntoIterator<Item = StatsFromMemory>,
        connections: u64,
        metrics: &Metrics,
        max_line_bytes: usize,
    ) -> (ReplyTo, Reply) {
        let Self {
            mut stats,
            own,
            reply_to,
            ..
        } = self;
        stats.connections = connections;
        stats.unknown_acks = metrics.unknown_answers.value();
        let from_disk = StatsFromDisk { stats, own };
        let reply = from_disk.complete(counts, reply_to.tag.as_deref(), max_line_bytes);
        (reply_to, reply)
    }
}
