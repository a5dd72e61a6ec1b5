use std::time::Duration;

use race_core::Moment;

/// A weight below this counts as forgotten: about three times the decay after the last sample.
const FORGOTTEN: f64 = 0.05;

/// The latency of an endpoint: an exponentially weighted moving average that rises to a longer
/// sample at once (Peak EWMA, as in Twitter's Finagle). Time is an argument.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Estimate {
    /// The average in nanoseconds, and the time of the last update.
    average: Option<Sample>,
    /// What the last failures count as. They count for one decay, beside the average, which is there
    /// again afterwards.
    failure: Option<Sample>,
    /// While there is no average: how long cancelled attempts ran. It fades to zero, so that the
    /// endpoint is tried again.
    at_least: Option<Sample>,
}

/// A time in nanoseconds, and when it was learnt.
#[derive(Clone, Copy, Debug)]
struct Sample {
    nanos: f64,
    at: Moment,
}

/// An estimate at a moment, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Latency {
    /// The average, and the weight that is left of it, from 1 to 0.05.
    Known { average: f64, weight: f64 },
    /// There were no samples, or they are forgotten. Attempts took at least this long.
    Unknown { at_least: f64 },
}

impl Estimate {
    pub(crate) fn at(&self, now: Moment, decay: Duration) -> Latency {
        let average = self.average_at(now, decay);
        let failure = self.failure_at(now, decay);
        let longer = match (average, failure) {
            (Some(average), Some(failure)) if average.nanos > failure.nanos => Some(average),
            (average, failure) => failure.or(average),
        };
        match longer {
            Some(sample) => Latency::Known {
                average: sample.nanos,
                weight: sample.weight(now, decay),
            },
            None => Latency::Unknown {
                at_least: self.at_least_at(now, decay),
            },
        }
    }

    /// Returns the average, unless it is forgotten.
    fn average_at(&self, now: Moment, decay: Duration) -> Option<Sample> {
        let is_fresh = |it: &Sample| it.weight(now, decay) >= FORGOTTEN;
        self.average.filter(is_fresh)
    }

    /// Returns what failures of the last decay count as.
    fn failure_at(&self, now: Moment, decay: Duration) -> Option<Sample> {
        self.failure.filter(|it| now.since(it.at) < decay)
    }

    fn at_least_at(&self, now: Moment, decay: Duration) -> f64 {
        let Some(at_least) = self.at_least else {
            return 0.0;
        };
        match at_least.weight(now, decay) {
            weight if weight >= FORGOTTEN => at_least.nanos * weight,
            _ => 0.0,
        }
    }

    /// Returns the longer one of the average and the last failure, however old they are.
    pub(crate) fn latest(&self) -> Option<Duration> {
        let nanos = [self.average, self.failure].map(|it| it.map(|sample| sample.nanos));
        let nanos = nanos.into_iter().flatten().reduce(f64::max)?;
        Some(Duration::try_from_secs_f64(nanos / 1e9).unwrap_or(Duration::MAX))
    }

    /// Adds the latency of an attempt that succeeded. A forgotten average is no base of the new one.
    pub(crate) fn add(&mut self, sample: Duration, now: Moment, decay: Duration) {
        let sample = nanos(sample);
        let nanos = match self.average_at(now, decay) {
            Some(average) if sample < average.nanos => average.mixed(sample, now, decay),
            _ => sample,
        };
        self.failure = self.failure_at(now, decay);
        self.average = Some(Sample { nanos, at: now });
        self.at_least = None;
    }

    /// Adds what a failed attempt counts as.
    pub(crate) fn add_failed(&mut self, counted: Duration, now: Moment, decay: Duration) {
        let before = self.failure_at(now, decay).map_or(0.0, |it| it.nanos);
        let nanos = nanos(counted).max(before);
        self.failure = Some(Sample { nanos, at: now });
    }

    /// Forgets the failures.
    pub(crate) fn forget_failures(&mut self) {
        self.failure = None;
    }

    /// Adds an attempt that was cancelled after this time. It would have taken longer, so it only
    /// raises the average.
    pub(crate) fn add_cancelled(&mut self, elapsed: Duration, now: Moment, decay: Duration) {
        let elapsed = nanos(elapsed);
        match self.average_at(now, decay) {
            None => {
                let nanos = self.at_least_at(now, decay).max(elapsed);
                self.at_least = Some(Sample { nanos, at: now });
            }
            Some(average) if elapsed > average.nanos => {
                let nanos = elapsed;
                self.average = Some(Sample { nanos, at: now });
            }
            Some(_) => {}
        }
    }
}

impl Sample {
    /// Returns what is left of the weight.
    fn weight(&self, now: Moment, decay: Duration) -> f64 {
        weight(now.since(self.at), decay)
    }

    /// Returns the average with a new sample.
    fn mixed(&self, sample: f64, now: Moment, decay: Duration) -> f64 {
        let old = self.weight(now, decay);
        self.nanos * old + sample * (1.0 - old)
    }
}

/// Returns what is left of the weight of a sample after this time.
fn weight(elapsed: Duration, decay: Duration) -> f64 {
    match decay.is_zero() {
        true => 0.0,
        false => (-elapsed.as_secs_f64() / decay.as_secs_f64()).exp(),
    }
}

