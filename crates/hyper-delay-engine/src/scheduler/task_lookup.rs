use std::collections::BTreeMap;

use super::{ReplyTo, Scheduler, TaskLookup};
use hyper_delay_protocol::{Reply, TaskState, TaskView};
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    /// Adds which tasks are in flight to tasks that were read from the disk, and replies with them.
    pub(super) fn reply_to_task_lookup(&mut self, lookup: TaskLookup) {
        let in_flight = self.in_flight_attempts(&lookup.seqs).collect();
        let (reply_to, reply) = lookup.complete(&in_flight);
        self.reply(reply_to, reply);
    }

    /// Returns those of some revisions that are in flight, with their attempts.
    pub fn in_flight_attempts(&self, seqs: &[u64]) -> impl Iterator<Item = (u64, u32)> {
        let seqs = seqs.iter().copied();
        let in_flight = seqs.filter(|seq| self.tasks.round(*seq).is_some());
        in_flight.map(|seq| {
            let task = self.tasks.get(seq);
            (seq, task.map_or(0, |task| task.attempt))
        })
    }
}

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
