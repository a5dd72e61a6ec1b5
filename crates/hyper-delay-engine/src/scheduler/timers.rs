use std::{sync::Arc, time::Duration};

use race_wheel::Wheel;

use super::ConsumerId;

/// All timers of the scheduler.
pub(super) type Timers = Wheel<Timer>;

/// The effect of an expired timer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// A waiting task is due.
    Due(u64),
    /// A round ends, even if copies are unanswered.
    RoundEnd(u64),
    /// The next copy of a hedged round is due.
    NextCopy(u64),
    /// The time to answer a copy that no round waits for is over.
    CopyTimeout(Box<CopyTimeout>),
    /// The deliveries of an earlier leader have ended before their task was loaded.
    InheritedEnd(u64),
    /// A route may send deliveries again. Boxed, as it is rare.
    RateRefilled(Box<Arc<str>>),
}

/// A copy, and its ack timeout. Boxed, as it is rare and would make every timer larger.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CopyTimeout {
    pub(super) consumer: ConsumerId,
    pub(super) seq: u64,
    /// The ack timeout of its round.
    pub(super) ack_timeout: Duration,
}
