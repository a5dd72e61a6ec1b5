use std::{mem, time::Duration};

use race_core::{Moment, Stagger, stagger::Next};
use race_wheel::{Key, Tick};

use super::{CopyEnd, RoundCopy, RoundStep};
use crate::scheduler::{
    ConsumerId,
    timers::{Timer, Timers},
};

/// A race in which each copy is an attempt.
#[derive(Debug)]
pub(super) struct HedgedCopies {
    stagger: Stagger<Duration>,
    /// By index of the attempt.
    copies: Vec<RoundCopy>,
    /// When the next copy is due, if it is due by time.
    next: Option<(Tick, Key)>,
    /// How it has failed so far, if a copy has.
    copy_end: Option<CopyEnd>,
}

impl HedgedCopies {
    /// Begins with a copy for `consumer`. The next one is due after `delay`.
    pub(super) fn begin(consumer: ConsumerId, delay: Duration) -> Self {
        let mut hedged = Self {
            stagger: Stagger::new(delay),
            copies: Vec::with_capacity(2),
            next: None,
            copy_end: None,
        };
        hedged.record_sent(consumer);
        hedged
    }

    /// The copies so far.
    pub(super) fn copies(&self) -> &[RoundCopy] {
        &self.copies
    }

    /// The copy that [`step`](Self::step) asked for is with a consumer.
    pub(super) fn record_sent(&mut self, consumer: ConsumerId) {
        self.stagger.started();
        self.copies.push(RoundCopy {
            consumer,
            is_live: true,
        });
    }

    /// The place of the live copy of a consumer.
    fn live_copy(&self, consumer: ConsumerId) -> Option<usize> {
        let is_it = |copy: &RoundCopy| copy.is_live && copy.consumer == consumer;
        self.copies.iter().position(is_it)
    }

    fn running(&self) -> usize {
        self.copies.iter().filter(|copy| copy.is_live).count()
    }

    /// [`step`](Self::step) asks for no more copies.
    pub(super) fn stop(&mut self) {
        self.stagger.stop();
    }

    /// Cancels the timer of the next copy.
    pub(super) fn end(&self, timers: &mut Timers) {
        if let Some((_, key)) = self.next {
            timers.cancel(key);
        }
    }

    /// A consumer cannot be reached, and its live copy stays in flight: no more copies are sent.
    /// Returns the other copies, and how they have failed if one has. `None` if the consumer has no
    /// live copy, which changes nothing.
    pub(super) fn detach(
        &mut self,
        consumer: ConsumerId,
        timers: &mut Timers,
    ) -> Option<(Vec<RoundCopy>, Option<CopyEnd>)> {
        let place = self.live_copy(consumer)?;
        self.copies.swap_remove(place);
        self.end(timers);
        Some((mem::take(&mut self.copies), self.copy_end.take()))
    }

    /// The copy of a consumer has failed. Returns false if it has no live copy.
    pub(super) fn fail(&mut self, consumer: ConsumerId, copy_end: CopyEnd, now: Tick) -> bool {
        let Some(index) = self.live_copy(consumer) else {
            return false;
        };
        self.copies[index].is_live = false;
        copy_end.merge_into(&mut self.copy_end);
        let running = self.running();
        self.stagger.failed(index, running, || moment(now));
        true
    }

    /// Returns the next step of the round. Arms the timer of the next copy.
    pub(super) fn step(&mut self, seq: u64, now: Tick, timers: &mut Timers) -> RoundStep {
        let running = self.running();
        let at = match self.stagger.next(running, || moment(now)) {
            Next::Start => return RoundStep::Send,
            Next::Until(at) if at <= moment(now) => return RoundStep::Send,
            Next::Until(at) => Tick::new(at.as_nanos()),
            _ if running == 0 => {
                return RoundStep::Failed(self.copy_end.clone().unwrap_or_default());
            }
            _ => return RoundStep::Wait,
        };
        if self.next.is_none_or(|(armed, _)| armed != at) {
            let key = timers.insert(at, Timer::NextCopy(seq));
            if let Some((_, key)) = self.next.replace((at, key)) {
                timers.cancel(key);
            }
        }
        RoundStep::Wait
    }
}

const fn moment(tick: Tick) -> Moment {
    Moment::from_nanos(tick.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEQ: u64 = 7;
    const DELAY: Duration = Duration::from_millis(10);

    fn at(millis: u64) -> Tick {
        Tick::new(millis * 1_000_000)
    }

    /// Three copies, the first at 0 and the others by time.
    fn three_copies(timers: &mut Timers) -> HedgedCopies {
        let mut hedged = HedgedCopies::begin(1, DELAY);
        for (consumer, millis) in [(2, 10), (3, 20)] {
            assert_eq!(hedged.step(SEQ, at(millis - 10), timers), RoundStep::Wait);
            let due: Vec<Timer> = timers.poll_limited(at(millis), 9).collect();
            assert_eq!(due, [Timer::NextCopy(SEQ)]);
            assert_eq!(hedged.step(SEQ, at(millis), timers), RoundStep::Send);
            hedged.record_sent(consumer);
        }
        assert_eq!(hedged.step(SEQ, at(20), timers), RoundStep::Wait);
        hedged
    }

    #[test]
    fn a_detached_consumer_takes_its_copy_and_the_timer_along() {
        let mut timers = Timers::new(1_000_000);
        let mut hedged = three_copies(&mut timers);
        assert!(hedged.fail(2, CopyEnd::unwritten(), at(21)));
        assert!(
            hedged.detach(2, &mut timers).is_none(),
            "its copy has failed"
        );
        assert!(hedged.detach(4, &mut timers).is_none(), "it has had none");
        assert!(!timers.is_empty());
        let (others, copy_end) = hedged.detach(1, &mut timers).unwrap();
        let others: Vec<_> = others.iter().map(|it| (it.consumer, it.is_live)).collect();
        assert_eq!(others, [(3, true), (2, false)]);
        assert_eq!(copy_end, Some(CopyEnd::unwritten()));
        assert!(timers.is_empty());
    }

    #[test]
    fn a_stopped_round_fails_with_its_last_copy() {
        let mut timers = Timers::new(1_000_000);
        let mut hedged = three_copies(&mut timers);
        hedged.stop();
        for consumer in [3, 1] {
            assert!(hedged.fail(consumer, CopyEnd::default(), at(30)));
            assert_eq!(hedged.step(SEQ, at(30), &mut timers), RoundStep::Wait);
        }
        assert!(hedged.fail(2, CopyEnd::unwritten(), at(31)));
        let failed = RoundStep::Failed(CopyEnd::default());
        assert_eq!(hedged.step(SEQ, at(31), &mut timers), failed);
        hedged.end(&mut timers);
        assert!(timers.is_empty());
    }
}
