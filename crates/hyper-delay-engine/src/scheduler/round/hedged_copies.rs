use std::time::Duration;

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
    pub(super) stagger: Stagger<Duration>,
    /// By index of the attempt.
    pub(super) copies: Vec<RoundCopy>,
    /// When the next copy is due, if it is due by time.
    pub(super) next: Option<(Tick, Key)>,
    /// How it has failed so far, if a copy has.
    pub(super) copy_end: Option<CopyEnd>,
}

impl HedgedCopies {
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

    pub(super) fn record_sent(&mut self, consumer: ConsumerId) {
        self.stagger.started();
        self.copies.push(RoundCopy {
            consumer,
            is_live: true,
        });
    }

    fn running(&self) -> usize {
        self.copies.iter().filter(|copy| copy.is_live).count()
    }

    pub(super) fn fail(&mut self, consumer: ConsumerId, copy_end: CopyEnd, now: Tick) -> bool {
        let copy = |copy: &RoundCopy| copy.is_live && copy.consumer == consumer;
        let Some(index) = self.copies.iter().position(copy) else {
            return false;
        };
        self.copies[index].is_live = false;
        copy_end.merge_into(&mut self.copy_end);
        let running = self.running();
        self.stagger.failed(index, running, || moment(now));
        true
    }

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
