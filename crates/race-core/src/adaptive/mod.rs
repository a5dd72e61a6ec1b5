//! # Why the losers count
//!
//! A hedge is sent when an attempt is slower than most, and whoever is first cancels the other. So the
//! slow are the ones that are cancelled, and an estimator that sees winners only never learns how slow
//! they were: it takes the tail to be shorter than it is, hedges earlier, cancels more, and sees still
//! less. Asked for 1 % of extra load it spends 2 to 5 % (`benches/README.md` has the figures).
//!
//! A cancelled loser does tell something: it would have taken longer than it ran. That is a right-censored
//! sample, and survival analysis has known since 1958 what to do with it.

mod samples;
mod survival;

use alloc::sync::Arc;
use core::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::{Event, Observer, Policy, What};
use samples::{Sample, Samples};

/// The delay in force while there is none.
const NONE: u64 = u64::MAX;

/// How many times it learns in the time in which its memory is filled once.
const LESSONS: u64 = 16;

/// A step that is learnt: the next attempt starts when the one before it is slower than most were.
///
/// **It counts the losers.** A race cancels those that are slow, so an estimator that is told of winners
/// only is blind to the very tail it is to measure: it hedges too early, cancels more, and sees still less,
/// until it spends several times the load it was asked for. Here a cancelled attempt is a sample too: it
/// would have taken longer than it ran.
///
/// Races share it by reference, or in an `Arc`, with `Race::adaptive`. Have one for each kind of request
/// whose latencies are alike.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Adaptive, Race, VirtualClock};
///
/// let adaptive = Adaptive::extra_load(5.0).ceiling(Duration::from_secs(1));
///
/// let clock = VirtualClock::new();
/// for request in 0..1_000 {
///     // One in fifty takes ten times as long.
///     let millis = if request % 50 == 0 { [200, 20] } else { [20, 20] };
///     let attempts = millis.map(|millis| clock.sleep(Duration::from_millis(millis)));
///     let race = Race::of_with(clock.timer(), Duration::ZERO, attempts);
///     clock.run(race.adaptive_with(clock.clone(), &adaptive).first())??;
/// }
/// let delay = adaptive.delay().expect("it has warmed up");
/// assert_eq!(delay.as_millis(), 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What it learns from
///
/// Every attempt, of whatever place. One that won, or finished, took as long as it took. One that was
/// cancelled, or timed out, would have taken longer than it ran. One that failed says nothing of how long
/// a success takes, and is left out. From these the Kaplan-Meier estimator (JASA 53(282), 1958) gives the
/// share of attempts that take longer than any time; the delay is the shortest that few enough exceed.
///
/// If it is not known how long the slowest take, since all of them were cancelled, the delay is the
/// longest time seen: a shorter one would certainly be exceeded by too many, and with a longer one unseen
/// nothing better can be said. Races then wait longer, and see more.
///
/// Attempts of one race are taken to be independent of each other, as those at different servers are. If
/// they are slow together it waits longer, and spends less.
///
/// # How exact it is
///
/// Times are told apart to a 64th, 1.6 %, up to 73 minutes, and the delay is rounded up: never more load
/// for it. The target is met on the average: simulated, within 10 % of it on each of four shapes (the
/// figures are in `benches/README.md`). The fewer of the samples in its memory are beyond the delay, the
/// wider it swings around it.
///
/// The load is one further attempt for each race that outlasts the delay. Races of more than two candidates
/// start yet more when that one is slow as well: see `Race::max_attempts`, and [`Budget`](crate::Budget) for
/// a bound that holds at any moment.
///
/// # What it costs
///
/// 48 kB, whatever it is fed. Recording is two atomic additions, without a lock. Now and then (after each
/// sample in the beginning, then more and more rarely, at last 16 times in the time in which its memory is
/// filled) the one who records also computes the delay anew, in some tens of microseconds; nobody waits for
/// that. It has no clock and no randomness: the same events in the same order give the same delays.
///
/// # Changes
///
/// It adapts to slower times fast, as soon as the new samples alone are the share that may be beyond the
/// delay, and to faster ones when enough of the old ones have faded: for 1 % after it has seen five
/// times its memory.
pub struct Adaptive {
    /// Which share of the attempts may take longer than the delay.
    beyond: f64,
    warm_up: u64,
    memory: u32,
    initial: Option<Duration>,
    floor: Duration,
    ceiling: Duration,
    samples: Samples,
    /// With how many samples it learns again.
    due: AtomicU64,
    /// The delay, in nanoseconds, or `NONE`.
    nanos: AtomicU64,
}

impl Adaptive {
    /// The next attempt starts when the one before it is slower than this share of attempts: 0.95 hedges
    /// the slowest 5 %.
    ///
    /// It is clamped to 0 to 1. 1 never hedges, and neither does what is not a number; 0 always does, when
    /// the [`floor`](Self::floor) has passed.
    #[must_use]
    pub fn quantile(quantile: f64) -> Self {
        Self::beyond(1.0 - quantile)
    }

