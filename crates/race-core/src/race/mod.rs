//! The race: the struct, its options, and the loop that polls it.

mod admit;
mod at;
#[cfg(feature = "alloc")]
mod committing;
mod expiries;
#[cfg(feature = "alloc")]
mod into_args;
mod max_in_flight;
mod new;
#[cfg(not(feature = "alloc"))]
mod no_signals;
mod options;
mod placement;
mod poll;
mod race_options;
mod retry;
mod schedule;
#[cfg(feature = "alloc")]
mod signals;
#[cfg(feature = "tracing")]
mod spans;
mod start;
mod stream;
mod supply;
mod timeouts;
mod timer;

use core::{fmt, pin::Pin, time::Duration};

use pin_project_lite::pin_project;

use crate::source::SourceTypes;
pub use at::RaceAt;
#[cfg(feature = "alloc")]
pub use placement::{Heap, OneWaker};
pub use placement::{Inline, Placement};
pub(crate) use poll::Step;
pub use race_options::RaceOptions;
pub use retry::Retry;
pub(crate) use schedule::Schedule;
pub use stream::NextAttempt;
pub(crate) use timeouts::Expiries;

pin_project! {
    /// A staggered race: attempt 0 starts at once, the next one a delay later, and so on. Attempts
    /// come out in the order in which they finish.
    ///
    /// Use it by its aliases: [`Race`] keeps its attempts on the heap, [`InlineRace`] keeps them in
    /// place and needs no allocator. The adapters have aliases with their timer, such as
    /// `race_tokio::Race`.
    ///
    /// A race is a [`Stream`](futures_core::Stream) of every completion, as `(argument, output)`. A
    /// *finisher* such as `first`, `first_ok` or `quorum` turns it into a future. *Options* such as
    /// `max_in_flight`, `budget` or `attempt_timeout` come before the finisher, in any order. To
    /// store the limits in a client and apply them to each race, use [`RaceOptions`] with
    /// [`options`](Self::options).
    ///
    /// - `K`, the [`Placement`], says where the running attempts are: on the heap or inline; and
    ///   with which waker they are polled.
    /// - `S`, the [`Source`](crate::source::Source), gives the candidates.
    /// - `T`, the [`Timer`](crate::Timer), tells the time.
    /// - `P`, the [`Policy`](crate::Policy), gives the delays.
    /// - `H` holds what is attached: gates, budgets, observers.
    ///
    /// # Polling
    ///
    /// A race is as lazy as a future. Its clock starts at its first poll. Between two polls nothing
    /// starts and no attempt makes progress, so keep awaiting it, or spawn a task for it.
    /// [`catch_up`](Self::catch_up) decides what happens to starts that were missed.
    ///
    /// Dropping the race drops, and so cancels, everything that is running.
    ///
    /// # What a race guarantees
    ///
    /// 1. No attempt starts before its time.
    /// 2. Two starts are never closer than the delay, except where a failure, a `CatchUp` choice or
    ///    a zero delay says so. A late consumer causes no burst by default. After a first attempt
    ///    that was ready at once, the delay counts from the next poll.
    /// 3. Completions come out in the order in which polls find them ready; ties go to the lower
    ///    index. Finished attempts are delivered before more are started. (If 64 polls in a row
    ///    find several attempts awake and none finished, the attempt that is polled first rotates.
    ///    With the placements `Inline` and `OneWaker` it always does.)
    /// 4. No wake is lost, and a race never spins. With two or more attempts running, only the
    ///    woken ones are polled (with the placement `Heap`).
    /// 5. A delay of zero on an endless source never hangs a poll: each poll starts a limited
    ///    number of attempts and yields. `max_in_flight` bounds memory.
    /// 6. Long durations saturate to *never*. No arithmetic panics or wraps.
    /// 7. Candidates are drawn on demand, at most one ahead. The stream ends as soon as nothing is
    ///    running and nothing can start, and stays ended.
    /// 8. The argument comes back with its output. The future is dropped before.
    /// 9. No needless trait bounds: outputs of any type, `FnMut`, `Rc`, borrowed captures, no
    ///    `'static`, no `Clone`. A race is `Send` if its parts are. On the heap it is always
    ///    `Unpin`.
    /// 10. A panic in one attempt, in the function that makes attempts or in the source leaves the
    ///     other attempts deliverable. (If the attempt had committed, there are no others.)
    /// 11. Result-aware finishers start the next attempt as soon as `OnFailure`, pause, gap and
    ///     pushback allow. They never wait with nothing running while something may start, unless
    ///     one of these delays it, or a gate answered `NotNow`. (With `OnFailure::Wait` only the
    ///     delay starts attempts, and a refusal by a budget or a gate ends that.)
    /// 12. An attempt that has a timeout ends by it, and a race that has a deadline ends by it,
    ///     unless an attempt has committed before. A result at the same instant wins over both; both
    ///     win over a start. With nothing running, a race does not wait for a deadline before which
    ///     nothing can start.
    /// 13. A budget limits what starts by time. Attempts that a failure causes, or that start while
    ///     none is running, are free unless asked otherwise.
    ///
    /// # Panics
    ///
    /// Polling panics if an attempt, the function that makes attempts, the source, the policy, a
    /// gate, an observer or the timer panics. The race can be polled on after that: a panicked
    /// attempt is gone, and the others are delivered; a candidate that was about to start is lost,
    /// and so is what its start was charged;
    /// a source that panicked is at its end. If dropping a cancelled attempt panics, the panic
    /// propagates, and the output of the winner is dropped.
    ///
    /// # Cancel safety
    ///
    /// `next` loses nothing when it is dropped before it is ready: finished attempts stay in the
    /// race until they are handed out. Finishers own the race: dropping one cancels the race; to
    /// stop waiting and continue later, await `&mut` of it.
    pub struct GenericRace<K: Placement, S: SourceTypes, T, P = Duration, H = ()> {
        // First, because attempts may borrow from what the source owns.
        #[pin]
        pub(crate) attempts: K::Set<S::Attempt, (S::Arg, usize)>,
        pub(crate) schedule: Schedule<S, T, P, H, K::Expiries>,
    }
}

