//! # Why losers count
//!
//! A race hedges an attempt that is slower than most and cancels it if the hedge wins. So the slow
//! attempts are the cancelled ones, and an estimator that sees winners only never learns how slow
//! they are: it underestimates the tail, hedges earlier, cancels more, and sees even less. With a
//! target of 1 % extra load it spends 2 to 5 % (`benches/README.md` has the figures).
//!
//! A cancelled loser tells that it would have taken longer than it ran. That is a right-censored
//! sample; survival analysis has an estimator for those since 1958.

mod attach;
mod buckets;
mod curve;
mod gain;
mod percentile;
mod plan;
mod rule;
mod samples;
mod single;
mod survival;
mod watch;

use alloc::{boxed::Box, sync::Arc};
use core::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use super::Budget;
use crate::observe::{Cause, Clock, Event, EventKind, Observer};
use percentile::Learner;
use rule::{AtomicRule, Rule, Share};
use samples::{Sample, Samples, Weights};

pub use attach::{AdaptiveBudget, AdaptiveDelay, SharedAdaptive, TimedBy};
pub use gain::Gain;
pub use percentile::Percentile;

/// A learnt delay: the next attempt starts when the previous one is slower than most attempts were
/// (hedged requests: J. Dean and L. A. Barroso, *The Tail at Scale*, CACM 56(2), 2013).
///
/// It is the policy of a race: `Race::of(&adaptive, attempts)`. Races share it by reference or in
/// an `Arc`, which they take by value or by reference. Use one for each kind of request with similar latencies.
///
/// It counts the losers. A race cancels slow attempts, so an estimator that sees winners only is
/// blind to the tail that it measures and spends several times the load it was asked for. Here a
/// cancelled attempt is a sample too: it would have taken longer than it ran.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Adaptive, Race, test::VirtualClock};
///
/// let adaptive = Adaptive::extra_load(5.0).ceiling(Duration::from_secs(1));
///
/// let clock = VirtualClock::new();
/// for request in 0..1_000 {
///     // One request in fifty takes ten times as long.
///     let millis = if request % 50 == 0 { [200, 20] } else { [20, 20] };
///     let attempts = millis.map(|millis| clock.sleep(Duration::from_millis(millis)));
///     clock.run(Race::at(clock.timer()).of(&adaptive, attempts).first())?;
/// }
/// let delay = adaptive.delay().expect("it has warmed up");
/// assert_eq!(delay.as_millis(), 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Set a ceiling
///
/// If 5 % of the requests hang until the attempt timeout, the 98 % quantile of the latencies is the
/// timeout itself, and a delay of that length hedges nothing. A [`ceiling`](Self::ceiling) well
/// below the attempt timeout keeps hedging; the budget bounds its load.
///
/// # The budget
///
/// When latencies rise, nearly every race outlasts the learnt delay, and hedging all of them would
/// double the load, even after the cause is gone (N. Bronson et al., *Metastable Failures in
/// Distributed Systems*, HotOS 2021). So an `Adaptive` charges its hedges to a [`Budget`] of its
/// own: the target share of the races, rounded up to a thousandth, with savings of 100 attempts and
/// a [start reserve](Budget::start_reserve) of 10, which pays for hedges of at most every fourth
/// race until the first races have earned some. Replace it by another [`budget`](Self::budget), or race
/// [`without_budget`](Self::without_budget).
///
/// # What it learns from
///
/// Every attempt, whatever its index; with a [`percentile`](Self::percentile), hedges are kept apart
/// from the others. An attempt that won or finished took as long as it took, and one that committed
/// took until then. An attempt that was cancelled or timed out would have taken longer than it ran.
/// A failed attempt says nothing about how long a success takes and is left out. From these samples
/// the Kaplan-Meier estimator (Journal of the American Statistical Association 53(282), 1958) gives
/// the share of attempts that take longer than any given time; the delay is the shortest that few
/// enough exceed.
///
/// If the slowest attempts were all cancelled, so that their times are unknown, the delay is the
/// longest time seen. A shorter delay would be exceeded too often. Races then wait longer and see
/// more.
///
/// Attempts of one race count as independent, such as those sent to different servers. If they are
/// slow together, the delay becomes longer and the extra load smaller.
///
/// # Accuracy
///
/// Times are distinguished to 1/64, 1.6 %, up to 73 minutes, and the delay is rounded up, so it
/// never adds load. On average the target is met: in simulations within 10 % for each of four
/// latency distributions (`benches/README.md`). The fewer samples of the memory lie beyond the
/// delay, the more the delay varies.
///
/// The load is one further attempt for each race that outlasts the delay. Races with more than two
/// candidates start more when the second attempt is slow as well: see `Race::max_attempts`.
///
/// # Costs
///
/// 38 kB, whatever it is fed; more with a [`percentile`](Self::percentile). Recording a sample is
/// two atomic additions without a lock. From time to time (after each sample at first, later 16
/// times while the memory is filled once) the recording thread also computes the delay, in some tens
/// of microseconds; no other thread waits for it. It has no clock: the same events in the same order
/// give the same delays, and with the same [`seed`](Self::seed) the same draws.
///
/// # Changes of latency
///
/// It follows slower times quickly: for a target of 1 %, after new samples worth 1 % of its memory.
/// It follows faster times slowly, when the old samples have faded: for 1 %, after five times its
/// memory.
///
/// # Reading a race as a stream
///
/// During the warm-up, whenever there is no delay, and if a draw is lost, only a failure starts a
/// second attempt. A race that is read with `next` knows no failures, so it then ends after its
/// first attempt.
pub struct Adaptive {
    /// The share of the attempts that may take longer than the delay.
    beyond: f64,
    warm_up: u64,
    memory: u32,
    initial: Option<Duration>,
    floor: Duration,
    ceiling: Duration,
    budget: Option<Budget>,
    samples: Samples,
    /// The number of samples at which the delay is computed again.
    due: AtomicU64,
    /// When races are hedged.
    rule: AtomicRule,
    /// Present if a percentile is to be made short.
    learner: Option<Box<Learner>>,
}

