//! Takeovers that come as close to the end of a lease as they can.
//!
//! Of some histories. There, clocks run at their permitted limits, and a leader is cut off from the
//! log, but not from the other nodes and the clients, just after a heartbeat of it has reached the
//! log. The answer to that heartbeat is slow, and its followers see the heartbeat at once. Tasks
//! are due about when the leadership is taken over, and clients cancel them at the new leader.

use super::{
    events::{ProcessId, ProcessPart, SimulationEvent},
    world::{MILLI, START, World},
};
use crate::{
    ShardId,
    call_id::CallId,
    log::{LogAnswer, LogRequest},
};

/// The limit of the rate of a clock, in parts in a million: see [`heartbeat`](crate::heartbeat).
const LIMIT: i64 = 66_000;

/// A leader is cut off within this time, or not at all: some of its heartbeats.
const LONGEST: u64 = 1_500 * MILLI;

/// The takeovers of a history.
#[derive(Debug)]
pub(super) struct Takeovers {
    /// Of their own, so that histories without them do not depend on them.
    random: fastrand::Rng,
    are_close: bool,
    /// The leader that is about to be cut off, and since when.
    doomed: Option<(ProcessId, u64)>,
    /// Reads of the journal that reach the log just after its next heartbeat.
    held: Vec<(ProcessId, ProcessPart, CallId, LogRequest)>,
}

impl Takeovers {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x636c_6f73);
        Self {
            are_close: random.u8(0..4) == 0,
            random,
            doomed: None,
            held: Vec::new(),
        }
    }

    /// Returns the rate of a clock that would have `rate` otherwise.
    pub(super) fn rate(&mut self, rate: i64) -> i64 {
        if !self.are_close {
            return rate;
        }
        *self.random.choice(&[-LIMIT, LIMIT]).expect("there are two")
    }
}

impl World {
    /// Chooses a leader that is to be cut off, if another node waits for less time than the others
    /// before it takes over. Otherwise the leader is that node, and hands over.
    pub(super) fn prepare_takeover(&mut self) {
        if !self.takeovers.are_close || self.is_faultless() {
            return;
        }
        let random = &mut self.takeovers.random;
        let pause = random.u64(500..2_500) * MILLI;
        self.after(pause, SimulationEvent::Takeover);
        let random = &mut self.takeovers.random;
        let shard = ShardId(random.u16(0..self.charter.shards));
        let first = usize::from(shard.0) % self.nodes.len();
        let Some(leader) = self.log.shard(shard).leader.clone() else {
            return;
        };
        let leader = self.node_named(&leader.member.node);
        if self.nodes[leader].process.is_none() || self.nodes[first].process.is_none() {
            return;
        }
        if leader == first {
            self.hand_over(leader);
            let life = self.process_id(leader);
            let pause = self.takeovers.random.u64(20..400) * MILLI;
            return self.after(pause, SimulationEvent::End(life));
        }
        self.takeovers.doomed = Some((self.process_id(leader), self.at));
        self.takeovers.held.clear();
        for _ in 0..self.takeovers.random.u8(6..20) {
            let ahead = self.takeovers.random.u64(1_900..3_100);
            self.create_task(shard, ahead);
        }
    }

    /// Returns whether a read of the journal is held back: it shows a follower the last heartbeat
    /// of a leader.
    pub(super) fn is_held(
        &mut self,
        life: ProcessId,
        part: ProcessPart,
        call: CallId,
        request: &LogRequest,
    ) -> bool {
        let is_read = matches!(request, LogRequest::Tail { .. });
        // A leader that does not live until then is not cut off.
        let is_due = |(doomed, since): (ProcessId, u64)| {
            let is_there = self.process_id(doomed.node) == doomed && self.at < since + LONGEST;
            is_there && doomed.node != life.node
        };
        let is_held = is_read && !self.is_calm() && self.takeovers.doomed.is_some_and(is_due);
        if is_held {
            let held = (life, part, call, request.clone());
            self.takeovers.held.push(held);
        }
        is_held
    }

    /// A request has reached the log. Returns how long its answer is on its way, if that is known.
    pub(super) fn cut_off(
        &mut self,
        life: ProcessId,
        request: &LogRequest,
        answer: &LogAnswer,
    ) -> Option<u64> {
        let (doomed, since) = self.takeovers.doomed?;
        let is_heartbeat = matches!(
            (request, answer),
            (LogRequest::KeepAlive { .. }, LogAnswer::Alive(true))
        );
        // The tasks that were scheduled for it are acknowledged first.
        let is_due = (since + 100 * MILLI..since + LONGEST).contains(&self.at);
        if !is_heartbeat || doomed != life || !is_due || self.is_calm() {
            return None;
        }
        self.takeovers.doomed = None;
        let random = &mut self.takeovers.random;
        let time = random.u64(2_500..5_000) * MILLI;
        let delay = match random.bool() {
            true => random.u64(300..490) * MILLI,
            false => random.u64(50_000..5 * MILLI),
        };
        self.cut_until[life.node] = self.at + time;
        for (life, part, call, request) in std::mem::take(&mut self.takeovers.held) {
            let soon = self.takeovers.random.u64(50_000..MILLI);
            self.after(soon, SimulationEvent::Request(life, part, call, request));
        }
        Some(delay)
    }

    /// A leadership was taken over: clients cancel what is due next.
    pub(super) fn leadership_taken_over(&mut self, shard: ShardId) {
        if !self.takeovers.are_close {
            return;
        }
        for _ in 0..8 {
            let pause = self.takeovers.random.u64(20..300) * MILLI;
            self.after(pause, SimulationEvent::Cancels(shard));
        }
    }

    /// A client cancels one of the tasks of a shard that are due next.
    pub(super) fn cancel_next(&mut self, shard: ShardId) {
        let now = START + self.at / MILLI;
        let mut next: Vec<(u64, usize)> = self
            .clients
            .made_of(shard)
            .filter_map(|task| {
                let tracked = &self.checks.tasks[&self.clients.name(task)];
                let is_next = tracked.fire_at > now && tracked.can_be_cancelled();
                is_next.then_some((tracked.fire_at, task))
            })
            .collect();
        next.sort_unstable();
        next.truncate(3);
        let client = self.takeovers.random.usize(0..self.clients.clients.len());
        if let Some((_, task)) = self.takeovers.random.choice(next) {
            self.cancel(client, task);
        }
    }
}