/// A race that keeps its running attempts on the heap. See [`GenericRace`].
///
/// It is always `Unpin`, so `race.next().await` needs no pinning.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Race, test::VirtualClock};
///
/// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// let attempts = [100, 20, 80].map(|latency| clock.sleep(ms(latency)));
/// let race = Race::at(clock.timer()).of(ms(50), attempts);
/// let won = clock.run(race.first())?.expect("there are three candidates");
/// assert_eq!((won.index, won.elapsed), (1, ms(70)));
/// # Ok::<(), race_core::test::Deadlock>(())
/// ```
#[cfg(feature = "alloc")]
pub type Race<S, T, P = Duration, H = ()> = GenericRace<Heap, S, T, P, H>;

/// A race that keeps up to `N` running attempts in place and needs no allocator. See
/// [`GenericRace`].
///
/// It differs from `Race` in this:
///
/// - When `N` attempts are running, the next start waits until one finishes, as with
///   [`max_in_flight`](GenericRace::max_in_flight).
/// - Result-aware finishers keep the latest `N` failures and count all of them; their error is an
///   [`InlineRaceError`](crate::InlineRaceError).
/// - Each poll polls all running attempts, with the waker of the task; the first slot to be polled
///   rotates.
/// - It must be pinned to be read as a stream, because the attempts live in it. A finisher that is
///   awaited in place needs no pinning.
///
/// `N = 0` does not compile.
///
/// ```
/// use core::{pin::pin, time::Duration};
/// use race_core::InlineRace;
/// # use race_core::test::VirtualClock;
///
/// # let clock = VirtualClock::new();
/// # let timer = clock.timer();
/// # clock.run(async {
/// let attempts = [30, 20, 10].map(|number| async move { number });
/// let mut race = pin!(InlineRace::<2, _, _>::at(timer).of(Duration::ZERO, attempts));
/// assert_eq!(race.as_mut().next().await, Some((0, 30)));
/// # }).unwrap();
/// ```
///
/// It never allocates, with or without the feature `alloc`, which adds quorums and observers: these
/// do. On a default timer, that is without [`at`](GenericRace::at), a policy other than a `Duration`
/// needs one `_` more: `InlineRace::<2, _, _, _>`.
pub type InlineRace<const N: usize, S, T, P = Duration, H = ()> =
    GenericRace<Inline<N>, S, T, P, H>;

impl<K: Placement, S: SourceTypes, T, P, H> GenericRace<K, S, T, P, H> {
    #[allow(
        clippy::type_complexity,
        reason = "the two parts of a race, used at once by the finishers"
    )]
    pub(crate) fn parts(
        self: Pin<&mut Self>,
    ) -> (
        Pin<&mut K::Set<S::Attempt, (S::Arg, usize)>>,
        &mut Schedule<S, T, P, H, K::Expiries>,
    ) {
        let this = self.project();
        (this.attempts, this.schedule)
    }
}

impl<K, S, T, P, H> fmt::Debug for GenericRace<K, S, T, P, H>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: fmt::Debug,
    S: SourceTypes,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Race")
            .field("running", &self.attempts)
            .field("schedule", &self.schedule)
            .finish()
    }
}
