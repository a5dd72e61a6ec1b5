use std::time::Duration;

use race_core::{Moment, Stagger, stagger::Next};
use race_wheel::{Key, Tick};

use super::{CopyWith, GivenBack, Step};
use crate::scheduler::{
    ConsumerId,
    timers::{Timer, Timers},
};

/// A race in which each copy is an attempt.
#[derive(Debug)]
pub(super) struct Hedged {
    pub(super) stagger: Stagger<Duration>,
    /// By index of the attempt.
    pub(super) copies: Vec<CopyWith>,
    /// When the next copy is due, if it is due by time.
    pub(super) next: Option<(Tick, Key)>,
    /// How it has failed so far, if a copy has.
    pub(super) given_back: Option<GivenBack>,
}

impl Hedged {
    pub(super) fn begin(consumer: ConsumerId, delay: Duration) -> Self {
        let mut hedged = Self {
            stagger: Stagger::new(delay),
            copies: Vec::with_capacity(2),
            next: None,
            given_back: None,
        };
        hedged.sent(consumer);
        hedged
    }

    pub(super) fn sent(&mut self, consumer: ConsumerId) {
        self.stagger.started();
        self.copies.push(CopyWith {
            consumer,
            is_live: true,
        });
    }

    fn running(&self) -> usize {
        self.copies.iter().filter(|copy| copy.is_live).count()
    }

    pub(super) fn fail(&mut self, consumer: ConsumerId, given_back: GivenBack, now: Tick) -> bool {
        let copy = |copy: &CopyWith| copy.is_live && copy.consumer == consumer;
        let Some(index) = self.copies.iter().position(copy) else {
            return false;
        };
        self.copies[index].is_live = false;
        given_back.join(&mut self.given_back);
        let running = self.running();
        self.stagger.failed(index, running, || moment(now));
        true
    }

    pub(super) fn step(&mut self, seq: u64, now: Tick, timers: &mut Timers) -> Step {
        let running = self.running();
        let at = match self.stagger.next(running, || moment(now)) {
            Next::Start => return Step::Send,
            Next::Until(at) if at <= moment(now) => return Step::Send,
            Next::Until(at) => Tick::new(at.as_nanos()),
            _ if running == 0 => {
                return Step::Failed(self.given_back.clone().unwrap_or_default());
            }
            _ => return Step::Wait,
        };
        if self.next.is_none_or(|(armed, _)| armed != at) {
            let key = timers.insert(at, Timer::NextCopy(seq));
            if let Some((_, key)) = self.next.replace((at, key)) {
                timers.cancel(key);
            }
        }
        Step::Wait
    }
}

const fn moment(tick: Tick) -> Moment {
    Moment::from_nanos(tick.value())
}
