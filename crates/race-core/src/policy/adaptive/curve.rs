use alloc::vec::Vec;

use super::survival;

/// The share of attempts that take longer than a time, as a step function.
#[derive(Debug, Default)]
pub(super) struct Curve {
    /// Ordered by time. Kept between estimates, because it is large.
    points: Vec<Point>,
}

/// After a time, a share is still running.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// In nanoseconds.
    pub(super) at: u64,
    pub(super) running: f64,
}

impl Curve {
    /// Takes over an estimate.
    pub(super) fn fill(&mut self, points: impl Iterator<Item = Point>) {
        self.points.clear();
        self.points.extend(points);
    }

    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }

    /// Returns the share that is still running at a time.
    pub(super) fn running_at(&self, at: u64) -> f64 {
        let later = self.points.partition_point(|point| point.at <= at);
        match later.checked_sub(1) {
            Some(last) => self.points[last].running,
            None => 1.0,
        }
    }

    /// Returns the index of the first point after which at most a share is still running.
    pub(super) fn first_below(&self, share: f64) -> Option<usize> {
        let is_above = |point: &Point| !survival::is_at_most(point.running, share);
        let index = self.points.partition_point(is_above);
        (index < self.points.len()).then_some(index)
    }

    /// Reads the curve at times that do not grow.
    pub(super) fn backwards(&self) -> Backwards<'_> {
        Backwards(&self.points)
    }
}

/// Reads a [`Curve`] at times that do not grow, in constant time on average.
pub(super) struct Backwards<'a>(&'a [Point]);

impl Backwards<'_> {
    /// Returns the share that is still running at a time.
    pub(super) fn running_at(&mut self, at: u64) -> f64 {
        while let [rest @ .., last] = self.0 {
            if last.at <= at {
                return last.running;
            }
            self.0 = rest;
        }
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> Curve {
        let mut curve = Curve::default();
        let points = [(10, 0.5), (20, 0.25), (40, 0.0)];
        curve.fill(
            points
                .into_iter()
                .map(|(at, running)| Point { at, running }),
        );
        curve
    }

    #[test]
    fn a_curve_is_a_step_function() {
        let (curve, mut last) = (curve(), 1.0);
        for (at, running) in [
            (0, 1.0),
            (9, 1.0),
            (10, 0.5),
            (19, 0.5),
            (20, 0.25),
            (39, 0.25),
            (40, 0.0),
            (u64::MAX, 0.0),
        ] {
            assert_eq!(curve.running_at(at), running, "{at}");
            assert!(running <= last);
            last = running;
        }
        assert_eq!(Curve::default().running_at(u64::MAX), 1.0);
    }

    #[test]
    fn reading_backwards_gives_the_same() {
        let curve = curve();
        let mut backwards = curve.backwards();
        for at in (0..=50).rev() {
            assert_eq!(backwards.running_at(at), curve.running_at(at), "{at}");
        }
    }

    #[test]
    fn the_first_point_below_a_share() {
        let curve = curve();
        for (share, index) in [
            (1.0, Some(0)),
            (0.5, Some(0)),
            (0.4, Some(1)),
            (0.25, Some(1)),
            (0.1, Some(2)),
            (0.0, Some(2)),
        ] {
            assert_eq!(curve.first_below(share), index, "{share}");
        }
        let mut short = Curve::default();
        short.fill(curve.points()[..2].iter().copied());
        assert_eq!(short.first_below(0.1), None);
    }
}
