use std::time::Duration;

/// Whether every bound was kept.
#[derive(Default)]
pub(crate) struct Report {
    missed: usize,
}

impl Report {
    /// A mark for the end of a row: whether `reached` is between `least` and `most` times `target`.
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

/// In milliseconds, by the nearest rank. Sorts.
pub(crate) fn percentile(took: &mut [Duration], percent: f64) -> f64 {
    took.sort_unstable();
    let rank = (took.len() as f64 * percent / 100.0).ceil() as usize;
    took[rank.max(1) - 1].as_secs_f64() * 1_000.0
}
