//! The way between the nodes and the log.

use super::{
    events::{Happening, Life, Part},
    node::LEASE,
    world::{MILLI, World},
};
use crate::{
    ShardId,
    calls::CallId,
    log::{Answer, Appended, Fence, Request, Unanswered},
    shard::Event,
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

    pub(super) fn sends(&mut self, life: Life, part: Part, call: CallId, mut request: Request) {
        self.distort(life, &mut request);
        let times = 1 + u8::from(!self.is_faultless() && self.random.u8(0..50) == 0);
        let times = match self.is_held(life, part, call, &request) {
            true => 0,
            false => times,
        };
        for _ in 0..times {
            if let Some(delay) = self.delay() {
                let request = request.clone();
                self.after(delay, Happening::Request(life, part, call, request));
            }
        }

        let lost = Err(Unanswered("there was no answer in time".into()));
        let time = nanos(LEASE / 4);
        self.after(time, Happening::Answer(life, part, call, lost));
    }

    /// Returns the leadership of a shard.
    fn leads(&self, shard: ShardId) -> Option<u64> {
        let leader = self.log.shard(shard).leader.as_ref();
        leader.map(|leader| leader.epoch)
    }

    pub(super) fn reaches_log(&mut self, life: Life, part: Part, call: CallId, request: &Request) {
        if self.log_is_down_until > self.at || self.cut_until[life.node] > self.at {
            return;
        }
        let before = match request {
            Request::Append { fence, .. } => self.log.last(fence.shard),
            _ => 0,
        };
        let led_before = match request {
            Request::Lead { shard, .. } | Request::Resign(Fence { shard, .. }) => {
                self.leads(*shard)
            }
            _ => None,
        };
        let answer = self.log.carry_out(request);
        if let (Request::Report { shard, .. }, Answer::Reported(true)) = (request, &answer)
            && self.life(life.node) == life
        {
            self.is_noted(life.node, *shard);
        }
        if let Request::Trim { shard, .. } = request {
            if self.log.shard(*shard).journal.is_empty() {
                return self.check(Err(format!("the journal of shard {} is empty", shard.0)));
            }
            self.is_kept(*shard);
        }
        if let Request::Append { fence, seq, entry } = request
            && self.log.last(fence.shard) != before
        {
            assert_eq!(answer, Answer::Appended(Appended::Done));
            let facts = self.facts.appended(fence.shard, entry, self.at);
            self.check(facts);
            self.spread(fence.shard, || Event::Entries(vec![(*seq, entry.clone())]));
        }
        if let Request::Lead { shard, .. } = request
            && let Some(before) = led_before
            && self.leads(*shard) != led_before
        {
            self.facts.is_over(before);
            self.is_taken_over(*shard);
        }
        if let Request::Resign(Fence { shard, epoch, .. }) = request
            && led_before == Some(*epoch)
            && self.leads(*shard).is_none()
        {
            self.facts.is_over(*epoch);
        }
        if let Request::Lead { shard, .. } | Request::Resign(Fence { shard, .. }) = request {
            let leader = self.log.shard(*shard).leader.clone();
            let revision = self.log.revision();
            self.spread(*shard, || Event::Leader(leader.clone(), revision));
        }
        let delay = match self.cuts_off(life, request, &answer) {
            Some(delay) => Some(delay),
            None if self.slow_until[life.node] > self.at => Some(self.random.u64(300..490) * MILLI),
            None => self.delay(),
        };
        if let Some(delay) = delay {
            self.after(delay, Happening::Answer(life, part, call, Ok(answer)));
        }
    }

    /// Tells the nodes news, but not all and not at once.
    pub(super) fn spread(&mut self, shard: ShardId, event: impl Fn() -> Event) {
        for node in 0..self.nodes.len() {
            let event = event();
            let missed = match event {
                Event::Entries(_) => self.options.missed_entries(),
                _ => 1,
            };
            let is_told = self.random.u8(0..10) >= missed && self.cut_until[node] <= self.at;
            if let Some(delay) = self.delay().filter(|_| is_told) {
                let life = self.life(node);
                self.after(delay, Happening::News(life, shard, event));
            }
        }
    }
}
