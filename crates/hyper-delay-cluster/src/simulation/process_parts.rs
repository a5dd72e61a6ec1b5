//! Drives the parts of a process.

use super::{
    PlantedFault,
    events::{ProcessId, ProcessPart, SimulationEvent},
    world::{MILLI, World},
};
use crate::{
    ShardId,
    call_id::CallId,
    forward,
    log::{LogAnswer, LogUnanswered},
    shard::{LeadershipChange, ShardEffects, ShardEvent},
};
use hyper_delay_engine::scheduler::NextCall;
use hyper_delay_store::fake::Fake;

impl World {
    /// Lets the lease of a process do what is due.
    pub(super) fn lease(&mut self, life: ProcessId) {
        let node = &mut self.nodes[life.node];
        let now = node.drift.now(self.at);
        let process = node.process.as_mut().expect("it runs");
        let calls = &mut process.calls;
        let asked = process.lease.request(|| calls.next(), || [].into(), now);
        let next = process.lease.next().map(|tick| node.drift.reaches(tick));
        if let Some((call, request)) = asked {
            self.send_request(life, ProcessPart::Lease, call, request);
        }
        self.schedule_tick(life, ProcessPart::Lease, next);
    }

    /// Tells a shard of a process what has happened, and the time.
    pub(super) fn shard(&mut self, life: ProcessId, id: ShardId, event: Option<ShardEvent>) {
        let now = self.nodes[life.node].drift.now(self.at);
        if let Some(event) = event {
            self.tell_shard(life, id, event, now);
            self.mix_up_ledgers(life, id);
        }
        let node = &mut self.nodes[life.node];
        let process = node.process.as_mut().expect("it runs");
        let term = process.lease.term();
        let shard = &mut process.shards[usize::from(id.0)];
        let place = usize::from(id.0);
        let receiving = &mut process.receiving[place];
        if let Some(disk) = receiving.replace(shard, now) {
            node.disks[place] = disk;
        }
        receiving.drain(shard, now);
        let next = shard.tick(now, term);
        if let Some(why) = shard.stopped().filter(|why| !why.waits_for_snapshot()) {
            let why = format!("{} has stopped: {why}", node.member.node);
            return self.check(Err(why));
        }
        let effects = shard.take_effects();
        self.mix_up_ledgers(life, id);
        let node = &self.nodes[life.node];
        let next = match next {
            NextCall::Now => Some(self.at + 1_000),
            NextCall::At(tick) => Some(node.drift.reaches(tick)),
            NextCall::Never => None,
        };
        let fence = effects
            .changes
            .iter()
            .rev()
            .find_map(|change| match change {
                LeadershipChange::Begins(fence) => Some(*fence),
                LeadershipChange::Ends(_) => None,
            });
        if let Some(fence) = fence {
            self.checks.leadership_begun(fence);
            self.epochs.insert((life, id), fence.epoch);
        }
        self.carry_out(life, id, effects);
        self.schedule_tick(life, ProcessPart::Shard(id), next);
        self.report_to_forwarder(life, id);
    }

    /// The forwarder of the process learns the last applied entry and the leader of the shard.
    fn report_to_forwarder(&mut self, life: ProcessId, id: ShardId) {
        let Some(process) = &mut self.nodes[life.node].process else {
            return;
        };
        let shard = &process.shards[usize::from(id.0)];
        let known = &mut process.known[usize::from(id.0)];
        let now_known = (shard.applied(), shard.leader().cloned());
        if *known != now_known {
            known.clone_from(&now_known);
            let (applied, leader) = now_known;
            self.forwarder(life, Some(forward::ForwarderEvent::Applied(id, applied)));
            self.forwarder(life, Some(forward::ForwarderEvent::Leader(id, leader)));
        }
    }

    /// Schedules a tick of a part.
    pub(super) fn schedule_tick(&mut self, life: ProcessId, part: ProcessPart, at: Option<u64>) {
        let Some(at) = at.map(|at| at.max(self.at + 1_000)) else {
            return;
        };
        if self
            .ticks
            .get(&(life, part))
            .is_none_or(|planned| *planned > at)
        {
            self.ticks.insert((life, part), at);
            self.after(at - self.at, SimulationEvent::Tick(life, part));
        }
    }

    pub(super) fn carry_out(&mut self, life: ProcessId, id: ShardId, effects: ShardEffects<Fake>) {
        for (call, request) in effects.calls {
            self.send_request(life, ProcessPart::Shard(id), call, request);
        }
        if let Some(persisting) = effects.persist {
            let time = self.random.u64(MILLI..50 * MILLI);
            self.after(time, SimulationEvent::Persist(life, id, persisting));
        }
        self.start_fetch(life, id, effects.fetch, effects.spool);
        self.send_to_peers(life, id, effects.to_peers);
    }

    pub(super) fn answered(
        &mut self,
        life: ProcessId,
        part: ProcessPart,
        call: CallId,
        answer: Result<LogAnswer, LogUnanswered>,
    ) {
        match part {
            ProcessPart::Lease => {
                let node = &mut self.nodes[life.node];
                let now = node.drift.now(self.at);
                let process = node.process.as_mut().expect("it runs");
                if self.planted == PlantedFault::CountsFromReceipt {
                    process.lease.count_from_now(now);
                }
                if process.lease.answered(call, &answer, now) {
                    self.lease(life);
                    for shard in (0..self.charter.shards).map(ShardId) {
                        self.shard(life, shard, None);
                    }
                }
            }
            ProcessPart::Forwarder => unreachable!("it asks the log for nothing"),
            ProcessPart::Shard(shard) => {
                self.shard(life, shard, Some(ShardEvent::Answered(call, answer)));
            }
        }
    }
}
