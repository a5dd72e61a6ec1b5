use crate::estimate::Latency;

/// The cost of one more attempt at an endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) latency: Latency,
    pub(crate) in_flight: usize,
}

/// Returns the position of the lowest cost; the first one of those that are equal.
pub(crate) fn lowest(costs: &[Cost]) -> Option<usize> {
    let scale = Scale::of(costs);
    let costs = costs.iter().map(|cost| scale.cost(cost));
    let lowest = costs
        .enumerate()
        .reduce(|lowest, other| match other.1 < lowest.1 {
            true => other,
            false => lowest,
        });
    lowest.map(|(position, _)| position)
}

/// What the latencies of some endpoints are compared by. The older a latency is, the closer it is
/// drawn to their mean; an unknown one counts as the lowest of the others.
#[derive(Clone, Copy, Debug)]
struct Scale {
    mean: f64,
    lowest: f64,
}

impl Scale {
    fn of(costs: &[Cost]) -> Self {
        let known = || {
            costs.iter().filter_map(|cost| match cost.latency {
                Latency::Known { average, weight } => Some((average, weight)),
                Latency::Unknown { .. } => None,
            })
        };
        let weights: f64 = known().map(|(_, weight)| weight).sum();
        let sum: f64 = known().map(|(average, weight)| average * weight).sum();
        let mean = sum / weights;
        let drawn = known().map(|(average, weight)| drawn(average, weight, mean));
        let lowest = drawn.reduce(f64::min).unwrap_or(0.0);
        Self { mean, lowest }
    }

    fn latency(&self, latency: Latency) -> f64 {
        match latency {
            Latency::Known { average, weight } => drawn(average, weight, self.mean),
            Latency::Unknown { at_least } => at_least.max(self.lowest),
        }
    }

    /// Returns the latency times the attempts in flight, with the new one. A latency of zero counts
    /// as one nanosecond, so that the attempts in flight count.
    fn cost(&self, cost: &Cost) -> f64 {
        self.latency(cost.latency).max(1.0) * (cost.in_flight as f64 + 1.0)
    }
}

fn drawn(average: f64, weight: f64, mean: f64) -> f64 {
    mean + (average - mean) * weight
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(average: f64, weight: f64) -> Latency {
        Latency::Known { average, weight }
    }

    fn unknown(at_least: f64) -> Latency {
        Latency::Unknown { at_least }
    }

    fn latencies<const N: usize>(latencies: [Latency; N]) -> [f64; N] {
        let costs = idle(latencies);
        let scale = Scale::of(&costs);
        costs.map(|cost| scale.latency(cost.latency))
    }

    fn idle<const N: usize>(latencies: [Latency; N]) -> [Cost; N] {
        latencies.map(|latency| Cost {
            latency,
            in_flight: 0,
        })
    }

    #[test]
    fn old_latency_is_drawn_to_the_mean_of_the_fresh_ones() {
        let fresh = latencies([known(5.0, 1.0), known(1_000.0, 1.0)]);
        assert_eq!(fresh, [5.0, 1_000.0]);
        let [fresh, old] = latencies([known(5.0, 1.0), known(1_000.0, 0.1)]);
        assert_eq!(fresh, 5.0);
        assert!(fresh < old && old < 200.0, "{old}");
        let [one, other] = latencies([known(5.0, 0.1), known(1_000.0, 0.1)]);
        assert!(one < other && other - one < 101.0, "{one} {other}");
    }

    #[test]
    fn unknown_latency_counts_as_the_lowest_or_as_what_attempts_took_at_least() {
        assert_eq!(latencies([unknown(0.0), known(5.0, 0.5)]), [5.0, 5.0]);
        assert_eq!(latencies([known(5.0, 0.5), unknown(9.0)]), [5.0, 9.0]);
        assert_eq!(latencies([unknown(0.0), unknown(9.0)]), [0.0, 9.0]);
        let three = [known(5.0, 1.0), known(100.0, 1.0), unknown(0.0)];
        assert_eq!(latencies(three), [5.0, 100.0, 5.0]);
    }

    #[test]
    fn lowest_is_the_first_of_equal_costs() {
        let mut costs = idle([known(7.0, 1.0), known(5.0, 1.0), unknown(0.0)]);
        assert_eq!(lowest(&costs), Some(1));
        costs[1].in_flight = 1;
        assert_eq!(lowest(&costs), Some(2));
        costs[2].in_flight = 1;
        assert_eq!(lowest(&costs), Some(0));
        assert_eq!(lowest(&[]), None);
    }
}
