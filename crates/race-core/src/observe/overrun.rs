use alloc::{collections::BTreeMap, sync::Arc};
use core::{fmt, time::Duration};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Clock, Event, EventKind, Moment, Observer};

/// Measures how long the work of attempts goes on after their race has dropped them.
///
/// A race drops the futures of its losers at once. What they have given to a task, a thread or a
/// process may go on, and is wasted. Many races share one `Overrun`; clones are the same.
///
/// For each race, [`race`](Self::race) returns an observer, whose [`attempt`](RaceOverrun::attempt)
/// returns a guard for each attempt. The work keeps the guard until it ends.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Overrun, Race, VirtualClock};
///
/// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// let overrun = Overrun::new(clock.clone());
///
/// let of_race = overrun.race();
/// let mut guards = Vec::new();
/// let attempts = [100, 20].map(|latency| {
///     guards.push(of_race.attempt());
///     clock.sleep(ms(latency))
/// });
/// let race = Race::of_with(clock.timer(), ms(50), attempts).observer(of_race);
/// clock.run(race.first())?;
/// assert_eq!(overrun.running(), 1);
///
/// // The work of the loser ends 30 ms after the race.
/// clock.run(clock.sleep(ms(30)))?;
/// drop(guards);
/// assert_eq!((overrun.running(), overrun.time()), (0, ms(30)));
/// # Ok::<(), race_core::Deadlock>(())
/// ```
///
/// A task that runs on takes the guard with it. This works with any executor:
///
/// ```ignore
/// let of_race = overrun.race();
/// let attempt = |index| {
///     let task = tokio::spawn(of_race.attempt().run(fetch(index)));
///     async { task.await.expect("the attempt does not panic") }
/// };
/// let race = Race::from_fn(delay, attempt).observer(of_race.clone());
/// ```
#[derive(Clone)]
pub struct Overrun<C> {
    clock: C,
    totals: Arc<Mutex<Totals>>,
}

/// The part of an [`Overrun`] that belongs to one race: an observer. Clones are the same.
#[derive(Clone)]
pub struct RaceOverrun<C> {
    all: Overrun<C>,
    attempts: Arc<Mutex<Attempts>>,
}

/// The work of one attempt of a race: it goes on until this is dropped.
#[must_use = "the work is over when its guard is dropped"]
pub struct AttemptGuard<C: Clock> {
    of_race: RaceOverrun<C>,
    index: usize,
}

#[derive(Debug, Default)]
struct Totals {
    time: Duration,
    running: usize,
}

#[derive(Debug, Default)]
struct Attempts {
    /// How many guards there were.
    begun: usize,
    /// The work that goes on, by index.
    running: BTreeMap<usize, Work>,
    time: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    /// The race has the attempt still, or it has ended by itself.
    Wanted,
    /// The race dropped the attempt at this time.
    Overrun(Moment),
}

impl<C: Clock + Clone> Overrun<C> {
    /// Creates an overrun of zero, with a clock such as the timer of the races.
    #[must_use]
    pub fn new(clock: C) -> Self {
        let totals = Arc::default();
        Self { clock, totals }
    }

    /// Returns the overrun of a race. Call it once for each.
    #[must_use]
    pub fn race(&self) -> RaceOverrun<C> {
        RaceOverrun {
            all: self.clone(),
            attempts: Arc::default(),
        }
    }
}

impl<C> Overrun<C> {
    /// Returns the sum, over all attempts whose work has ended, of the time between the end of the
    /// attempt in its race and the end of its work.
    #[must_use]
    pub fn time(&self) -> Duration {
        lock(&self.totals).time
    }

    /// Returns the number of attempts that were dropped and whose work goes on now.
    #[must_use]
    pub fn running(&self) -> usize {
        lock(&self.totals).running
    }
}

impl<C: Clock + Clone> RaceOverrun<C> {
    /// Returns the guard of the next attempt. Call it once for each attempt, in the order in which
    /// they start.
    pub fn attempt(&self) -> AttemptGuard<C> {
        let mut attempts = lock(&self.attempts);
        let index = attempts.begun;
        attempts.begun += 1;
        attempts.running.insert(index, Work::Wanted);
        drop(attempts);
        AttemptGuard {
            of_race: self.clone(),
            index,
        }
    }
}

impl<C> RaceOverrun<C> {
    /// Returns the overrun of this race so far, like [`Overrun::time`].
    #[must_use]
    pub fn time(&self) -> Duration {
        lock(&self.attempts).time
    }
}

impl<C: Clock> RaceOverrun<C> {
    /// The race has dropped an attempt.
    fn dropped(&self, index: usize) {
        let now = self.all.clock.read();
        let mut attempts = lock(&self.attempts);
        // Without an entry, the work has ended.
        if let Some(work @ Work::Wanted) = attempts.running.get_mut(&index) {
            *work = Work::Overrun(now);
            lock(&self.all.totals).running += 1;
        }
    }

    fn ended(&self, index: usize) {
        let now = self.all.clock.read();
        let mut attempts = lock(&self.attempts);
        if let Some(Work::Overrun(since)) = attempts.running.remove(&index) {
            let time = now.since(since);
            attempts.time = attempts.time.saturating_add(time);
            let mut totals = lock(&self.all.totals);
            totals.time = totals.time.saturating_add(time);
            totals.running -= 1;
        }
    }
}

impl<C: Clock> Observer for RaceOverrun<C> {
    fn observe(&mut self, event: Event) {
        if let EventKind::Cancelled | EventKind::TimedOut = event.kind {
            self.dropped(event.index);
        }
    }
}

impl<C: Clock> AttemptGuard<C> {
    /// Runs the work, and is dropped when it ends or is dropped.
    pub async fn run<F: Future>(self, work: F) -> F::Output {
        let output = work.await;
        drop(self);
        output
    }
}

impl<C: Clock> Drop for AttemptGuard<C> {
    fn drop(&mut self) {
        self.of_race.ended(self.index);
    }
}

fn lock<T>(data: &Mutex<T>) -> MutexGuard<'_, T> {
    data.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C> fmt::Debug for Overrun<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overrun")
            .field("totals", &lock(&self.totals))
            .finish_non_exhaustive()
    }
}

impl<C> fmt::Debug for RaceOverrun<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RaceOverrun")
            .field("attempts", &lock(&self.attempts))
            .finish_non_exhaustive()
    }
}

impl<C: Clock> fmt::Debug for AttemptGuard<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptGuard")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