    /// As many further attempts as `percent` of the first ones, which is the [`quantile`](Self::quantile) that
    /// leaves this share: 5 is that of 0.95.
    ///
    /// It is clamped to 0 to 100. 0 never hedges, and neither does what is not a number.
    #[must_use]
    pub fn extra_load(percent: f64) -> Self {
        Self::beyond(percent / 100.0)
    }

    fn beyond(share: f64) -> Self {
        Self {
            beyond: match share {
                share if share.is_nan() => 0.0,
                share => share.clamp(0.0, 1.0),
            },
            warm_up: 100,
            memory: 5_000,
            initial: None,
            floor: Duration::ZERO,
            ceiling: Duration::MAX,
            samples: Samples::new(),
            due: AtomicU64::new(0),
            nanos: AtomicU64::new(NONE),
        }
    }

    /// Nothing is learnt until so many samples were seen; 100 unless it is said. Until then there is no
    /// hedging, but for the [`initial`](Self::initial) delay; a failure starts the next attempt even so. 0 is
    /// treated as 1.
    #[must_use]
    pub fn warm_up(mut self, samples: u32) -> Self {
        self.warm_up = samples.into();
        self
    }

    /// The delay while it warms up; none unless it is said. With one, a server that never answers is hedged
    /// from the start.
    #[must_use]
    pub fn initial(mut self, delay: Duration) -> Self {
        self.initial = Some(delay);
        self
    }

    /// All that was seen weighs as much as so many samples at most, and fades as new ones come; 5,000
    /// unless it is said. 0 is treated as 1.
    ///
    /// Less forgets sooner, swings more and learns more often. Some tens of the samples should be beyond
    /// the delay: for 1 %, that is some thousands.
    #[must_use]
    pub fn memory(mut self, samples: u32) -> Self {
        self.memory = samples.max(1);
        self
    }

    /// The delay is never shorter; zero unless it is said.
    #[must_use]
    pub fn floor(mut self, floor: Duration) -> Self {
        self.floor = floor;
        self
    }

    /// A delay that was learnt is never longer, not even than the floor. There is none unless it is said.
    #[must_use]
    pub fn ceiling(mut self, ceiling: Duration) -> Self {
        self.ceiling = ceiling;
        self
    }

    /// The delay in force. `None` while it warms up without an initial one, and if it never hedges.
    #[must_use]
    pub fn delay(&self) -> Option<Duration> {
        match self.nanos.load(Ordering::Relaxed) {
            NONE if self.due.load(Ordering::Relaxed) == 0 => self.initial,
            NONE => None,
            nanos => {
                let learnt = Duration::from_nanos(nanos);
                Some(learnt.max(self.floor).min(self.ceiling))
            }
        }
    }

    /// How many samples it has seen, faded ones included.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples.recorded()
    }

    fn record(&self, sample: Sample) {
        let recorded = self.samples.record(sample);
        if recorded < self.warm_up || recorded < self.due.load(Ordering::Relaxed) {
            return;
        }
        let Some(mut weights) = self.samples.try_lock() else {
            return;
        };
        // Somebody may have learnt since.
        let recorded = self.samples.recorded();
        if recorded < self.due.load(Ordering::Relaxed) {
            return;
        }
        self.samples.learn(&mut weights, self.memory);
        let delay = match self.beyond {
            0.0 => None,
            1.0 => Some(0),
            beyond => weights.delay(beyond),
        };
        self.nanos.store(delay.unwrap_or(NONE), Ordering::Relaxed);
        let often = recorded.min(self.memory.into()) / LESSONS;
        self.due.store(recorded + often.max(1), Ordering::Relaxed);
    }
}

impl Policy for &Adaptive {
    fn step(&mut self, _: usize) -> Option<Duration> {
        self.delay()
    }
}

impl Observer for &Adaptive {
    fn observe(&mut self, event: Event) {
        match event.what {
            What::Won | What::Finished => self.record(Sample::Exact(event.ran)),
            What::Cancelled | What::TimedOut => self.record(Sample::Censored(event.ran)),
            What::Failed | What::Started | What::Suppressed(_) => {}
        }
    }
}

impl Policy for Arc<Adaptive> {
    fn step(&mut self, place: usize) -> Option<Duration> {
        (&**self).step(place)
    }
}

impl Observer for Arc<Adaptive> {
    fn observe(&mut self, event: Event) {
        (&**self).observe(event);
    }
}

impl fmt::Debug for Adaptive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adaptive")
            .field("beyond", &self.beyond)
            .field("samples", &self.samples())
            .field("delay", &self.delay())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
