//! Reads of clients at any node: what was acknowledged anywhere before must be there, and the retrying
//! tasks are listed and counted.

use std::collections::BTreeMap;

use super::{
    events::{ProcessId, SimulationEvent},
    task_name::TaskName,
    world::{MILLI, World},
};
use crate::forward::{CallerId, ForwarderEvent};
use hyper_delay_protocol::Refusal;
use hyper_delay_store::Space;

/// The reads of a history. `None` in a world without reads: they would change its histories.
#[derive(Debug)]
pub(super) struct SimulatedReads {
    random: fastrand::Rng,
    last: CallerId,
    waiting: BTreeMap<CallerId, Vec<TaskName>>,
    counts: ReadCounts,
}

/// What the reads of a history have seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReadCounts {
    /// Number of answered reads.
    pub(super) done: u64,
    /// Number of retrying tasks that they have listed.
    pub(super) retrying: u64,
}

impl SimulatedReads {
    pub(super) const fn counts(&self) -> ReadCounts {
        self.counts
    }
}

impl World {
    /// Lets clients read, too.
    pub(super) fn with_reads(mut self, seed: u64) -> Self {
        self.reads = Some(SimulatedReads {
            random: fastrand::Rng::with_seed(seed),
            last: 0,
            waiting: BTreeMap::new(),
            counts: ReadCounts::default(),
        });
        self.after(MILLI, SimulationEvent::Read);
        self
    }

    /// A client is about to read at some node.
    pub(super) fn read(&mut self) {
        let Some(reads) = &mut self.reads else {
            return;
        };
        let node = reads.random.usize(0..self.nodes.len());
        let pause = reads.random.u64(1..300) * MILLI;
        reads.last += 1;
        let id = reads.last;
        let tasks = self.checks.tasks.iter();
        let there = tasks.filter(|(_, task)| {
            task.is_scheduled && task.endings == 0 && task.max_attempts.is_none()
        });
        let there = there.map(|(name, _)| name.clone()).collect();
        reads.waiting.insert(id, there);
        if self.at < self.calm {
            self.after(pause, SimulationEvent::Read);
        }
        let is_stopped = self.nodes[node].stopped_until > self.at;
        if self.nodes[node].process.is_some() && !is_stopped {
            self.forwarder(self.process_id(node), Some(ForwarderEvent::Fresh(id, None)));
        }
    }

    /// Clients of a process may read.
    pub(super) fn may_read(
        &mut self,
        life: ProcessId,
        fresh: Vec<(CallerId, Result<(), Refusal>)>,
    ) {
        for (id, result) in fresh {
            let Some(reads) = &mut self.reads else {
                return;
            };
            let there = reads.waiting.remove(&id).unwrap_or_default();
            if result.is_err() {
                continue;
            }
            reads.counts.done += 1;
            let turn = reads.counts.done;
            let disks = self.nodes[life.node].disks.iter();
            let names: Vec<_> = disks.flat_map(|disk| disk.all(Space::Names)).collect();
            let lacks = there.iter().find(|task| {
                !self.checks.may_have_ended(task) && !names.iter().any(|(key, _)| task.has_key(key))
            });
            if let Some(task) = lacks {
                let node = &self.nodes[life.node].member.node;
                let broken =
                    format!("{task} was acknowledged before a read at {node}, which lacks it");
                return self.check(Err(broken));
            }
            match self.check_retrying_at(life.node, &names, turn) {
                Ok(retrying) => {
                    if let Some(reads) = &mut self.reads {
                        reads.counts.retrying += retrying;
                    }
                }
                Err(broken) => {
                    let node = &self.nodes[life.node].member.node;
                    return self.check(Err(format!("at {node}, {broken}")));
                }
            }
        }
    }
}
