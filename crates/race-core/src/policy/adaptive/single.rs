//! When to send one hedge, and with which probability, to make a percentile short.

use core::iter;

use super::{
    curve::{Curve, Point},
    rule::{Rule, Share},
};

/// Some races past the delay must stay without a hedge, as those to compare with.
const MOST: f64 = 0.98;

/// The percentile is found to this part of itself.
const RESOLUTION: u64 = 128;

/// What a rule is to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Aim {
    /// The hedges for each race.
    pub(super) load: f64,
    /// The share of the races that may take longer than the percentile.
    pub(super) beyond: f64,
    /// The shortest delay in nanoseconds.
    pub(super) floor: u64,
    /// The longest delay in nanoseconds; it wins over the floor.
    pub(super) ceiling: u64,
}

impl Aim {
    /// Returns the rule that makes the percentile shortest, of those that send as many hedges.
    /// Without samples `None`.
    ///
    /// The rule is SingleR: one hedge, after a delay, in a share of the races that last so long
    /// (T. Kaler, Y. He, S. Elnikety, *Optimal Reissue Policies for Reducing Tail Latency*,
    /// SPAA 2017). After a delay `d` the share is what the load allows, and a race lasts longer
    /// than `t` if its first attempt does and the hedge, if there is one, takes longer than `t - d`.
    ///
    /// Hedges take at most `load` of the races off those that exceed a time. So the percentile is
    /// between the times that `beyond + load` and `beyond` of the first attempts exceed. A binary
    /// search finds the shortest time between the two that some delay reaches.
    pub(super) fn rule(&self, first: &Curve, hedge: &Curve) -> Option<Rule> {
        let longest = first.points().last()?.at;
        let time_of = |share| Some(first.points()[first.first_below(share)?].at);
        let mut high = time_of(self.beyond).unwrap_or(longest);
        let mut low = time_of(self.beyond + self.load).unwrap_or(high);
        while high - low > low / RESOLUTION {
            let middle = low + (high - low) / 2;
            match self.best(middle, first, hedge).0 <= self.beyond {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        // If nothing reaches the percentile within the times seen, the best delay for the longest.
        let (_, delay) = self.best(high, first, hedge);
        Some(self.at(delay, first))
    }

    /// Returns the smallest share of the races that can last longer than a time, and the delay for
    /// it.
    fn best(&self, end: u64, first: &Curve, hedge: &Curve) -> (f64, u64) {
        let late = first.running_at(end);
        let mut hedges = hedge.backwards();
        let mut best = (late, end);
        let start = Point {
            at: 0,
            running: 1.0,
        };
        for candidate in iter::once(start).chain(first.points().iter().copied()) {
            let delay = self.within(candidate.at);
            if delay > end {
                break;
            }
            let waiting = match delay == candidate.at {
                true => candidate.running,
                false => first.running_at(delay),
            };
            let arrived = 1.0 - hedges.running_at(end - delay);
            let running = late * (1.0 - self.share(waiting) * arrived);
            if running < best.0 {
                best = (running, delay);
            }
            if waiting * MOST <= self.load || candidate.at >= self.ceiling {
                break;
            }
        }
        best
    }

    /// Returns the rule with a delay, or with that at which the share becomes the largest.
    fn at(&self, delay: u64, first: &Curve) -> Rule {
        let latest = first.first_below(self.load / MOST);
        let latest = latest.map_or(u64::MAX, |index| first.points()[index].at);
        let delay = self.within(delay.min(latest));
        Rule {
            delay,
            share: Share::new(self.share(first.running_at(delay))),
        }
    }

    /// Returns the share of the races past a delay that are hedged, if `waiting` is the share of
    /// all races that last so long.
    fn share(&self, waiting: f64) -> f64 {
        match self.load < waiting * MOST {
            true => self.load / waiting,
            false => MOST,
        }
    }

    fn within(&self, delay: u64) -> u64 {
        delay.max(self.floor).min(self.ceiling)
    }
}

#[cfg(test)]
mod tests;
