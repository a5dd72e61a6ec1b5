//! A planned end of a leadership passes on what is in flight.
//!
//! The last entry of the leadership says which copies the serving nodes have. The next leader
//! delivers none of these tasks until their node has reported what it still has, or their time is
//! over. So a node that reaches the new leader late does no harm.

mod record;

use race_wheel::Tick;

use super::Shard;
use crate::first_seq;
use hyper_delay_engine::{clock::Now, scheduler::SchedulerInput};
use hyper_delay_store::{Store, StoreError};
use record::HandOverRecord;
#[cfg(test)]
pub(crate) use record::handed_over_copies;
pub(super) use record::{HandOverInFlight, copy_of_earlier_leader};

/// How far the planned end of a leadership is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandOver {
    /// No end is planned.
    #[default]
    NotPlanned,
    /// Nothing more is taken, only outcomes of deliveries until then.
    Ending {
        /// When outcomes are not taken any more.
        answers_until: Tick,
    },
    /// The next leader knows what is in flight, once the entry on its way is in the journal.
    PassedOn,
}

impl HandOver {
    /// Takes only outcomes of deliveries from now on, until `answers_until`.
    pub(super) const fn begin(&mut self, answers_until: Tick) {
        match self {
            Self::NotPlanned | Self::Ending { .. } => *self = Self::Ending { answers_until },
            Self::PassedOn => {}
        }
    }

    /// Passes on what is in flight. Returns `false` if that is not due, or was done.
    pub(super) const fn pass_on(&mut self) -> bool {
        match self {
            Self::Ending { .. } => {
                *self = Self::PassedOn;
                true
            }
            Self::NotPlanned | Self::PassedOn => false,
        }
    }

    /// Returns whether the end of the leadership is planned.
    pub(super) const fn is_begun(self) -> bool {
        !matches!(self, Self::NotPlanned)
    }

    /// Returns whether what is in flight was passed on.
    pub(super) const fn is_passed_on(self) -> bool {
        matches!(self, Self::PassedOn)
    }

    /// Returns whether what becomes of deliveries still counts.
    pub(super) fn accepts_answers(self, now: Now) -> bool {
        match self {
            Self::NotPlanned => true,
            Self::Ending { answers_until } => now.monotonic < answers_until,
            Self::PassedOn => false,
        }
    }

    /// Returns whether an input from outside still counts.
    pub(super) fn accepts(self, input: &SchedulerInput, now: Now) -> bool {
        self.accepts_answers(now) && (!self.is_begun() || is_delivery_outcome(input))
    }
}

/// Returns whether an input is the outcome of a delivery.
const fn is_delivery_outcome(input: &SchedulerInput) -> bool {
    matches!(
        input,
        SchedulerInput::Acked(..)
            | SchedulerInput::Nacked(..)
            | SchedulerInput::NotSent(..)
            | SchedulerInput::Closed(_)
    )
}

impl<S: Store> Shard<S> {
    /// The leadership is about to end, and everything that was taken is in the journal: the last
    /// entry says what is in flight, if anything is.
    pub(super) fn append_hand_over(&mut self, now: Now) {
        let Some(leading) = &mut self.leading else {
            return;
        };
        if !leading.pass_on() {
            return;
        }
        let copies = leading.in_flight(&self.serving_nodes);
        if copies.is_empty() {
            return;
        }
        let (entry, first) = (self.applied() + 1, first_seq(self.setup.shard));
        let handed_over = HandOverRecord::new(entry, first, copies);
        self.begin_append(handed_over.into_change(), Vec::new(), now);
        self.write_next(now);
    }

    /// Withholds what the leadership before has passed on.
    pub(super) fn withhold(&mut self, now: Now) -> Result<(), StoreError> {
        let store = &**self.replica.store();
        let Some(handed_over) = HandOverRecord::read(store, self.applied())? else {
            return Ok(());
        };
        let mut withheld = Vec::new();
        for (node, copy, left) in handed_over.into_copies(first_seq(self.setup.shard)) {
            self.serving_nodes.await_report(&node, copy);
            withheld.push((copy.seq, left));
        }
        self.input(SchedulerInput::Withheld(withheld), now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::at, *};

    const UNTIL: Tick = Tick::new(50);

    #[test]
    fn a_planned_end_takes_outcomes_of_deliveries_until_its_time_is_over() {
        let (outcome, opened) = (SchedulerInput::Closed(1), SchedulerInput::Opened(1));
        let mut hand_over = HandOver::default();
        assert!(hand_over.accepts(&opened, at(90)));
        hand_over.begin(UNTIL);
        assert!(hand_over.accepts(&outcome, at(49)));
        assert!(!hand_over.accepts(&opened, at(49)));
        assert!(!hand_over.accepts(&outcome, at(50)));
    }

    #[test]
    fn what_is_in_flight_is_passed_on_once() {
        let mut hand_over = HandOver::default();
        assert!(!hand_over.pass_on(), "no end is planned");
        hand_over.begin(UNTIL);
        assert!(!hand_over.is_passed_on());
        assert!(hand_over.pass_on());
        assert!(!hand_over.pass_on());
        hand_over.begin(Tick::new(90));
        assert!(hand_over.is_passed_on(), "a second request to end");
        assert!(!hand_over.accepts_answers(at(49)));
    }
}
