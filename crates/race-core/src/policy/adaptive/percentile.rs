use alloc::boxed::Box;
use core::{
    fmt, mem,
    ops::DerefMut,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use std::sync::{Mutex, PoisonError};

use super::{
    Adaptive,
    curve::Curve,
    gain::{self, Gain},
    plan::{Draws, Plan},
    rule::Rule,
    samples::{Sample, Samples, Weights},
    single::Aim,
    survival,
};

/// The memory of hedges, and of the races past the delay with and without one.
const MEMORY: u32 = 1_000;

/// With fewer hedges, one is expected to take as long as a first attempt.
const ENOUGH_HEDGES: f64 = 100.0;

/// The fewest races with and without a hedge that are compared.
const COMPARED: u64 = 20;

/// The samples beyond a percentile that its estimate needs.
const BEYOND: f64 = 50.0;

/// The longest memory that a percentile sets, that of 99.99.
const MOST_MEMORY: f64 = 500_000.0;

/// A percentile to make short, made by [`Adaptive::percentile`].
///
/// ```
/// use race_core::Adaptive;
///
/// let adaptive = Adaptive::percentile(99.0).extra_load(1.0);
/// # assert_eq!(adaptive.delay(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "it needs `extra_load`"]
pub struct Percentile {
    percent: f64,
}

impl Percentile {
    pub(super) const fn new(percent: f64) -> Self {
        Self { percent }
    }

    /// Spends `percent` further attempts for each hundred first attempts.
    ///
    /// Clamped to 0 to 100. At 0, or if it is not a number, it never hedges.
    #[must_use]
    pub fn extra_load(self, percent: f64) -> Adaptive {
        let adaptive = Adaptive::extra_load(percent);
        let learner = Learner::new(self.percent);
        let memory = match learner.beyond {
            0.0 => adaptive.memory,
            beyond => adaptive
                .memory
                .max((BEYOND / beyond).min(MOST_MEMORY) as u32),
        };
        Adaptive {
            memory,
            learner: Some(Box::new(learner)),
            ..adaptive
        }
    }
}

impl Adaptive {
    /// Makes a percentile of the latencies of races as short as a load can make it:
    /// `Adaptive::percentile(99.0).extra_load(1.0)`.
    ///
    /// In percent: 99.0, not 0.99. Clamped to 0 to 100. At 100, or if it is not a number, the hedges
    /// go to the slowest races, as far as the load allows.
    ///
    /// # The rule
    ///
    /// [`extra_load`](Self::extra_load) alone hedges every race that outlasts the delay. With 1 %
    /// the hedges start at the 99th percentile, too late to move it. This rule, SingleR, hedges
    /// earlier, and only a part of the races that last so long, which it draws at random: so some
    /// of those that would be among the slowest 1 % are not. It computes the delay and the part from
    /// the latencies of first attempts and of hedges (T. Kaler, Y. He and S. Elnikety, *Optimal
    /// Reissue Policies for Reducing Tail Latency*, SPAA 2017). In the model of that paper, in which
    /// latencies do not depend on the load, no rule with the same load is better, also if it hedges
    /// several times.
    ///
    /// # The price
    ///
    /// Races that lose the draw stay slow, so higher percentiles become longer. With 1 % extra load
    /// and hedges that are independent of the first attempt, in ms:
    ///
    /// | latencies | p99: never | `extra_load` | `percentile` | p99.9: never | `extra_load` | `percentile` |
    /// | --- | --- | --- | --- | --- | --- | --- |
    /// | lognormal, one in twenty 10 times slower | 64.2 | 64.2 | **55.8** | 102 | **72** | 94 |
    /// | exponential, mean 10 | 46.1 | 46.1 | **43.8** | 69 | **58** | 64 |
    /// | Pareto(1.5), from 1 | 21.5 | 21.5 | **15.8** | 100 | **25** | 68 |
    /// | lognormal, median 5, sigma 2 | 524 | 524 | **342** | 2,416 | **580** | 1,584 |
    ///
    /// Use it if one percentile matters and the load is scarce. For the percentile 99 with 5 % extra
    /// load or more there is little to gain.
    ///
    /// # The draw
    ///
    /// It is made once, when the race is made, for attempt 1. Later attempts, and attempt 1 if the
    /// draw is lost, have no delay: only a failure starts them, or nothing if
    /// [`OnFailure::Wait`](crate::OnFailure::Wait) says so. The numbers are those of a generator
    /// with a random seed, or with your [`seed`](Self::seed).
    ///
    /// Of the races past the delay at least 2 % are not hedged, unless the load is 100 %. Compared
    /// with the others they show what hedging is worth, also if replicas are slow together: see
    /// [`gain`](Self::gain). It is meant for races with one winner; of a quorum it takes the first
    /// accepted attempt for the end.
    ///
    /// # Memory
    ///
    /// A percentile needs some tens of samples beyond it, so 99.9 sets a [`memory`](Self::memory)
    /// of 50,000, and 99.99 and above 500,000. Hedges have a memory of their own, of 1,000; until
    /// there were 100 they are expected to take as long as first attempts. They do not count as
    /// [`samples`](Self::samples). All of it takes 152 kB, and up to 80 kB for the estimates.
    #[must_use = "it needs `extra_load`"]
    pub fn percentile(percent: f64) -> Percentile {
        Percentile::new(percent)
    }

    /// Sets the seed of the draws of a [`percentile`](Self::percentile): the same seed gives the
    /// same draws. Default: random, so that many clients do not draw alike.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        if let Some(learner) = &mut self.learner {
            learner.draws = Draws::new(seed);
        }
        self
    }

    /// Returns the share of the races past the [`delay`](Self::delay) that are hedged. It is 1
    /// without a [`percentile`](Self::percentile), and as long as there is no delay.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.rule.load().map_or(1.0, |rule| rule.share.get())
    }

    /// Returns what hedging gains, measured by a comparison of races that won and lost the draw.
    /// `None` without a [`percentile`](Self::percentile), and until enough races of both kinds have
    /// lasted longer than the delay.
    #[must_use]
    pub fn gain(&self) -> Option<Gain> {
        let learner = self.learner.as_ref()?;
        learner.gain(&self.samples)
    }

    /// Whether a race is hedged by a draw, and once.
    pub(super) fn is_single(&self) -> bool {
        self.learner.is_some()
    }

    /// Draws what a race does. `None`: it draws nothing, or does not hedge.
    pub(super) fn plan(&self) -> Option<Plan> {
        let learner = self.learner.as_ref()?;
        match self.rule.load() {
            Some(rule) => Some(learner.draws.plan(rule, self.within(rule.delay))),
            None => self.before_the_first_rule().map(|delay| Plan {
                delay,
                hedges: true,
                is_drawn: false,
            }),
        }
    }

    /// Records how long a race took for which something was drawn.
    pub(super) fn record_race(&self, plan: Plan, sample: Sample) {
        if let Some(learner) = &self.learner {
            learner.record_race(plan, sample);
        }
    }
}

