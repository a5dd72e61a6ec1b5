use alloc::vec::Vec;
use core::mem;

use super::{
    By, Decision, Failed, OkWins, QuorumError, Tally, Verdict, Won,
    goal::{Goal, Missed},
};
use crate::{
    Hook, Policy, Timer,
    attempts::AttemptSet,
    race::{GenericRace, Placement},
    source::Source,
};

/// The goal of `quorum`: a number of accepted attempts.
#[derive(Clone, Debug)]
pub struct Many<A, V> {
    needed: usize,
    accepted: Vec<Won<A, V>>,
}

impl<A, V> Many<A, V> {
    pub(super) fn new(needed: usize) -> Self {
        let accepted = Vec::new();
        Self { needed, accepted }
    }
}

impl<A, V, E> Goal<A, V, Vec<Failed<A, E>>> for Many<A, V> {
    type Value = Vec<Won<A, V>>;
    type Error = QuorumError<A, V, E>;

    fn reached_at_once(&mut self) -> Option<Vec<Won<A, V>>> {
        (self.needed == 0).then(Vec::new)
    }

    fn accept(&mut self, won: Won<A, V>) -> Option<Vec<Won<A, V>>> {
        self.accepted.push(won);
        (self.accepted.len() >= self.needed).then(|| mem::take(&mut self.accepted))
    }

    fn is_in_reach(&self, at_most: impl FnOnce() -> Option<usize>) -> bool {
        let missing = self.needed.saturating_sub(self.accepted.len());
        at_most().is_none_or(|most| most >= missing)
    }

    fn missed(&mut self, why: Missed, failed: Vec<Failed<A, E>>) -> QuorumError<A, V, E> {
        let refused = match why {
            Missed::OutOfReach(refused) => refused,
            _ => None,
        };
        let tally = Tally {
            needed: self.needed,
            accepted: mem::take(&mut self.accepted),
            failed,
            refused,
        };
        match why {
            Missed::NoCandidates => QuorumError::NoCandidates,
            Missed::OutOfReach(_) => QuorumError::OutOfReach(tally),
            Missed::Fatal => QuorumError::Fatal(tally),
            Missed::Deadline => QuorumError::Deadline(tally),
        }
    }
}

/// The finishers with a quorum.
impl<K, S, T, P, H> GenericRace<K, S, T, P, H>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)>,
    S: Source,
    T: Timer + Unpin,
    P: Policy,
    H: Hook,
{
    /// Resolves to `Result<Vec<Won<Arg, V>>, QuorumError<Arg, V, E>>`: the first `needed` attempts
    /// that are `Ok`, in the order in which they finish. The others are cancelled.
    ///
    /// It fails as soon as `needed` successes are out of reach. If the source does not know its
    /// length, such as a stream or a `filter`, the race draws one candidate ahead to notice the end
    /// of the source. With 0 it succeeds at once and starts nothing.
    ///
    /// Attempts are staggered as in any race. To start as many as needed at once, and more if they
    /// are slow, use [`Steps`](crate::Steps). A budget does not charge the first `needed` attempts.
    ///
    /// The lists of winners and of failures are on the heap, also those of an
    /// [`InlineRace`](crate::InlineRace).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, Steps, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let write = |&replica: &u64| {
    /// #     let sleep = clock.sleep(ms(replica * 10));
    /// #     async move { sleep.await; Ok::<_, std::io::Error>(()) }
    /// # };
    /// // Two replicas at once, the third after 50 ms.
    /// let delays = Steps::new([0, 50].map(Duration::from_millis));
    /// let race = Race::at(clock.timer()).new(delays, write, [9, 2, 4]);
    /// let written = clock.run(race.quorum(2))??;
    /// assert_eq!([written[0].arg, written[1].arg], [2, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "the parts of a decision")]
    pub fn quorum<V, E>(
        self,
        needed: usize,
    ) -> Decision<Self, OkWins, Many<S::Arg, V>, Vec<Failed<S::Arg, E>>>
    where
        S: Source<Output = Result<V, E>>,
    {
        self.quorum_of(needed, OkWins)
    }

    /// Resolves to `Result<Vec<Won<Arg, Output>>, QuorumError<Arg, Output, Output>>`: the first
    /// `needed` outputs that `classify` accepts. See [`quorum`](Self::quorum).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, Verdict, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// # let attempts = [200, 503, 204].map(|status| async move { status });
    /// let race = Race::at(clock.timer()).of(ms(0), attempts);
    /// let accepted = clock.run(race.quorum_by(2, |status| match status {
    ///     200..300 => Verdict::Accept,
    ///     _ => Verdict::Retryable,
    /// }))??;
    /// assert_eq!(accepted.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "the parts of a decision")]
    pub fn quorum_by<C>(
        self,
        needed: usize,
        classify: C,
    ) -> Decision<Self, By<C>, Many<S::Arg, S::Output>, Vec<Failed<S::Arg, S::Output>>>
    where
        C: FnMut(&S::Output) -> Verdict,
    {
        self.quorum_of(needed, By(classify))
    }

    #[expect(clippy::type_complexity, reason = "the parts of a decision")]
    fn quorum_of<J, V, E>(
        mut self,
        needed: usize,
        judge: J,
    ) -> Decision<Self, J, Many<S::Arg, V>, Vec<Failed<S::Arg, E>>> {
        self.schedule.set_needed(needed);
        Decision::new(self, judge, Many::new(needed))
    }
}
