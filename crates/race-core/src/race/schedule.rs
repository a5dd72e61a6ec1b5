use core::{fmt, time::Duration};

use super::{
    supply::Supply,
    timeouts::{Expiries, Timeouts},
};
use crate::{
    Hook, Moment, Policy, Stagger, Timer,
    observe::Refusal,
    source::{Source, SourceTypes},
};

/// A race without its running attempts: what may start, and when.
pub(crate) struct Schedule<S: SourceTypes, T, P, H, Q: 'static> {
    pub(super) supply: Supply<S>,
    /// The race has reported its end.
    pub(super) ended: bool,
    /// What refused the latest start.
    pub(super) refused: Option<Refusal>,
    /// How many attempts have to be accepted.
    pub(super) needed: usize,
    pub(super) stagger: Stagger<P>,
    pub(super) timer: T,
    /// The moment for which the timer was last pending; `NEVER` if it is not armed.
    pub(super) armed: Moment,
    /// The start of the first attempt; `None` until the clock was read.
    pub(super) began: Option<Moment>,
    pub(super) timeouts: Timeouts<Q>,
    /// The last poll found that only a finished attempt or the timer can change anything. Cleared
    /// when a poll begins and when an option changes, so a poll that panics leaves it cleared.
    pub(super) settled: bool,
    /// A poll has begun. After a panic in it, it stays so until the next poll.
    pub(super) in_poll: bool,
    /// The attempts have handles, and one has started.
    pub(super) has_handles: bool,
    pub(super) hooks: H,
}

impl<S: SourceTypes, T, P: Policy, H, Q: Expiries> Schedule<S, T, P, H, Q> {
    pub(super) fn new(timer: T, policy: P, hooks: H, source: S) -> Self {
        Self {
            supply: Supply::new(source),
            ended: false,
            refused: None,
            needed: 1,
            stagger: Stagger::new(policy),
            timer,
            armed: Moment::NEVER,
            began: None,
            timeouts: Timeouts::new(),
            settled: false,
            in_poll: false,
            has_handles: false,
            hooks,
        }
    }
}

impl<S: SourceTypes, T, P, H, Q: 'static> Schedule<S, T, P, H, Q> {
    /// Whether a candidate is drawn even while no attempt may start. A quorum fails as soon as too
    /// few candidates are left, but with an inexact `size_hint` only drawing finds the end of the
    /// source.
    #[inline]
    pub(super) fn draws_ahead(&self) -> bool {
        cfg!(feature = "alloc") && self.needed > 1 // there are no quorums without an allocator
    }

    /// Replaces the source with one of the same candidates.
    #[cfg(feature = "tracing")]
    pub(super) fn map_source<S2: SourceTypes<Candidate = S::Candidate>>(
        self,
        source: impl FnOnce(S) -> S2,
    ) -> Schedule<S2, T, P, H, Q> {
        Schedule {
            supply: self.supply.map(source),
            ended: self.ended,
            refused: self.refused,
            needed: self.needed,
            stagger: self.stagger,
            timer: self.timer,
            armed: self.armed,
            began: self.began,
            timeouts: self.timeouts,
            settled: false,
            in_poll: self.in_poll,
            has_handles: self.has_handles,
            hooks: self.hooks,
        }
    }

    /// Replaces the policy and the hooks.
    pub(super) fn map<P2, H2>(
        self,
        policy: impl FnOnce(P) -> P2,
        hooks: impl FnOnce(H) -> H2,
    ) -> Schedule<S, T, P2, H2, Q>
    where
        P: Policy,
    {
        Schedule {
            supply: self.supply,
            ended: self.ended,
            refused: self.refused,
            needed: self.needed,
            stagger: self.stagger.map_policy(policy),
            timer: self.timer,
            armed: self.armed,
            began: self.began,
            timeouts: self.timeouts,
            settled: false,
            in_poll: self.in_poll,
            has_handles: self.has_handles,
            hooks: hooks(self.hooks),
        }
    }
}

impl<S: Source, T, P: Policy, H, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Returns bounds on how many attempts will still finish. A policy may start none of the
    /// candidates, so at most the running attempts are certain.
    pub(crate) fn size_hint(&self, running: usize) -> (usize, Option<usize>) {
        let starts = match (self.supply.at_most(), self.remaining()) {
            (None, usize::MAX) => None,
            (candidates, remaining) => {
                Some(candidates.map_or(remaining, |candidates| candidates.min(remaining)))
            }
        };
        let certain = match self.timeouts.are_set() || self.has_handles {
            true => 0, // a timeout, the deadline or a commit may end them
            false => running,
        };
        let most = starts.and_then(|starts| starts.checked_add(running));
        (certain, most)
    }

    /// Returns how many more attempts may start at most, whatever candidates there are.
    fn remaining(&self) -> usize {
        match self.stagger.earliest() {
            Moment::ZERO => self.stagger.remaining(),
            earliest if earliest < self.timeouts.deadline() => self.stagger.remaining(),
            _ => 0,
        }
    }

    /// Returns whether there may be candidates that have not started.
    pub(super) fn has_candidates_left(&self) -> bool {
        self.supply.at_most() != Some(0)
    }

    /// Returns what kept further attempts from starting, if there may be candidates left.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refused.or_else(|| {
            let (remaining, earliest) = (self.stagger.remaining(), self.stagger.earliest());
            let too_few =
                remaining != usize::MAX && self.stagger.starts() + remaining < self.needed;
            if !self.has_candidates_left() {
                None
            } else if too_few && remaining > 0 {
                Some(Refusal::MaxAttempts)
            } else if earliest == Moment::NEVER {
                Some(Refusal::Policy)
            } else if earliest != Moment::ZERO && earliest >= self.timeouts.deadline() {
                Some(Refusal::Deadline)
            } else if self.ended && self.supply.is_in_hand() {
                Some(Refusal::Policy)
            } else {
                None
            }
        })
    }

    /// Returns whether there was no candidate.
    pub(crate) fn had_no_candidates(&self) -> bool {
        !self.supply.had_candidate() && self.refused.is_none() && !self.has_candidates_left()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }
}

