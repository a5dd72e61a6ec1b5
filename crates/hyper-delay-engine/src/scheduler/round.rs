use std::time::Duration;

use race_wheel::{Key, Tick};

mod copy_end;
mod ended_round;
mod hedged_copies;
mod inherited_copies;

pub(super) use copy_end::{CopyEnd, CopyEndKind};
pub(super) use ended_round::EndedRound;

use super::{
    ConsumerId,
    inherited_deliveries::InheritedTask,
    timers::{Timer, Timers},
    write_deadline::write_by,
};
use crate::clock;
use hedged_copies::HedgedCopies;
use inherited_copies::InheritedCopies;

/// After a stall of the server, what has come meanwhile is read in this time.
const MOMENT: Duration = Duration::from_secs(1);

/// One try to get a task done: a copy of it with one consumer, or with several if its route is
/// hedged.
///
/// A round has one timer of its own, at its end, which only the end of the round cancels.
#[derive(Debug)]
pub(super) struct Round {
    begun: Tick,
    /// The time to answer, which a consumer can extend.
    ack_timeout: Duration,
    until: Tick,
    end: Key,
    /// By how much stalls have moved its end.
    moved: Option<Duration>,
    copies: RoundCopies,
}

#[derive(Debug)]
enum RoundCopies {
    One(ConsumerId),
    /// The only copy has failed.
    Failed(CopyEnd),
    Hedged(Box<HedgedCopies>),
    /// An earlier leader has sent them, or this one has and the node of a consumer cannot be
    /// reached.
    Inherited(Box<InheritedCopies>),
}

/// A copy of a round that can have several.
#[derive(Debug)]
struct RoundCopy {
    consumer: ConsumerId,
    is_live: bool,
}

/// The next step of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RoundStep {
    /// Another copy, to a consumer that has not had one.
    Send,
    /// Nothing, until an answer comes or one of its timers expires.
    Wait,
    /// It has failed so: every copy has, and there are no more.
    Failed(CopyEnd),
}

/// What is left of a round whose copy was never sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VoidedCopy {
    /// The consumer has no live copy of the round.
    Unknown,
    /// Connections may have copies that this leader does not know of.
    OthersUnknown,
    /// Other copies are in flight.
    OthersStay,
    /// It was the only copy in flight: the round is over without a failure.
    Only,
}

impl Round {
    /// Begins a round at `begun` with a copy for `consumer`, which lasts for the ack timeout. With
    /// `hedge`, the next copy is due that much later.
    pub(super) fn begin(
        seq: u64,
        consumer: ConsumerId,
        (begun, ack_timeout): (Tick, Duration),
        hedge: Option<Duration>,
        timers: &mut Timers,
    ) -> Self {
        let until = begun + clock::nanos(ack_timeout);
        Self {
            begun,
            ack_timeout,
            until,
            end: timers.insert(until, Timer::RoundEnd(seq)),
            moved: None,
            copies: match hedge {
                None => RoundCopies::One(consumer),
                Some(delay) => RoundCopies::Hedged(Box::new(HedgedCopies::begin(consumer, delay))),
            },
        }
    }

    /// The round after the one with the number `after`, of which an earlier leader has sent the
    /// copies; those with `live` are unanswered. It ends with the last of them.
    pub(super) fn inherited(
        seq: u64,
        inherited: &InheritedTask,
        live: Vec<ConsumerId>,
        after: u32,
        ack_timeout: Duration,
        timers: &mut Timers,
    ) -> Self {
        let until = inherited.until();
        let copies = InheritedCopies::new(inherited, live, after);
        Self {
            // As far as it is known here.
            begun: Tick::new(until.value().saturating_sub(clock::nanos(ack_timeout))),
            ack_timeout,
            until,
            end: timers.insert(until, Timer::RoundEnd(seq)),
            moved: None,
            copies: RoundCopies::Inherited(Box::new(copies)),
        }
    }

    /// When the round began.
    pub(super) const fn begun_at(&self) -> Tick {
        self.begun
    }

    /// The time to answer that the round began with.
    pub(super) const fn ack_timeout(&self) -> Duration {
        self.ack_timeout
    }

    /// When the round ends, if nothing ends it before.
    pub(super) const fn until(&self) -> Tick {
        self.until
    }

    /// The moment from which on no copy of it is written that is not yet.
    pub(super) fn write_by(&self) -> Tick {
        write_by(self.until, self.ack_timeout)
    }