/// What is learnt for a percentile besides the latencies of first attempts.
pub(super) struct Learner {
    percent: f64,
    /// The share of the races that may take longer than the percentile.
    beyond: f64,
    pub(super) draws: Draws,
    /// Of hedges.
    pub(super) hedges: Samples,
    /// Of the races that outlasted their delay and won the draw.
    won: Samples,
    /// Of those that lost it.
    lost: Samples,
    /// The races for which something was drawn that ended within their delay, since the last rule.
    pub(super) within: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    first: Curve,
    hedge: Curve,
    /// The weight of the races that ended within their delay, and of those that outlasted it and
    /// won or lost the draw. They fade together.
    within: f64,
    won: f64,
    lost: f64,
    /// How many of the last two are in the weights.
    counted: [u64; 2],
}

impl Learner {
    fn new(percent: f64) -> Self {
        let beyond = match percent {
            percent if percent.is_nan() => 0.0,
            percent => (1.0 - percent / 100.0).clamp(0.0, 1.0),
        };
        Self {
            percent,
            beyond,
            draws: Draws::new(fastrand::u64(..)),
            hedges: Samples::new(),
            won: Samples::new(),
            lost: Samples::new(),
            within: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    pub(super) fn record_race(&self, plan: Plan, sample: Sample) {
        let (Sample::Exact(took) | Sample::Censored(took)) = sample;
        match plan.hedges {
            _ if took <= plan.delay => {
                self.within.fetch_add(1, Ordering::Relaxed);
            }
            true => drop(self.won.record(sample)),
            false => drop(self.lost.record(sample)),
        }
    }

    /// Returns the best rule.
    pub(super) fn rule(&self, first: &Weights, aim: Aim) -> Option<Rule> {
        let mut state = self.learn();
        let State {
            first: curve,
            hedge,
            ..
        } = &mut *state;
        first.fill(curve);
        let mut hedges = self.hedges.lock();
        let is_new = self.hedges.learn_if_due(&mut hedges, MEMORY);
        if hedges.total() < ENOUGH_HEDGES {
            return aim.rule(curve, curve);
        }
        if is_new {
            hedges.fill(hedge);
        }
        aim.rule(curve, hedge)
    }

    pub(super) fn aim(&self, load: f64, (floor, ceiling): (u64, u64)) -> Aim {
        Aim {
            load,
            beyond: self.beyond,
            floor,
            ceiling,
        }
    }

    /// Returns how many races outlasted their delay and won the draw, and how many lost it.
    #[cfg(test)]
    pub(super) fn groups(&self) -> [u64; 2] {
        [&self.won, &self.lost].map(Samples::recorded)
    }

    /// Moves what was recorded of races into the weights.
    fn learn(&self) -> impl DerefMut<Target = State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for group in [&self.won, &self.lost] {
            group.learn_if_due(&mut group.lock(), MEMORY);
        }
        let [won, lost] = [&self.won, &self.lost].map(Samples::recorded);
        let [won_before, lost_before] = mem::replace(&mut state.counted, [won, lost]);
        state.within += self.within.swap(0, Ordering::Relaxed) as f64;
        state.won += (won - won_before) as f64;
        state.lost += (lost - lost_before) as f64;
        let scale = f64::from(2 * MEMORY) / (state.won + state.lost);
        if scale < 1.0 {
            state.within *= scale;
            state.won *= scale;
            state.lost *= scale;
        }
        state
    }

    /// Returns what hedging gains, if there are enough races with and without a hedge, and the
    /// percentile is known.
    pub(super) fn gain(&self, first: &Samples) -> Option<Gain> {
        let state = self.learn();
        let past_delay = state.won + state.lost;
        let hedged = state.won / past_delay;
        let past_delay = past_delay / (past_delay + state.within);
        drop(state);
        let groups = [&self.won, &self.lost];
        let [won, lost] = groups.map(Samples::recorded);
        if won.min(lost) < COMPARED {
            return None;
        }
        let curves = groups.map(|group| group.lock().curve());
        let percentile = |share| {
            let nanos = match survival::is_at_most(past_delay, self.beyond) {
                true => {
                    let all = first.lock().curve();
                    all.first_below(self.beyond)
                        .map(|index| all.points()[index].at)
                }
                false => gain::percentile(self.beyond, past_delay, (&curves[0], share), &curves[1]),
            };
            nanos.map(Duration::from_nanos)
        };
        Some(Gain {
            percentile: self.percent,
            hedged: percentile(hedged)?,
            unhedged: percentile(0.0)?,
            won_the_draw: won,
            lost_the_draw: lost,
        })
    }
}

impl fmt::Debug for Learner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Learner")
            .field("percent", &self.percent)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