fn nanos(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const DECAY: Duration = Duration::from_millis(100);

    fn at(millis: u32) -> Moment {
        (millis * MS).into()
    }

    fn known(average: f64, weight: f64) -> Latency {
        Latency::Known { average, weight }
    }

    fn unknown(at_least: f64) -> Latency {
        Latency::Unknown { at_least }
    }

    fn average(estimate: &Estimate) -> f64 {
        estimate.latest().unwrap().as_secs_f64() * 1e3
    }

    #[test]
    fn longer_sample_counts_at_once_and_a_shorter_one_by_the_time_since_the_last() {
        let mut estimate = Estimate::default();
        estimate.add(4 * MS, at(0), DECAY);
        estimate.add(10 * MS, at(1), DECAY);
        assert_eq!(average(&estimate), 10.0);
        estimate.add(MS, at(101), DECAY);
        // 10/e + 1 - 1/e.
        assert!((average(&estimate) - 4.3109).abs() < 1e-4);
    }

    #[test]
    fn average_is_forgotten_after_three_times_the_decay() {
        let mut estimate = Estimate::default();
        estimate.add(4 * MS, at(0), DECAY);
        assert_eq!(estimate.at(at(0), DECAY), known(4e6, 1.0));
        assert!(matches!(estimate.at(at(299), DECAY), Latency::Known { .. }));
        assert_eq!(estimate.at(at(300), DECAY), unknown(0.0));
        assert_eq!(average(&estimate), 4.0);
    }

    #[test]
    fn cancelled_attempt_raises_the_average() {
        let mut estimate = Estimate::default();
        estimate.add(4 * MS, at(0), DECAY);
        estimate.add_cancelled(3 * MS, at(10), DECAY);
        assert_eq!(average(&estimate), 4.0);
        estimate.add_cancelled(7 * MS, at(10), DECAY);
        assert_eq!(average(&estimate), 7.0);
    }

    #[test]
    fn cancelled_attempt_before_the_first_sample_is_a_lower_bound() {
        let mut estimate = Estimate::default();
        estimate.add_cancelled(3 * MS, at(10), DECAY);
        estimate.add_cancelled(2 * MS, at(10), DECAY);
        assert_eq!(estimate.latest(), None);
        assert_eq!(estimate.at(at(10), DECAY), unknown(3e6));
        let Latency::Unknown { at_least } = estimate.at(at(110), DECAY) else {
            panic!("there was no sample");
        };
        // 3/e.
        assert!((at_least / 1e6 - 1.1036).abs() < 1e-4);
        assert_eq!(estimate.at(at(310), DECAY), unknown(0.0));
        assert_eq!(estimate.at(at(10), Duration::ZERO), unknown(0.0));
        estimate.add(MS, at(11), DECAY);
        assert_eq!(average(&estimate), 1.0);
    }

    #[test]
    fn endpoint_whose_attempts_are_all_cancelled_does_not_look_fast() {
        let mut estimate = Estimate::default();
        estimate.add(50 * MS, at(0), DECAY);
        for time in (20..2_000).step_by(20) {
            estimate.add_cancelled(40 * MS, at(time), DECAY);
        }
        // 40 e^-0.2, after the last one at 1,980 ms.
        assert!(
            matches!(estimate.at(at(2_000), DECAY), Latency::Unknown { at_least } if at_least > 32e6)
        );
    }

    #[test]
    fn forgotten_average_is_no_base_of_the_next_one() {
        let mut estimate = Estimate::default();
        estimate.add(1_000 * MS, at(0), DECAY);
        estimate.add(5 * MS, at(299), DECAY);
        assert!(average(&estimate) > 50.0);
        let mut estimate = Estimate::default();
        estimate.add(1_000 * MS, at(0), DECAY);
        estimate.add(5 * MS, at(300), DECAY);
        assert_eq!(average(&estimate), 5.0);
    }

    #[test]
    fn failure_counts_for_one_decay_and_then_the_average_as_before() {
        let mut estimate = Estimate::default();
        estimate.add(5 * MS, at(0), DECAY);
        estimate.add_failed(1_000 * MS, at(10), DECAY);
        estimate.add(5 * MS, at(20), DECAY);
        assert!(
            matches!(estimate.at(at(109), DECAY), Latency::Known { average, .. } if average == 1e9)
        );
        assert!(
            matches!(estimate.at(at(110), DECAY), Latency::Known { average, .. } if average == 5e6)
        );
        // A shorter failure does not make a longer one shorter.
        estimate.add_failed(1_000 * MS, at(200), DECAY);
        estimate.add_failed(2 * MS, at(210), DECAY);
        assert_eq!(average(&estimate), 1_000.0);
        estimate.forget_failures();
        assert_eq!(average(&estimate), 5.0);
    }

    #[test]
    fn endpoint_that_only_failed_is_unknown_after_one_decay() {
        let mut estimate = Estimate::default();
        estimate.add_failed(1_000 * MS, at(0), DECAY);
        assert!(matches!(estimate.at(at(99), DECAY), Latency::Known { .. }));
        assert_eq!(estimate.at(at(100), DECAY), unknown(0.0));
        assert_eq!(average(&estimate), 1_000.0);
        estimate.add(5 * MS, at(100), DECAY);
        assert_eq!(average(&estimate), 5.0);
    }

    #[test]
    fn without_a_decay_only_the_last_sample_counts() {
        let mut estimate = Estimate::default();
        estimate.add(4 * MS, at(0), Duration::ZERO);
        estimate.add(MS, at(1), Duration::ZERO);
        assert_eq!(average(&estimate), 1.0);
        assert_eq!(estimate.at(at(1), Duration::ZERO), unknown(0.0));
    }
}