    /// The consumers with a live copy: one without a nack, whose connection is open.
    pub(super) fn holders(&self) -> impl Iterator<Item = ConsumerId> {
        let (one, several) = match &self.copies {
            RoundCopies::One(consumer) => (Some(*consumer), &[][..]),
            RoundCopies::Failed(_) => (None, &[][..]),
            RoundCopies::Hedged(hedged) => (None, hedged.copies()),
            RoundCopies::Inherited(inherited) => (None, inherited.copies()),
        };
        let live = several.iter().filter(|copy| copy.is_live);
        one.into_iter().chain(live.map(|copy| copy.consumer))
    }

    /// The consumers that have received copies, if there can be several.
    pub(super) fn contacted(&self) -> impl Iterator<Item = ConsumerId> {
        let copies = match &self.copies {
            RoundCopies::One(_) | RoundCopies::Failed(_) => &[],
            RoundCopies::Hedged(hedged) => hedged.copies(),
            RoundCopies::Inherited(inherited) => inherited.copies(),
        };
        copies.iter().map(|copy| copy.consumer)
    }

    /// Whether the consumer has received a copy in this round.
    pub(super) fn has_contacted(&self, consumer: ConsumerId) -> bool {
        match &self.copies {
            RoundCopies::One(one) => *one == consumer,
            RoundCopies::Failed(_) => false,
            RoundCopies::Hedged(hedged) => {
                let mut copies = hedged.copies().iter();
                copies.any(|copy| copy.consumer == consumer)
            }
            RoundCopies::Inherited(inherited) => {
                let mut copies = inherited.copies().iter();
                copies.any(|copy| copy.consumer == consumer)
            }
        }
    }

    /// The copy of a consumer has failed. Returns false if it has no live copy.
    pub(super) fn fail(&mut self, consumer: ConsumerId, copy_end: CopyEnd, now: Tick) -> bool {
        match &mut self.copies {
            RoundCopies::One(one) if *one == consumer => {
                self.copies = RoundCopies::Failed(copy_end);
                true
            }
            RoundCopies::One(_) | RoundCopies::Failed(_) => false,
            RoundCopies::Hedged(hedged) => hedged.fail(consumer, copy_end, now),
            RoundCopies::Inherited(inherited) => inherited.fail(consumer, copy_end),
        }
    }

    /// Returns the next step of the round. Arms the timer of the next copy.
    pub(super) fn step(&mut self, seq: u64, now: Tick, timers: &mut Timers) -> RoundStep {
        match &mut self.copies {
            RoundCopies::One(_) => RoundStep::Wait,
            RoundCopies::Failed(copy_end) => RoundStep::Failed(copy_end.clone()),
            RoundCopies::Hedged(hedged) => hedged.step(seq, now, timers),
            RoundCopies::Inherited(inherited) => inherited
                .failure()
                .map_or(RoundStep::Wait, RoundStep::Failed),
        }
    }

    /// A connection has a copy with the number `attempt`, which an earlier leader has sent and which
    /// ends at `until`. Returns whether it is of this round, which then ends no earlier.
    pub(super) fn adopt(
        &mut self,
        seq: u64,
        (consumer, attempt): (ConsumerId, u32),
        until: Tick,
        timers: &mut Timers,
    ) -> bool {
        let is_of_round = match &mut self.copies {
            RoundCopies::Inherited(inherited) => inherited.adopt(consumer, attempt),
            RoundCopies::One(_) | RoundCopies::Failed(_) | RoundCopies::Hedged(_) => false,
        };
        if is_of_round {
            self.extend(seq, until, timers);
        }
        is_of_round
    }

    /// A copy that an earlier leader has sent was in flight at a hand-over, and ends at `until`. It is
    /// of this round if an earlier leader can have begun it.
    pub(super) fn withhold(&mut self, seq: u64, until: Tick, timers: &mut Timers) {
        if let RoundCopies::Inherited(inherited) = &mut self.copies {
            inherited.withhold();
            self.extend(seq, until, timers);
        }
    }

    /// A consumer of the round with the number `attempt` cannot be reached. Its live copy stays in
    /// flight, and no more copies are sent.
    pub(super) fn detach(&mut self, consumer: ConsumerId, attempt: u32, timers: &mut Timers) {
        let after = attempt.saturating_sub(1);
        let unreported = match &mut self.copies {
            RoundCopies::One(one) if *one == consumer => {
                InheritedCopies::own(after, Vec::new(), None)
            }
            RoundCopies::One(_) | RoundCopies::Failed(_) => return,
            RoundCopies::Inherited(inherited) => return inherited.detach(consumer),
            RoundCopies::Hedged(hedged) => {
                let Some((others, copy_end)) = hedged.detach(consumer, timers) else {
                    return;
                };
                InheritedCopies::own(after, others, copy_end)
            }
        };
        self.copies = RoundCopies::Inherited(Box::new(unreported));
    }

