use std::{fmt, time::Duration};

use crate::Run;

/// The runs of one client, one for each seed.
///
/// Its figures are medians over the runs. It displays as a line of a table whose head is
/// [`Report::HEAD`]: latencies in milliseconds, the spread of the p99 over the runs, and shares in
/// percent.
#[derive(Clone, Debug)]
pub struct Report {
    name: String,
    runs: Vec<Run>,
}

impl Report {
    /// The head of the table.
    pub const HEAD: &str = concat!(
        "                                      mean      p50      p90      p99     p99.9",
        "   p99 of all runs    extra   waste  busy",
    );

    pub(crate) fn new(name: String, runs: Vec<Run>) -> Self {
        Self { name, runs }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the runs, in the order of their seeds.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Returns the mean latency.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_secs_f64(self.median(|run| run.mean().as_secs_f64()))
    }

    /// Returns a percentile of the latencies, such as 99.9.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Duration {
        Duration::from_secs_f64(self.median(|run| run.percentile(percent).as_secs_f64()))
    }

    /// Returns the attempts beyond the first of each request, in percent of the requests.
    #[must_use]
    pub fn extra_load(&self) -> f64 {
        self.median(Run::extra_load)
    }

    /// Returns the work for attempts whose replies were dropped, in percent of all work.
    #[must_use]
    pub fn wasted(&self) -> f64 {
        self.median(Run::wasted)
    }

    /// Returns the share of the time in which servers worked, by [`Run::utilisation`].
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        self.median(Run::utilisation)
    }

    /// Returns whether the queues grow in most runs, by [`Run::is_unstable`]. The latencies then
    /// depend on how long the run is.
    #[must_use]
    pub fn is_unstable(&self) -> bool {
        let unstable = self.runs.iter().filter(|run| run.is_unstable()).count();
        2 * unstable > self.runs.len()
    }

    /// Returns the requests that arrived in a time, by [`Run::between`].
    #[must_use]
    pub fn between(&self, from: Duration, until: Duration) -> Self {
        let runs = self.runs.iter().map(|run| run.between(from, until));
        Self::new(self.name.clone(), runs.collect())
    }

    /// Returns the median of a figure over the runs.
    #[must_use]
    pub fn median(&self, figure: impl Fn(&Run) -> f64) -> f64 {
        let mut figures: Vec<_> = self.runs.iter().map(figure).collect();
        figures.sort_unstable_by(f64::total_cmp);
        let middle = figures.len() / 2;
        match figures.len() % 2 {
            1 => figures[middle],
            _ => (figures[middle - 1] + figures[middle]) / 2.0,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |latency: Duration| latency.as_secs_f64() * 1_000.0;
        write!(f, "{:<34} {:>8.2}", self.name, millis(self.mean()))?;
        for percent in [50.0, 90.0, 99.0, 99.9] {
            write!(f, " {:>8.2}", millis(self.percentile(percent)))?;
        }
        let of_runs = self.runs.iter().map(|run| millis(run.percentile(99.0)));
        let (least, most) = of_runs.fold((f64::MAX, 0.0_f64), |(least, most), it| {
            (least.min(it), most.max(it))
        });
        write!(
            f,
            " {least:>9.2}..{most:<9.2} {:>6.2} {:>7.2} {:>5.1}",
            self.extra_load(),
            self.wasted(),
            self.utilisation()
        )?;
        if self.is_unstable() {
            write!(f, "  unstable")?;
        }
        Ok(())
    }
}