impl<S: Source, T: Timer, P: Policy, H: Hook, Q: Expiries> Schedule<S, T, P, H, Q> {
    /// Limits the starts. Nothing is drawn that could not start.
    pub(super) fn set_max_attempts(&mut self, max: usize) {
        if self.refused == Some(Refusal::MaxAttempts) && self.stagger.starts() == 0 {
            self.refused = None; // a maximum of 0 is replaced
            self.supply.resume();
        }
        self.stagger.set_max_attempts(max);
        self.note_max_attempts();
    }

    /// Notes that no more attempts may start.
    pub(super) fn note_max_attempts(&mut self) {
        if self.stagger.is_over() && !self.supply.is_over() {
            if self.supply.source.size_hint().1 != Some(0) {
                self.refused = Some(Refusal::MaxAttempts);
            }
            self.supply.end();
        }
    }

    /// Sets how many attempts have to be accepted.
    #[cfg(feature = "alloc")]
    pub(crate) fn set_needed(&mut self, needed: usize) {
        self.needed = needed;
        self.set_needed_commits(needed);
        self.settled = false;
    }

    /// Reports an attempt that failed while `running` others are running.
    pub(crate) fn failed(&mut self, index: usize, running: usize) {
        let (timer, began) = (&self.timer, &mut self.began);
        self.stagger.failed(index, running, || read(timer, began));
    }

    /// Makes the next attempt due if none is running. The first attempt is due anyway.
    #[inline]
    pub(crate) fn note_running(&mut self, running: usize) {
        if running == 0 && self.stagger.starts() > 0 && !self.stagger.is_due() {
            self.stagger.idle();
        }
    }

    /// Tells the observers how an attempt ended.
    #[inline]
    pub(crate) fn note_ended(&mut self, index: usize, kind: crate::observe::EventKind) {
        self.end_handle(index);
        self.hooks.ended(index, kind);
    }

    /// Starts nothing before `delay` has passed.
    pub(crate) fn not_before(&mut self, delay: Duration) {
        if delay.is_zero() {
            return;
        }
        match read(&self.timer, &mut self.began) + delay {
            Moment::NEVER => self.no_more_starts(),
            moment => self.stagger.not_before(moment),
        }
    }

    /// Starts no more attempts, because a verdict said so.
    pub(crate) fn no_more_starts(&mut self) {
        if self.has_candidates_left() {
            self.refused = Some(Refusal::Verdict);
        }
        self.stop();
    }

    /// Starts no more attempts.
    pub(crate) fn stop(&mut self) {
        self.stagger.stop();
        self.supply.stop();
    }

    /// Starts no more attempts, and lets the running ones take as long as they need.
    pub(crate) fn drain(&mut self)
    where
        T: Unpin,
    {
        self.stop();
        self.deliver_losers();
        self.timeouts.clear();
        self.disarm();
    }

    /// Reports the time of the latest start to the stagger, if that is still to be done.
    pub(crate) fn clock(&mut self) {
        let (timer, began) = (&self.timer, &mut self.began);
        self.stagger.clock(|| read(timer, began));
    }

    /// Reads the clock when the race begins, for `Won::elapsed`. Called when a poll was pending.
    pub(crate) fn note_began(&mut self) {
        if self.began.is_none() && self.stagger.starts() > 0 {
            read(&self.timer, &mut self.began);
        }
    }

    /// Returns how long the race has taken; zero if it ended in its first poll.
    pub(crate) fn elapsed(&self) -> Duration {
        elapsed(&self.timer, self.began)
    }
}

/// Returns how long a race has taken.
pub(super) fn elapsed<T: Timer>(timer: &T, began: Option<Moment>) -> Duration {
    began.map_or(Duration::ZERO, |began| timer.now().since(began))
}

/// Reads the clock. The first reading of a race is its beginning.
pub(super) fn read<T: Timer>(timer: &T, began: &mut Option<Moment>) -> Moment {
    let now = timer.now();
    began.get_or_insert(now);
    now
}

impl<S: SourceTypes, T, P, H, Q: 'static> fmt::Debug for Schedule<S, T, P, H, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule")
            .field("has_candidate", &self.supply.is_in_hand())
            .field("source_over", &self.supply.is_over())
            .field("armed", &self.armed)
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}
