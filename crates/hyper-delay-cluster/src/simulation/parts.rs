//! What drives the parts of a process.

use super::{
    Planted,
    events::{Happening, Life, Part},
    world::{MILLI, World},
};
use crate::{
    ShardId,
    calls::CallId,
    forward,
    log::{Answer, Unanswered},
    shard::{Effects, Event, Leadership},
};
use hyper_delay_engine::scheduler::Next;
use hyper_delay_store::fake::Fake;

impl World {
    /// Lets the lease of a process do what is due.
    pub(super) fn lease(&mut self, life: Life) {
        let node = &mut self.nodes[life.node];
        let now = node.drift.now(self.at);
        let process = node.process.as_mut().expect("it runs");
        let calls = &mut process.calls;
        let asked = process.lease.request(|| calls.next(), || [].into(), now);
        let next = process.lease.next().map(|tick| node.drift.reaches(tick));
        if let Some((call, request)) = asked {
            self.sends(life, Part::Lease, call, request);
        }
        self.wakes(life, Part::Lease, next);
    }

    /// Tells a shard of a process what has happened, and the time.
    pub(super) fn shard(&mut self, life: Life, id: ShardId, event: Option<Event>) {
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
            Next::Now => Some(self.at + 1_000),
            Next::At(tick) => Some(node.drift.reaches(tick)),
            Next::Never => None,
        };
        let fence = effects
            .changes
            .iter()
            .rev()
            .find_map(|change| match change {
                Leadership::Begins(fence) => Some(*fence),
                Leadership::Ends(_) => None,
            });
        if let Some(fence) = fence {
            self.facts.leads(fence);
            self.epochs.insert((life, id), fence.epoch);
        }
        self.carry_out(life, id, effects);
        self.wakes(life, Part::Shard(id), next);
        self.reports(life, id);
    }

    /// The forwarder of the process hears how far the shard is, and who leads it.
    fn reports(&mut self, life: Life, id: ShardId) {
        let Some(process) = &mut self.nodes[life.node].process else {
            return;
        };
        let shard = &process.shards[usize::from(id.0)];
        let known = &mut process.known[usize::from(id.0)];
        let now_known = (shard.applied(), shard.leader().cloned());
        if *known != now_known {
            known.clone_from(&now_known);
            let (applied, leader) = now_known;
            self.forwarder(life, Some(forward::Event::Applied(id, applied)));
            self.forwarder(life, Some(forward::Event::Leader(id, leader)));
        }
    }

    /// A part wants to be told the time then.
    pub(super) fn wakes(&mut self, life: Life, part: Part, at: Option<u64>) {
        let Some(at) = at.map(|at| at.max(self.at + 1_000)) else {
            return;
        };
        if self
            .ticks
            .get(&(life, part))
            .is_none_or(|planned| *planned > at)
        {
            self.ticks.insert((life, part), at);
            self.after(at - self.at, Happening::Tick(life, part));
        }
    }

    pub(super) fn carry_out(&mut self, life: Life, id: ShardId, effects: Effects<Fake>) {
        for (call, request) in effects.calls {
            self.sends(life, Part::Shard(id), call, request);
        }
        if let Some(persisting) = effects.persist {
            let time = self.random.u64(MILLI..50 * MILLI);
            self.after(time, Happening::Persist(life, id, persisting));
        }
        self.receives(life, id, effects.fetch, effects.spool);
        self.tells(life, id, effects.told);
    }

    pub(super) fn answered(
        &mut self,
        life: Life,
        part: Part,
        call: CallId,
        answer: Result<Answer, Unanswered>,
    ) {
        match part {
            Part::Lease => {
                let node = &mut self.nodes[life.node];
                let now = node.drift.now(self.at);
                let process = node.process.as_mut().expect("it runs");
                if self.planted == Planted::CountsFromReceipt {
                    process.lease.forget_when_sent(now);
                }
                if process.lease.answered(call, &answer, now) {
                    self.lease(life);
                    for shard in (0..self.charter.shards).map(ShardId) {
                        self.shard(life, shard, None);
                    }
                }
            }
            Part::Forwarder => unreachable!("it asks the log for nothing"),
            Part::Shard(shard) => self.shard(life, shard, Some(Event::Answered(call, answer))),
        }
    }
}
