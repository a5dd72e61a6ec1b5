use alloc::{format, string::String};
use core::{fmt::Write as _, time::Duration};

/// How time goes into columns.
pub(super) struct Scale {
    /// More than nothing, as it is divided by.
    span: Duration,
    columns: usize,
}

impl Scale {
    /// So many columns for so much time.
    pub(super) fn new(span: Duration, columns: usize) -> Self {
        let span = span.max(Duration::from_millis(1));
        Self { span, columns }
    }

    /// The column that is next to a time within the span, from 0 to the number of columns. So what ends with the
    /// race ends at its edge, even if it is told a moment before the last.
    pub(super) fn column(&self, at: Duration) -> usize {
        // No overflow: a moment has 64 bits.
        let span = self.span.as_nanos();
        let column = (at.as_nanos() * self.columns as u128 + span / 2) / span;
        usize::try_from(column).map_or(self.columns, |column| column.min(self.columns))
    }

    /// A round number of milliseconds at each tick, or of seconds; at most five and the zero.
    pub(super) fn axis(&self) -> String {
        type Unit = fn(u64) -> Duration;
        let (whole, unit, name): (_, Unit, _) = match self.span.as_secs() {
            0..10 => (self.span.as_millis() as u64, Duration::from_millis, "ms"),
            secs => (secs, Duration::from_secs, "s"),
        };
        let mut steps = (0..19).flat_map(|power| [1, 2, 5].map(|digit| digit * 10u64.pow(power)));
        // No more than five, and room for each number and a space.
        let room = format!("{whole} ").len();
        let fits = |step: &u64| whole / step <= 5 && self.column(unit(*step)) >= room;
        let step = steps.find(|step| fits(step) || *step > whole);
        let step = step.expect("the largest step is a quarter of what fits");
        let mut axis = String::new();
        for tick in (0..=whole / step).map(|tick| tick * step) {
            let column = self.column(unit(tick));
            axis.extend((axis.len()..column).map(|_| ' '));
            // Writing to a string does not fail.
            let _ = write!(axis, "{tick}");
        }
        format!("{axis} {name}")
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn the_axis_has_round_numbers_whatever_the_span() {
        let axis = |micros| {
            let axis = Scale::new(Duration::from_micros(micros), 40).axis();
            axis.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(axis(0), "0 1 ms");
        assert_eq!(axis(999), "0 1 ms");
        assert_eq!(axis(4_100), "0 1 2 3 4 ms");
        assert_eq!(axis(187_000), "0 50 100 150 ms");
        assert_eq!(axis(9_999_000), "0 2000 4000 6000 8000 ms");
        assert_eq!(axis(60_000_000), "0 20 40 60 s");
        assert_eq!(axis(3_000_000_000_000), "0 1000000 2000000 3000000 s");
        assert_eq!(axis(u64::MAX / 1_000), "0 10000000000 s");
    }

    #[test]
    fn the_longest_span_has_its_columns() {
        let longest = Duration::from_nanos(u64::MAX);
        let scale = Scale::new(longest, 40);
        assert_eq!(
            (scale.column(Duration::ZERO), scale.column(longest)),
            (0, 40)
        );
        assert_eq!(scale.column(longest / 2), 20);
        assert_eq!(scale.column(longest / 41 * 40), 39);
        assert_eq!(scale.column(Duration::MAX), 40);
    }
}