/// The start reserve of the budget. Ten hedges in the first 40 races are enough to learn that a
/// server hangs.
const START_RESERVE: u8 = 10;

impl Adaptive {
    /// Hedges an attempt that is slower than this share of the attempts: 0.95 hedges the slowest 5
    /// %.
    ///
    /// Clamped to 0 to 1. At 1, or if it is not a number, it never hedges; at 0 it hedges every
    /// attempt after the [`floor`](Self::floor).
    #[must_use]
    pub fn quantile(quantile: f64) -> Self {
        Self::beyond(1.0 - quantile)
    }

    /// Spends `percent` further attempts for each hundred first attempts: 5 is the
    /// [`quantile`](Self::quantile) 0.95.
    ///
    /// Clamped to 0 to 100. At 0, or if it is not a number, it never hedges.
    #[must_use]
    pub fn extra_load(percent: f64) -> Self {
        Self::beyond(percent / 100.0)
    }

    fn beyond(share: f64) -> Self {
        let beyond = match share {
            share if share.is_nan() => 0.0,
            share => share.clamp(0.0, 1.0),
        };
        Self {
            beyond,
            warm_up: 100,
            memory: 5_000,
            initial: None,
            floor: Duration::ZERO,
            ceiling: Duration::MAX,
            budget: Some(budget(beyond)),
            samples: Samples::new(),
            due: AtomicU64::new(0),
            rule: AtomicRule::none(),
            learner: None,
        }
    }

    /// Replaces the budget, such as by one with other savings or by a share of what is
    /// [in flight](Budget::in_flight).
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Removes the budget. The extra load then has no bound when latencies rise, unless the race
    /// has a budget of its own.
    #[must_use]
    pub fn without_budget(mut self) -> Self {
        self.budget = None;
        self
    }

    /// Learns nothing until this many samples were recorded. Default: 100; 0 means 1. Until then
    /// nothing is hedged, unless there is an [`initial`](Self::initial) delay. A failure still
    /// starts the next attempt. See [`is_warming_up`](Self::is_warming_up).
    #[must_use]
    pub fn warm_up(mut self, samples: u32) -> Self {
        self.warm_up = samples.into();
        self
    }

    /// Sets the delay during the warm-up. Default: none. With an initial delay, a server that never
    /// answers is hedged from the start, as often as the budget allows.
    ///
    /// Set a [`ceiling`](Self::ceiling) as well. If a server hangs from the start, the slowest
    /// samples of the warm-up are those that hung, and without a ceiling the delay that is learnt
    /// from them can be as long as the attempt timeout, which hedges nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use race_core::Adaptive;
    ///
    /// let ms = Duration::from_millis;
    /// let adaptive = Adaptive::extra_load(5.0).initial(ms(50)).ceiling(ms(200));
    /// assert_eq!(adaptive.delay(), Some(ms(50)));
    /// ```
    #[must_use]
    pub fn initial(mut self, delay: Duration) -> Self {
        self.initial = Some(delay);
        self
    }

    /// Limits the total weight of all samples; older samples fade as new ones arrive.
    /// Default: 5,000; 0 means 1.
    ///
    /// A smaller memory adapts sooner, varies more and computes the delay more often. Some tens of
    /// the samples should lie beyond the delay: for 1 %, some thousands are needed.
    #[must_use]
    pub fn memory(mut self, samples: u32) -> Self {
        self.memory = samples.max(1);
        self
    }

