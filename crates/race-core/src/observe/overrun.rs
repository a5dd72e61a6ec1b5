use alloc::{collections::BTreeMap, sync::Arc};
use core::{fmt, time::Duration};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{
    Moment,
    observe::{Clock, Event, EventKind, Observer},
};

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
/// use race_core::{Race, observe::Overrun, test::VirtualClock};
///
/// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// let overrun = Overrun::new(clock.clone());
///
/// let of_race = overrun.race();
/// let mut guards = Vec::new();
/// let attempt = |index: usize| {
///     guards.push(of_race.attempt(index));
///     clock.sleep(ms([100, 20][index]))
/// };
/// let race = Race::at(clock.timer()).from_fn(ms(50), attempt).observer(&of_race);
/// clock.run(race.max_attempts(2).first())?;
/// assert_eq!(overrun.running(), 1);
///
/// // The work of the loser ends 30 ms after the race.
/// clock.run(clock.sleep(ms(30)))?;
/// drop(guards);
/// assert_eq!((overrun.running(), overrun.time()), (0, ms(30)));
/// # Ok::<(), race_core::test::Deadlock>(())
/// ```
///
/// A task that runs on takes the guard with it. This works with any executor:
///
/// ```
/// # use std::{io, time::Duration};
/// # use race_core::{Race, observe::Overrun, test::VirtualClock};
/// # struct Task<T>(futures::future::Ready<T>);
/// # impl<T> Task<T> {
/// #     async fn join(self) -> Result<T, io::Error> { Ok(self.0.await) }
/// # }
/// # fn spawn<F: Future>(task: F) -> Task<F::Output> {
/// #     Task(futures::future::ready(futures::executor::block_on(task)))
/// # }
/// # async fn fetch(index: usize) -> io::Result<usize> { Ok(index) }
/// # let clock = VirtualClock::new();
/// # let (timer, delay) = (clock.timer(), Duration::from_millis(50));
/// # let overrun = Overrun::new(clock.clone());
/// let of_race = overrun.race();
/// let attempt = |index| {
///     let task = spawn(of_race.attempt(index).run(fetch(index)));
///     async move { task.join().await? }
/// };
/// let race = Race::at(timer).from_fn(delay, attempt).observer(&of_race);
/// # assert_eq!(clock.run(race.max_attempts(2).first_ok())?.unwrap().output, 0);
/// # Ok::<(), race_core::test::Deadlock>(())
/// ```
#[derive(Clone)]
pub struct Overrun<C> {
    clock: C,
    totals: Arc<Mutex<Totals>>,
}

/// The part of an [`Overrun`] that belongs to one race: an observer, like a reference to it. Clones
/// are the same. Without `.observer(&of_race)` nothing is counted.
#[derive(Clone)]
pub struct RaceOverrun<C> {
    all: Overrun<C>,
    attempts: Arc<Mutex<Attempts>>,
}

/// Work of an attempt of a race: it goes on until this is dropped.
#[must_use = "the work is over when its guard is dropped"]
pub struct AttemptGuard<C: Clock> {
    of_race: RaceOverrun<C>,
    id: usize,
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
    /// The work that goes on, by the number of its guard.
    running: BTreeMap<usize, Work>,
    time: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Work {
    /// The index of its attempt.
    index: usize,
    /// When the race dropped the attempt. `None` while the race has it, and if it ended by itself.
    dropped: Option<Moment>,
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
    /// Returns how long work went on after its race had dropped or timed out its attempt: the sum
    /// over all work that has ended.
    #[must_use]
    pub fn time(&self) -> Duration {
        lock(&self.totals).time
    }

    /// Returns how much work goes on now although its attempt was dropped or timed out: the number
    /// of guards.
    #[must_use]
    pub fn running(&self) -> usize {
        lock(&self.totals).running
    }
}

impl<C: Clock + Clone> RaceOverrun<C> {
    /// Returns a guard for work of the attempt with this index. Call it when the attempt starts. An
    /// attempt may have several.
    pub fn attempt(&self, index: usize) -> AttemptGuard<C> {
        let mut attempts = lock(&self.attempts);
        let id = attempts.begun;
        attempts.begun += 1;
        let dropped = None;
        attempts.running.insert(id, Work { index, dropped });
        drop(attempts);
        AttemptGuard {
            of_race: self.clone(),
            id,
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
        for work in attempts.running.values_mut() {
            if work.index == index && work.dropped.is_none() {
                work.dropped = Some(now);
                lock(&self.all.totals).running += 1;
            }
        }
    }

    fn ended(&self, id: usize) {
        let now = self.all.clock.read();
        let mut attempts = lock(&self.attempts);
        let work = attempts.running.remove(&id);
        if let Some(since) = work.and_then(|work| work.dropped) {
            let time = now.since(since);
            attempts.time = attempts.time.saturating_add(time);
            let mut totals = lock(&self.all.totals);
            totals.time = totals.time.saturating_add(time);
            totals.running -= 1;
        }
    }
}

impl<C: Clock> Observer for &RaceOverrun<C> {
    fn observe(&mut self, event: Event) {
        if let EventKind::Cancelled | EventKind::TimedOut = event.kind {
            self.dropped(event.index);
        }
    }
}

impl<C: Clock> Observer for RaceOverrun<C> {
    fn observe(&mut self, event: Event) {
        (&*self).observe(event);
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
        self.of_race.ended(self.id);
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
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
