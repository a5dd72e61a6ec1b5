use alloc::{format, string::String};
use core::{fmt::Write as _, time::Duration};

/// Maps times to columns.
pub(super) struct Scale {
    /// Not zero, because it is a divisor.
    span: Duration,
    columns: usize,
}

impl Scale {
    /// Creates a scale that spreads `span`, at least 1 ms, over `columns`.
    pub(super) fn new(span: Duration, columns: usize) -> Self {
        let span = span.max(Duration::from_millis(1));
        Self { span, columns }
    }

    /// Returns the column nearest to `at`, from 0 to the number of columns.
    ///
    /// It rounds, so an attempt that ends with the race ends at the edge, even if a later event of
    /// the same instant has a slightly later time.
    pub(super) fn column(&self, at: Duration) -> usize {
        // No overflow: a span between two moments has 64 bits.
        let span = self.span.as_nanos();
        let column = (at.as_nanos() * self.columns as u128 + span / 2) / span;
        usize::try_from(column).map_or(self.columns, |column| column.min(self.columns))
    }

    /// Returns the axis: 0 and at most five more ticks at round numbers of milliseconds, or of
    /// seconds if the span is 10 seconds or longer.
    pub(super) fn axis(&self) -> String {
        type Unit = fn(u64) -> Duration;
        let (whole, unit, name): (_, Unit, _) = match self.span.as_secs() {
            0..10 => (self.span.as_millis() as u64, Duration::from_millis, "ms"),
            secs => (secs, Duration::from_secs, "s"),
        };
        let mut distances =
            (0..19).flat_map(|power| [1, 2, 5].map(|digit| digit * 10u64.pow(power)));
        // At most five ticks, with room for each number and a space between two of them.
        let room = format!("{whole} ").len();
        let fits = |distance: &u64| whole / distance <= 5 && self.column(unit(*distance)) >= room;
        let distance = distances.find(|distance| fits(distance) || *distance > whole);
        let distance = distance.expect("the largest distance exceeds any span");
        let mut axis = String::new();
        for tick in (0..=whole / distance).map(|tick| tick * distance) {
            let column = self.column(unit(tick));
            axis.extend((axis.len()..column).map(|_| ' '));
            // Writing to a string does not fail.
            let _ = write!(axis, "{tick}");
        }
        format!("{axis} {name}")
    }
}

#[cfg(test)]
mod tests;
