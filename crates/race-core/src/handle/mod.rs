//! Handles, by which attempts tell their race how far they are.
//!
//! Each attempt of a committing race has an [`AttemptHandle`]. The race keeps the other end in
//! [`Handles`]. The signals are atomics, because an attempt may pass its handle to a task of its
//! own on another thread.

mod commit;
mod handles;
mod hold;
mod signals;

use core::{fmt, time::Duration};

pub use commit::Commit;
pub use handles::Handles;
pub(crate) use handles::Losers;
pub use hold::Hold;
use signals::Signals;

use crate::sync::Arc;

/// The handle of one attempt, by which it tells its race how far it is.
///
/// A race made by [`committing`](crate::GenericRace::committing) passes one to each attempt. An
/// attempt that is *decided* before it is *finished*, such as a response whose headers have arrived
/// and whose body follows, can
///
/// - report [`progress`](Self::progress): the delay before the next start counts anew;
/// - [`hold`](Self::hold) the next start until further notice;
/// - [`commit`](Self::commit): the race ends for it, and only this attempt runs on.
///
/// It also knows the [time left](Self::time_left) for the attempt.
///
/// All three wake the race, and take effect when it is polled. An attempt need not use any of them.
///
/// # What a commit means
///
/// - At most one attempt commits; in a quorum of `k`, at most `k`. An attempt that finished and was
///   accepted counts as one that committed.
/// - Nothing starts any more, and the other attempts are cancelled: none of them is polled again.
///   With [`keep_race`](crate::Decision::keep_race) they run on, except those that try to commit,
///   and the output of one that finishes before the winner does is dropped.
/// - The deadline of the race no longer applies. The attempt timeout does.
/// - If the attempt then fails, times out, or its output is not accepted, a result-aware finisher
///   fails with its `Fatal` error, whatever the classifier says.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Race, test::VirtualClock};
///
/// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// // The headers of the second server arrive first; its body takes longer.
/// let ask = |&(headers, body): &(u64, u64), mut attempt: race_core::AttemptHandle| {
///     let (headers, clock) = (clock.sleep(ms(headers)), clock.clone());
///     async move {
///         headers.await;
///         attempt.commit().await; // continues in one attempt only
///         clock.sleep(ms(body)).await;
///         Ok::<_, std::io::Error>(body)
///     }
/// };
/// let race = Race::at(clock.timer()).committing(ms(50), ask, [(100, 10), (20, 500)]);
/// let won = clock.run(race.first_ok())??;
/// assert_eq!((won.index, won.elapsed), (1, ms(50 + 20 + 500)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AttemptHandle {
    signals: Arc<Signals>,
}

impl AttemptHandle {
    /// Returns the index of the attempt: the number of attempts that started before it.
    #[must_use]
    pub fn index(&self) -> usize {
        self.signals.index
    }

    /// Returns the time that the attempt had left when it started: until the deadline of the race
    /// or the attempt timeout, whichever comes first. `None` if it has neither.
    ///
    /// Send it to the server, for example in the header `grpc-timeout`, so that it stops when its
    /// client no longer waits. The handle has no clock, so the answer does not shrink while the
    /// attempt runs: if you need it later, subtract the time that has passed since the start. After
    /// a commit the deadline of the race no longer applies.
    ///
    /// ```
    /// use std::{cell::RefCell, time::Duration};
    /// use race_core::{Race, test::VirtualClock};
    ///
    /// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let seen = RefCell::new(Vec::new());
    /// let ask = |&millis: &u64, attempt: race_core::AttemptHandle| {
    ///     seen.borrow_mut().push(attempt.time_left());
    ///     clock.sleep(ms(millis))
    /// };
    /// let race = Race::at(clock.timer())
    ///     .committing(ms(50), ask, [500, 20])
    ///     .attempt_timeout(ms(400))
    ///     .deadline(ms(420));
    /// clock.run(race.first())?;
    /// assert_eq!(seen.into_inner(), [Some(ms(400)), Some(ms(370))]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        self.signals.time_left
    }

    /// Reports progress: the delay before the next start by time counts anew from here.
    ///
    /// For milestones, such as an established connection. An attempt that reports every byte keeps
    /// the race from hedging it. Starts that a failure causes are not put off.
    pub fn progress(&self) {
        self.signals.progress();
    }

    /// Keeps the race from starting attempts by time until the [`Hold`] is dropped or the attempt
    /// has ended, whichever comes first.
    ///
    /// A start whose time passes meanwhile happens then. Starts that a failure causes are not held.
    pub fn hold(&self) -> Hold {
        Hold::new(self.signals.clone())
    }

    /// Resolves when the attempt has committed; never if another one has. The race drops an attempt
    /// that has lost, so the code after `commit().await` runs in at most one attempt, or in `k` in
    /// a quorum of `k`.
    ///
    /// Await it in the attempt itself. A task that the race cannot drop would wait for ever: use
    /// [`try_commit`](Self::try_commit) there.
    ///
    /// # Cancel safety
    ///
    /// The attempt commits in a poll that returns `Ready`. Dropping the future before changes
    /// nothing, unless it has lost.
    pub fn commit(&mut self) -> Commit<'_> {
        Commit::new(&self.signals)
    }

    /// Commits, and returns whether that succeeded. After `false` another attempt has committed and
    /// the race drops this one, or the attempt or the race has ended.
    ///
    /// Once it has returned `true`, it always does.
    #[must_use]
    pub fn try_commit(&mut self) -> bool {
        self.signals.commit()
    }
}

impl fmt::Debug for AttemptHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptHandle")
            .field("index", &self.index())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
