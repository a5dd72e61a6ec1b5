use std::time::Duration;

/// Counts the figures that are out of their bounds.
#[derive(Default)]
pub(crate) struct Report {
    missed: usize,
}

impl Report {
    /// Returns a mark for the end of a row: empty if `reached` is between `least` and `most` times
    /// `target`.
    pub(crate) fn within(
        &mut self,
        least: f64,
        reached: f64,
        target: f64,
        most: f64,
    ) -> &'static str {
        if (least * target..=most * target).contains(&reached) {
            ""
        } else {
            self.missed += 1;
            "  MISSED"
        }
    }

    pub(crate) fn missed(&self) -> usize {
        self.missed
    }
}

/// Sorts, and returns the percentile in milliseconds by the nearest rank.
pub(crate) fn percentile(took: &mut [Duration], percent: f64) -> f64 {
    took.sort_unstable();
    let rank = (took.len() as f64 * percent / 100.0).ceil() as usize;
    took[rank.max(1) - 1].as_secs_f64() * 1_000.0
}
