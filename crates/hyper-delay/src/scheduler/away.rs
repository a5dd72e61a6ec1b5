//! Copies that connections have and that this leader has not been told of, or not yet.
//!
//! A planned hand-over passes on what is in flight. The next leader withholds it: it delivers none
//! of these tasks before their time is over, or their copies are reported and have failed, or the
//! nodes that had the copies say that they are gone.

use std::time::Duration;

use super::{GoneCopy, Scheduler, Token};
use crate::{ledger::Op, store::Store};

impl<S: Store> Scheduler<S> {
    /// Revisions were in flight at a hand-over.
    pub(super) fn withheld(&mut self, tasks: Vec<(u64, Duration)>) {
        for (seq, left) in tasks {
            let until = self.now.after(left);
            match self.tasks.round_mut(seq) {
                Some((_, round)) => {
                    if round.withhold() {
                        round.extend(seq, until, &mut self.timers);
                    }
                }
                None => {
                    let timers = &mut self.timers;
                    self.remote.inherited.withhold(seq, until, timers);
                }
            }
            if self.tasks.is_ready(seq) {
                self.claim(seq);
            }
        }
    }

    /// No connection has these copies. A task of which none is left is due; the round that was in
    /// flight counts, and has not failed.
    pub(super) fn gone(&mut self, copies: &[GoneCopy]) {
        for copy in copies {
            let GoneCopy { seq, attempt } = *copy;
            let Some((_, round)) = self.tasks.round_mut(seq) else {
                self.remote.inherited.gone(seq);
                continue;
            };
            if !round.gone(attempt) {
                continue;
            }
            if round.is_lost() {
                self.withheld_ended(seq);
            } else {
                self.advance_round(seq);
            }
        }
    }

    /// The time has passed for which a task was withheld, and no connection has reported a copy:
    /// the task is due. The round that was in flight counts, and has not failed.
    pub(super) fn withheld_ended(&mut self, seq: u64) {
        self.tasks.end_round(seq, &mut self.timers);
        let Some(task) = self.tasks.get_mut(seq) else {
            return;
        };
        task.attempt = task.attempt.saturating_add(1);
        let op = Op::Count {
            subject: task.subject(seq),
            attempt: task.attempt,
        };
        self.submit(op, Token::None);
        self.offer(seq);
    }

    /// Returns for how long copies of a revision are waited for that no connection has reported.
    /// `None`: there are none.
    pub(crate) fn waited_for(&self, seq: u64) -> Option<Duration> {
        let (missing, until) = match self.tasks.round(seq) {
            Some(round) => (round.missing(), round.until()),
            None => {
                let legacy = self.remote.inherited.get(seq)?;
                (legacy.missing(0, 0), legacy.until())
            }
        };
        (missing > 0 && until > self.now.monotonic).then(|| self.left(until))
    }
}
