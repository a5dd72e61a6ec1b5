use std::time::Duration;

use race_wheel::Tick;

use super::Round;
use crate::scheduler::ConsumerId;

/// A round whose timers are gone; its copies are still with their consumers.
#[derive(Debug)]
pub(in crate::scheduler) struct EndedRound(Round);

impl EndedRound {
    pub(super) const fn new(round: Round) -> Self {
        Self(round)
    }

    pub(in crate::scheduler) fn until(&self) -> Tick {
        self.0.until()
    }

    pub(in crate::scheduler) const fn ack_timeout(&self) -> Duration {
        self.0.ack_timeout()
    }

    pub(in crate::scheduler) fn holders(&self) -> impl Iterator<Item = ConsumerId> {
        self.0.holders()
    }
}