    /// A copy with that number that no connection has reported is gone. Returns whether it is of
    /// this round.
    pub(super) fn remove_gone_copy(&mut self, attempt: u32, has_failed: bool) -> bool {
        match &mut self.copies {
            RoundCopies::Inherited(inherited) => inherited.remove_gone_copy(attempt, has_failed),
            RoundCopies::One(_) | RoundCopies::Failed(_) | RoundCopies::Hedged(_) => false,
        }
    }

    /// The copy of a consumer was never sent.
    pub(super) fn void_copy(&mut self, consumer: ConsumerId, now: Tick) -> VoidedCopy {
        if !self.holders().any(|holder| holder == consumer) {
            return VoidedCopy::Unknown;
        }
        if let RoundCopies::Inherited(inherited) = &mut self.copies {
            inherited.void_copy(consumer);
            return VoidedCopy::OthersUnknown;
        }
        if self.holders().all(|holder| holder == consumer) {
            return VoidedCopy::Only;
        }
        self.fail(consumer, CopyEnd::void(), now);
        VoidedCopy::OthersStay
    }

    /// Whether connections had copies that this leader did not know of, all copies are gone, and none
    /// has failed.
    pub(super) fn is_lost(&self) -> bool {
        matches!(&self.copies, RoundCopies::Inherited(inherited) if inherited.is_lost())
    }

    /// Whether an earlier leader began the round and no connection has reported a copy of it.
    pub(super) fn is_unreported(&self) -> bool {
        matches!(&self.copies, RoundCopies::Inherited(inherited) if inherited.is_unreported())
    }

    /// How many copies of it no connection has reported.
    pub(super) fn missing(&self) -> u32 {
        match &self.copies {
            RoundCopies::Inherited(inherited) => inherited.missing(),
            RoundCopies::One(_) | RoundCopies::Failed(_) | RoundCopies::Hedged(_) => 0,
        }
    }

    /// When the round ends if no connection reports the copies that are missing. `None`: there are
    /// none.
    pub(super) fn unreported_until(&self) -> Option<Tick> {
        (self.missing() > 0).then_some(self.until)
    }

    /// Extends the round until a later moment.
    pub(super) fn extend(&mut self, seq: u64, until: Tick, timers: &mut Timers) {
        if until > self.until {
            timers.cancel(self.end);
            self.until = until;
            self.end = timers.insert(until, Timer::RoundEnd(seq));
        }
    }

    /// The server stood still, and was late by that much: the round ends as much later, by one ack
    /// timeout at most. After its first stall it lasts for a moment at least, so that answers are read
    /// that have come meanwhile.
    pub(super) fn extend_after_stall(
        &mut self,
        seq: u64,
        late: Duration,
        now: Tick,
        timers: &mut Timers,
    ) {
        let moved = self.moved.unwrap_or_default();
        let more = late.min(self.ack_timeout.saturating_sub(moved));
        let mut until = self.until + clock::nanos(more);
        if self.moved.is_none() {
            until = until.max(now + clock::nanos(MOMENT.min(self.ack_timeout)));
        }
        self.moved = Some(moved + Duration::from_nanos(until.since(self.until)));
        self.extend(seq, until, timers);
    }

    /// The copy that [`step`](Self::step) asked for is with a consumer.
    pub(super) fn record_sent(&mut self, consumer: ConsumerId) {
        if let RoundCopies::Hedged(hedged) = &mut self.copies {
            hedged.record_sent(consumer);
        }
    }

    /// Ends the copies of the round: [`step`](Self::step) asks for none any more.
    pub(super) fn stop_sending(&mut self) {
        if let RoundCopies::Hedged(hedged) = &mut self.copies {
            hedged.stop();
        }
    }

    /// Cancels the timers of a round that is over.
    pub(super) fn end(self, timers: &mut Timers) -> EndedRound {
        timers.cancel(self.end);
        if let RoundCopies::Hedged(hedged) = &self.copies {
            hedged.end(timers);
        }
        EndedRound::new(self)
    }

    /// The number of the round before, if connections may have copies that this leader does not know
    /// of.
    pub(super) fn previous_round(&self) -> Option<u32> {
        match &self.copies {
            RoundCopies::Inherited(inherited) => Some(inherited.previous_round()),
            RoundCopies::One(_) | RoundCopies::Failed(_) | RoundCopies::Hedged(_) => None,
        }
    }

    /// Whether the timer at the end is armed.
    #[cfg(test)]
    pub(super) fn has_timer(&self, timers: &Timers) -> bool {
        timers.get(self.end).is_some()
    }
}

#[cfg(test)]
mod tests;
