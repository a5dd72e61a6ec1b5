//! The way between the nodes and the log.

use super::{
    events::{ProcessId, ProcessPart, SimulationEvent},
    node::LEASE,
    world::{MILLI, World},
};
use crate::{
    ShardId,
    call_id::CallId,
    log::{AppendOutcome, Fence, LogAnswer, LogRequest, LogUnanswered},
    shard::ShardEvent,
};
use hyper_delay_engine::clock::nanos;

impl World {
    /// Returns how long something is on its way. `None`: it is lost.
    pub(super) fn delay(&mut self) -> Option<u64> {
        let usual = self.random.u64(50_000..5 * MILLI);
        if self.is_faultless() {
            return Some(usual);
        }
        match self.random.u8(0..100) {
            0..2 => None,
            2..7 => Some(self.random.u64(5 * MILLI..5_000 * MILLI)),
            _ => Some(usual),
        }
    }

    pub(super) fn send_request(
        &mut self,
        life: ProcessId,
        part: ProcessPart,
        call: CallId,
        mut request: LogRequest,
    ) {
        self.alter_request(life, &mut request);
        let times = 1 + u8::from(!self.is_faultless() && self.random.u8(0..50) == 0);
        let times = match self.is_held(life, part, call, &request) {
            true => 0,
            false => times,
        };
        for _ in 0..times {
            if let Some(delay) = self.delay() {
                let request = request.clone();
                self.after(delay, SimulationEvent::Request(life, part, call, request));
            }
        }

        let lost = Err(LogUnanswered("there was no answer in time".into()));
        let time = nanos(LEASE / 4);
        self.after(time, SimulationEvent::Answer(life, part, call, lost));
    }

    /// Returns the leadership of a shard.
    fn leader_epoch(&self, shard: ShardId) -> Option<u64> {
        let leader = self.log.shard(shard).leader.as_ref();
        leader.map(|leader| leader.epoch)
    }

    pub(super) fn deliver_to_log(
        &mut self,
        life: ProcessId,
        part: ProcessPart,
        call: CallId,
        request: &LogRequest,
    ) {
        if self.log_is_down_until > self.at || self.cut_until[life.node] > self.at {
            return;
        }
        let before = match request {
            LogRequest::Append { fence, .. } => self.log.last(fence.shard),
            _ => 0,
        };
        let led_before = match request {
            LogRequest::Lead { shard, .. } | LogRequest::Resign(Fence { shard, .. }) => {
                self.leader_epoch(*shard)
            }
            _ => None,
        };
        let answer = self.log.carry_out(request);
        if let (LogRequest::Report { shard, .. }, LogAnswer::Reported(true)) = (request, &answer)
            && self.process_id(life.node) == life
        {
            self.check_report(life.node, *shard);
        }
        if let LogRequest::Trim { shard, .. } = request {
            if self.log.shard(*shard).journal.is_empty() {
                return self.check(Err(format!("the journal of shard {} is empty", shard.0)));
            }
            self.check_trim(*shard);
        }
        if let LogRequest::Append { fence, seq, entry } = request
            && self.log.last(fence.shard) != before
        {
            assert_eq!(answer, LogAnswer::Appended(AppendOutcome::Done));
            let facts = self.checks.appended(fence.shard, entry, self.at);
            self.check(facts);
            self.spread(fence.shard, || {
                ShardEvent::Entries(vec![(*seq, entry.clone())])
            });
        }
        if let LogRequest::Lead { shard, .. } = request
            && let Some(before) = led_before
            && self.leader_epoch(*shard) != led_before
        {
            self.checks.leadership_ended(before);
            self.leadership_taken_over(*shard);
        }
        if let LogRequest::Resign(Fence { shard, epoch, .. }) = request
            && led_before == Some(*epoch)
            && self.leader_epoch(*shard).is_none()
        {
            self.checks.leadership_ended(*epoch);
        }
        if let LogRequest::Lead { shard, .. } | LogRequest::Resign(Fence { shard, .. }) = request {
            let leader = self.log.shard(*shard).leader.clone();
            let revision = self.log.revision();
            self.spread(*shard, || ShardEvent::Leader(leader.clone(), revision));
        }
        let delay = match self.cut_off(life, request, &answer) {
            Some(delay) => Some(delay),
            None if self.slow_until[life.node] > self.at => Some(self.random.u64(300..490) * MILLI),
            None => self.delay(),
        };
        if let Some(delay) = delay {
            self.after(delay, SimulationEvent::Answer(life, part, call, Ok(answer)));
        }
    }

    /// Tells the nodes news, but not all and not at once.
    pub(super) fn spread(&mut self, shard: ShardId, event: impl Fn() -> ShardEvent) {
        for node in 0..self.nodes.len() {
            let event = event();
            let missed = match event {
                ShardEvent::Entries(_) => self.options.missed_entries(),
                _ => 1,
            };
            let is_told = self.random.u8(0..10) >= missed && self.cut_until[node] <= self.at;
            if let Some(delay) = self.delay().filter(|_| is_told) {
                let life = self.process_id(node);
                self.after(delay, SimulationEvent::Shard(life, shard, event));
            }
        }
    }
}
