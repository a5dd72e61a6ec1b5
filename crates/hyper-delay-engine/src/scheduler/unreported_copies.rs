//! Copies of connections that were not reported to this leader, or not yet.
//!
//! A planned hand-over passes on what is in flight. The next leader withholds it: it delivers none
//! of these tasks before their time is over, or their copies are reported and have failed, or the
//! nodes that had the copies say that they are gone. The same holds for the copies of a connection
//! whose node cannot be reached for a while.

use std::time::Duration;

use super::{CommitToken, ConsumerId, GoneCopy, Scheduler, round::Round};
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    /// Revisions were in flight at a hand-over.
    pub(super) fn withhold_deliveries(&mut self, tasks: Vec<(u64, Duration)>) {
        for (seq, left) in tasks {
            let (until, timers) = (self.now.after(left), &mut self.timers);
            match self.tasks.round_mut(seq) {
                Some((_, round)) => round.withhold(seq, until, timers),
                None => self.inherited.withhold(seq, until, timers),
            }
            if self.tasks.is_ready(seq) {
                self.claim_inherited(seq);
            }
        }
    }

    /// The node of a connection cannot be reached: the connection is closed here, and its copies stay
    /// in flight.
    pub(super) fn handle_detached(&mut self, consumer: ConsumerId) {
        let Some(closed) = self.consumers.close(consumer) else {
            return;
        };
        for copy in closed.unanswered {
            if let Some(end) = copy.end {
                self.timers.cancel(end);
            }
            let seq = copy.seq;
            match self.tasks.round_mut(seq) {
                Some((task, round)) => {
                    round.detach(consumer, task.attempt(), &mut self.timers);
                }
                None => self.inherited.detach(seq, consumer, &self.consumers),
            }
        }
        if !self.is_shutting_down {
            self.routes.queue_departure(consumer, closed.routes);
            self.remove_departed();
        }
    }

    /// Returns the copies that a connection has in flight: those that can be answered in time. They
    /// fail if the connection is closed.
    #[must_use]
    pub fn copies_of(&self, consumer: ConsumerId) -> Vec<GoneCopy> {
        let state = self.consumers.get(consumer).into_iter();
        let copies = state.flat_map(|state| state.in_flight());
        let mut copies: Vec<GoneCopy> = copies
            .filter(|copy| {
                let holder = (consumer, copy.attempt);
                copy.end.is_none() || self.inherited.until_of(copy.seq, holder).is_some()
            })
            .map(|copy| GoneCopy {
                seq: copy.seq,
                attempt: copy.attempt,
                has_failed: true,
            })
            .collect();
        copies.sort_unstable();
        copies
    }

    /// No connection has these copies. A task of which none is left, and none has failed, is due.
    pub(super) fn handle_gone_copies(&mut self, copies: &[GoneCopy]) {
        if self.is_shutting_down {
            return;
        }
        for copy in copies {
            let seq = copy.seq;
            let Some((_, round)) = self.tasks.round_mut(seq) else {
                self.inherited.remove_gone_copy(copy);
                continue;
            };
            if round.remove_gone_copy(copy.attempt, copy.has_failed) {
                self.handle_round_copies_gone(seq);
            }
        }
    }

    /// Copies of a round are gone; others may be unreported.
    pub(super) fn handle_round_copies_gone(&mut self, seq: u64) {
        let round = self.tasks.round(seq);
        if round.is_some_and(Round::is_lost) {
            self.lose_round(seq);
        } else {
            self.advance_round(seq);
        }
    }

    /// No connection has, or has reported, a copy of a round, and none has failed: the task is due.
    /// The number of the round is not used again.
    pub(super) fn lose_round(&mut self, seq: u64) {
        let Some((task, round)) = self.tasks.round_mut(seq) else {
            return;
        };
        let number = round
            .previous_round()
            .map_or(0, |after| after.saturating_add(1));
        let is_uncounted = task.use_attempts(number);
        let op = task.count(seq);
        self.tasks.end_round(seq, &mut self.timers);
        if is_uncounted {
            self.submit(op, CommitToken::None);
        }
        self.offer_again(seq);
    }

    /// Returns how long this leader waits for copies of a revision that no connection has reported.
    /// `None`: there are none.
    #[must_use]
    pub fn unreported_for(&self, seq: u64) -> Option<Duration> {
        let until = match self.tasks.round(seq) {
            Some(round) => round.unreported_until(),
            None => self.inherited.get(seq)?.unreported_until(),
        };
        let until = until.filter(|until| *until > self.now.monotonic)?;
        Some(self.now.time_left(until))
    }
}
