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
    /// The latencies, sorted.
    sorted: Vec<Duration>,
    utilisation: f64,
    is_unstable: bool,
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
    pub(crate) fn new(records: Vec<Record>, utilisation: f64, is_unstable: bool) -> Self {
        let sorted = sorted(&records);
        Self {
            records,
            sorted,
            utilisation,
            is_unstable,
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

    /// Returns the mean latency. Zero if there are no requests.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let total: f64 = self.sorted.iter().map(Duration::as_secs_f64).sum();
        Duration::from_secs_f64(total / self.sorted.len().max(1) as f64)
    }

    /// Returns a percentile of the latencies by the nearest rank, such as 99.9. Zero if there are no
    /// requests.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Duration {
        rank(&self.sorted, percent)
    }

    /// Returns the number of attempts beyond the first of each request, in percent of the requests.
    #[must_use]
    pub fn extra_load(&self) -> f64 {
        let further = |it: &Record| u64::from(it.sent.saturating_sub(1));
        let further: u64 = self.records.iter().map(further).sum();
        100.0 * further as f64 / self.records.len().max(1) as f64
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

    /// Returns the share of the time in which servers worked, from the first arrival after the
    /// warm-up to the last one, in percent.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        100.0 * self.utilisation
    }

    /// Returns whether the queues grow: the p99 of the last third of all requests is more than twice
    /// that of the first third, warm-up included. `false` with fewer than 3,000 requests.
    #[must_use]
    pub fn is_unstable(&self) -> bool {
        self.is_unstable
    }

    /// Returns the requests that arrived in a time, counted from the start of the run, without those
    /// of the warm-up. The utilisation and the stability stay those of the whole run.
    #[must_use]
    pub fn between(&self, from: Duration, until: Duration) -> Self {
        let times = Moment::from(from)..Moment::from(until);
        let records = self.records.iter().filter(|it| times.contains(&it.arrived));
        Self::new(
            records.copied().collect(),
            self.utilisation,
            self.is_unstable,
        )
    }
}

/// See [`Run::is_unstable`].
pub(crate) fn is_unstable(records: &[Record]) -> bool {
    let third = records.len() / 3;
    let p99 = |records| rank(&sorted(records), 99.0);
    third >= 1_000 && p99(&records[2 * third..]) > 2 * p99(&records[..third])
}

fn sorted(records: &[Record]) -> Vec<Duration> {
    let mut sorted: Vec<_> = records.iter().map(|it| it.took).collect();
    sorted.sort_unstable();
    sorted
}

fn rank(sorted: &[Duration], percent: f64) -> Duration {
    let rank = (sorted.len() as f64 * percent / 100.0).ceil() as usize;
    let index = rank.clamp(1, sorted.len().max(1)) - 1;
    sorted.get(index).copied().unwrap_or_default()
}
