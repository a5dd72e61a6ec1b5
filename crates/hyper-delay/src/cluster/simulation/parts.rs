//! What drives the parts of a process.

use super::{
    Planted,
    world::{Happening, Life, MILLI, Part, World},
};
use crate::{
    cluster::{
        ShardId,
        calls::CallId,
        log::{Answer, Fence, Unanswered},
        shard::{Effects, Event, Leadership},
    },
    scheduler::{ConsumerId, Message, Next},
    store::fake::Fake,
};

impl World {
    /// Lets the lease of a process do what is due.
    pub(super) fn lease(&mut self, life: Life) {
        let node = &mut self.nodes[life.node];
        let now = node.drift.now(self.at);
        let process = node.process.as_mut().expect("it runs");
        let calls = &mut process.calls;
        let asked = process.lease.request(|| calls.next(), now);
        let next = process.lease.next().map(|tick| node.drift.reaches(tick));
        if let Some((call, request)) = asked {
            self.sends(life, Part::Lease, call, request);
        }
        self.wakes(life, Part::Lease, next);
    }

    /// Tells a shard of a process what has happened, and the time.
    pub(super) fn shard(&mut self, life: Life, id: ShardId, event: Option<Event>) {
        let node = &mut self.nodes[life.node];
        let now = node.drift.now(self.at);
        let process = node.process.as_mut().expect("it runs");
        let term = process.lease.term();
        let shard = &mut process.shards[usize::from(id.0)];
        if let Some(event) = event {
            shard.handle(event, now, term);
        }
        let next = shard.tick(now, term);
        if let Some(why) = shard.stopped() {
            let why = format!("{} has stopped: {why}", node.member.node);
            return self.check(Err(why));
        }
        let effects = shard.take_effects();
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
        self.carry_out(life, id, effects);
        if let Some(fence) = fence {
            self.facts.leads(fence);
            self.clients_connect(life, id);
        }
        self.wakes(life, Part::Shard(id), next);
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
        let process = self.nodes[life.node].process.as_ref().expect("it runs");
        let Some(fence) = process.shards[usize::from(id.0)].fence() else {
            return;
        };
        // A socket can be slow.
        let pause = match self.random.u8(0..10) {
            0 if !self.is_calm() => self.random.u64(0..400 * MILLI),
            _ => self.random.u64(0..2 * MILLI),
        };
        for (consumer, message) in effects.messages {
            self.after(pause, Happening::Socket(life, fence, consumer, message));
        }
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
                if process.lease.answered(call, &answer, now) {
                    self.lease(life);
                    for shard in (0..self.charter.shards).map(ShardId) {
                        self.shard(life, shard, None);
                    }
                }
            }
            Part::Shard(shard) => self.shard(life, shard, Some(Event::Answered(call, answer))),
        }
    }

    /// A message is written to a socket, if the leadership that it came from still holds.
    pub(super) fn writes(
        &mut self,
        life: Life,
        fence: Fence,
        consumer: ConsumerId,
        message: Message,
    ) {
        let node = &self.nodes[life.node];
        let now = node.drift.now(self.at);
        let process = node.process.as_ref().expect("it runs");
        let shard = &process.shards[usize::from(fence.shard.0)];
        let term = process.lease.term().filter(|term| term.holds(now));
        let leads = shard.fence() == Some(fence) && term.is_some();
        if !leads && self.planted != Planted::NoLeaseAtTheSocket {
            return;
        }
        self.received(life, fence.shard, consumer, message);
    }
}
