use std::time::Duration;

use race_core::Moment;

/// A weight below this counts as forgotten: about three times the decay after the last sample.
const FORGOTTEN: f64 = 0.05;

/// The latency of an endpoint: an exponentially weighted moving average that rises to a longer
/// sample at once (Peak EWMA, as in Twitter's Finagle). Time is an argument.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Estimate {
    /// The average in nanoseconds, and the time of the last update.
    average: Option<(f64, Moment)>,
    /// Before the first sample: how long cancelled attempts ran, in nanoseconds, and the time of
    /// the last update. It fades to zero, so that the endpoint is tried again.
    at_least: Option<(f64, Moment)>,
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
        let known = self
            .average
            .map(|(average, at)| (average, weight(now.since(at), decay)));
        match known {
            Some((average, weight)) if weight >= FORGOTTEN => Latency::Known { average, weight },
            Some(_) => Latency::Unknown { at_least: 0.0 },
            None => Latency::Unknown {
                at_least: self.at_least_at(now, decay),
            },
        }
    }

    fn at_least_at(&self, now: Moment, decay: Duration) -> f64 {
        let Some((at_least, at)) = self.at_least else {
            return 0.0;
        };
        match weight(now.since(at), decay) {
            weight if weight >= FORGOTTEN => at_least * weight,
            _ => 0.0,
        }
    }

    /// Returns the average, whatever is left of its weight.
    pub(crate) fn average(&self) -> Option<Duration> {
        let (average, _) = self.average?;
        Some(Duration::try_from_secs_f64(average / 1e9).unwrap_or(Duration::MAX))
    }

    /// Adds the latency of an attempt.
    pub(crate) fn add(&mut self, sample: Duration, now: Moment, decay: Duration) {
        let sample = nanos(sample);
        let average = match self.average {
            Some((average, at)) if sample < average => {
                let old = weight(now.since(at), decay);
                average * old + sample * (1.0 - old)
            }
            _ => sample,
        };
        self.average = Some((average, now));
    }

    /// Adds an attempt that was cancelled after this time. It would have taken longer, so it only
    /// raises the average, and keeps one from being forgotten.
    pub(crate) fn add_cancelled(&mut self, elapsed: Duration, now: Moment, decay: Duration) {
        let elapsed = nanos(elapsed);
        match self.average {
            None => {
                let at_least = self.at_least_at(now, decay).max(elapsed);
                self.at_least = Some((at_least, now));
            }
            Some((average, at)) => {
                let old = weight(now.since(at), decay);
                if elapsed > average || old < FORGOTTEN {
                    let faded = average * old + elapsed * (1.0 - old);
                    self.average = Some((faded.max(elapsed), now));
                }
            }
        }
    }
}

impl Latency {
    /// Returns the latencies of two endpoints to compare. The older one is, the closer it is drawn
    /// to the other; an unknown one counts as that of the other endpoint.
    pub(crate) fn compared(self, other: Self) -> (f64, f64) {
        match (self, other) {
            (
                Self::Known { average, weight },
                Self::Known {
                    average: of_other,
                    weight: weight_of_other,
                },
            ) => {
                let weights = weight + weight_of_other;
                let mean = (average * weight + of_other * weight_of_other) / weights;
                let drawn = |average: f64, weight: f64| mean + (average - mean) * weight;
                (drawn(average, weight), drawn(of_other, weight_of_other))
            }
            (Self::Known { average, .. }, Self::Unknown { at_least }) => {
                (average, at_least.max(average))
            }
            (Self::Unknown { at_least }, Self::Known { average, .. }) => {
                (at_least.max(average), average)
            }
            (Self::Unknown { at_least }, Self::Unknown { at_least: of_other }) => {
                (at_least, of_other)
            }
        }
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
        estimate.average().unwrap().as_secs_f64() * 1e3
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
        assert_eq!(estimate.average(), None);
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
    fn endpoint_whose_attempts_are_all_cancelled_is_not_forgotten() {
        let mut estimate = Estimate::default();
        estimate.add(50 * MS, at(0), DECAY);
        for time in (20..2_000).step_by(20) {
            estimate.add_cancelled(40 * MS, at(time), DECAY);
        }
        assert!(
            matches!(estimate.at(at(2_000), DECAY), Latency::Known { average, .. } if average >= 40e6)
        );
    }

    #[test]
    fn without_a_decay_only_the_last_sample_counts() {
        let mut estimate = Estimate::default();
        estimate.add(4 * MS, at(0), Duration::ZERO);
        estimate.add(MS, at(1), Duration::ZERO);
        assert_eq!(average(&estimate), 1.0);
        assert_eq!(estimate.at(at(1), Duration::ZERO), unknown(0.0));
    }

    #[test]
    fn old_latency_is_drawn_to_the_fresh_one_of_the_other() {
        assert_eq!(
            known(5.0, 1.0).compared(known(1_000.0, 1.0)),
            (5.0, 1_000.0)
        );
        let (fresh, old) = known(5.0, 1.0).compared(known(1_000.0, 0.1));
        assert_eq!(fresh, 5.0);
        assert!(fresh < old && old < 200.0, "{old}");
        let (one, other) = known(5.0, 0.1).compared(known(1_000.0, 0.1));
        assert!(one < other && other - one < 101.0, "{one} {other}");
    }

    #[test]
    fn unknown_latency_counts_as_that_of_the_other_or_as_what_attempts_took_at_least() {
        assert_eq!(unknown(0.0).compared(known(5.0, 0.5)), (5.0, 5.0));
        assert_eq!(known(5.0, 0.5).compared(unknown(9.0)), (5.0, 9.0));
        assert_eq!(unknown(0.0).compared(unknown(9.0)), (0.0, 9.0));
    }
}