    /// Sets the shortest delay. Default: zero.
    #[must_use]
    pub fn floor(mut self, floor: Duration) -> Self {
        self.floor = floor;
        self
    }

    /// Sets the longest learnt delay; it wins over the floor. Default: none. Recommended: well
    /// below the attempt timeout.
    #[must_use]
    pub fn ceiling(mut self, ceiling: Duration) -> Self {
        self.ceiling = ceiling;
        self
    }

    /// Returns the current delay; `None` during the warm-up without an initial delay, and if it
    /// never hedges.
    #[must_use]
    pub fn delay(&self) -> Option<Duration> {
        match self.rule.load() {
            Some(rule) => Some(self.within(rule.delay)),
            None => self.before_the_first_rule(),
        }
    }

    fn before_the_first_rule(&self) -> Option<Duration> {
        self.initial.filter(|_| self.is_warming_up())
    }

    /// Returns whether it has too few samples for a delay of its own: fewer than
    /// [`warm_up`](Self::warm_up). `false` if it never hedges.
    #[must_use]
    pub fn is_warming_up(&self) -> bool {
        self.beyond > 0.0 && self.due.load(Ordering::Relaxed) == 0
    }

    fn within(&self, nanos: u64) -> Duration {
        self.clamp(Duration::from_nanos(nanos))
    }

    /// Returns a delay that was learnt elsewhere within the floor and the ceiling of this one. The
    /// ceiling takes precedence.
    #[must_use]
    pub fn clamp(&self, delay: Duration) -> Duration {
        delay.max(self.floor).min(self.ceiling)
    }

    /// Returns the number of samples recorded so far, faded ones included.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples.recorded()
    }

    /// Returns this policy with a clock of its own for the samples, such as `CoarseClock`, instead
    /// of a clone of the race's timer.
    pub fn timed_by<C: Clock>(&self, clock: C) -> TimedBy<&Self, C> {
        let adaptive = self;
        TimedBy { adaptive, clock }
    }

    /// Returns the rule that the samples suggest.
    fn learn(&self, weights: &Weights) -> Option<Rule> {
        let always = |delay| Rule {
            delay,
            share: Share::ALL,
        };
        match (self.beyond, &self.learner) {
            (0.0, _) => None,
            (1.0, _) => Some(always(0)),
            (load, Some(learner)) => {
                let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                let aim = learner.aim(load, (nanos(self.floor), nanos(self.ceiling)));
                learner.rule(weights, aim)
            }
            (beyond, None) => weights.delay(beyond).map(always),
        }
    }

    fn record(&self, sample: Sample) {
        let recorded = self.samples.record(sample);
        if recorded < self.warm_up || recorded < self.due.load(Ordering::Relaxed) {
            return;
        }
        let Some(mut weights) = self.samples.try_lock() else {
            return;
        };
        // Another thread may have updated it since.
        let recorded = self.samples.recorded();
        if recorded < self.due.load(Ordering::Relaxed) {
            return;
        }
        self.samples.learn(&mut weights, self.memory);
        self.rule.store(self.learn(&weights));
        let due = samples::next_update(recorded, self.memory);
        self.due.store(due, Ordering::Relaxed);
    }
}

impl Observer for &Adaptive {
    fn observe(&mut self, event: Event) {
        let sample = match event.kind {
            EventKind::Committed => Sample::Exact(event.ran),
            _ if event.committed => return, // recorded when it committed
            EventKind::Won | EventKind::Finished => Sample::Exact(event.ran),
            EventKind::Cancelled | EventKind::TimedOut => Sample::Censored(event.ran),
            EventKind::Failed | EventKind::Started | EventKind::Refused(_) => return,
        };
        match &self.learner {
            Some(learner) if event.cause == Cause::Delay => drop(learner.hedges.record(sample)),
            _ => self.record(sample),
        }
    }
}

impl Observer for Arc<Adaptive> {
    fn observe(&mut self, event: Event) {
        (&**self).observe(event);
    }
}

impl Observer for &Arc<Adaptive> {
    fn observe(&mut self, event: Event) {
        (&***self).observe(event);
    }
}

/// Returns the budget for a share of the races. A share of 0 has no start reserve: it never hedges.
fn budget(share: f64) -> Budget {
    let budget = Budget::per_mille(per_mille(share));
    match share > 0.0 {
        true => budget.start_reserve(START_RESERVE),
        false => budget,
    }
}

/// Returns a share in thousandths, rounded up.
fn per_mille(share: f64) -> u16 {
    let floor = (share * 1_000.0) as u16;
    match f64::from(floor) < share * 1_000.0 - 1e-9 {
        true => floor + 1,
        false => floor,
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
