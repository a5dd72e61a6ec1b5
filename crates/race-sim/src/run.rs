use std::time::Duration;

use race_core::Moment;

/// One request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) arrived: Moment,
    pub(crate) took: Duration,
    /// How many attempts were sent.
    pub(crate) sent: u32,
    /// How long servers worked on its attempts.
    pub(crate) worked: Duration,
    /// How much of that was for attempts whose replies were dropped.
    pub(crate) wasted: Duration,
}

/// The requests of one seed, without the warm-up.
#[derive(Clone, Debug)]
pub struct Run {
    /// In the order of their arrival.
    records: Vec<Record>,
    /// The latencies in seconds, sorted.
    sorted: Vec<f64>,
    utilisation: f64,
}

impl Record {
    pub(crate) fn arrived(arrived: Moment) -> Self {
        Self {
            arrived,
            took: Duration::ZERO,
            sent: 0,
            worked: Duration::ZERO,
            wasted: Duration::ZERO,
        }
    }
}

impl Run {
    pub(crate) fn new(records: Vec<Record>, utilisation: f64) -> Self {
        let sorted = sorted(&records);
        Self {
            records,
            sorted,
            utilisation,
        }
    }

    #[cfg(test)]
    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the number of requests.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.records.len()
    }

    /// Returns the mean latency.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let total: f64 = self.sorted.iter().sum();
        Duration::from_secs_f64(total / self.sorted.len().max(1) as f64)
    }

    /// Returns a percentile of the latencies by the nearest rank, such as 99.9. Zero if there are no
    /// requests.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Duration {
        Duration::from_secs_f64(rank(&self.sorted, percent))
    }

    /// Returns the number of attempts beyond the first of each request, in percent of the requests.
    #[must_use]
    pub fn extra_load(&self) -> f64 {
        let sent: u64 = self.records.iter().map(|it| u64::from(it.sent)).sum();
        let requests = self.records.len().max(1) as f64;
        100.0 * (sent as f64 / requests - 1.0).max(0.0)
    }

    /// Returns the time that servers worked on attempts whose replies were dropped, in percent of
    /// all their work.
    #[must_use]
    pub fn wasted(&self) -> f64 {
        let total = |time: fn(&Record) -> Duration| -> f64 {
            self.records.iter().map(|it| time(it).as_secs_f64()).sum()
        };
        match total(|it| it.worked) {
            0.0 => 0.0,
            worked => 100.0 * total(|it| it.wasted) / worked,
        }
    }

    /// Returns the share of the time in which servers worked, in percent.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        100.0 * self.utilisation
    }

    /// Returns whether the queues grow: the p99 of the last third of the requests is more than twice
    /// that of the first third.
    #[must_use]
    pub fn is_unstable(&self) -> bool {
        let third = self.records.len() / 3;
        let p99 = |records| rank(&sorted(records), 99.0);
        let (first, last) = (&self.records[..third], &self.records[2 * third..]);
        third > 0 && p99(last) > 2.0 * p99(first)
    }

    /// Returns the requests that arrived in a time, counted from the start of the run. The
    /// utilisation stays that of the whole run.
    #[must_use]
    pub fn between(&self, from: Duration, until: Duration) -> Self {
        let times = Moment::from(from)..Moment::from(until);
        let records = self.records.iter().filter(|it| times.contains(&it.arrived));
        Self::new(records.copied().collect(), self.utilisation)
    }
}

fn sorted(records: &[Record]) -> Vec<f64> {
    let mut sorted: Vec<_> = records.iter().map(|it| it.took.as_secs_f64()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn rank(sorted: &[f64], percent: f64) -> f64 {
    let rank = (sorted.len() as f64 * percent / 100.0).ceil() as usize;
    let index = rank.clamp(1, sorted.len().max(1)) - 1;
    sorted.get(index).copied().unwrap_or(0.0)
}
