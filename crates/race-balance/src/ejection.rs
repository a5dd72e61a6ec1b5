use std::time::Duration;

/// When an endpoint that fails is taken out of rotation, and for how long: see
/// [`Balance::ejection`](crate::Balance::ejection).
///
/// Default: after 5 failures in a row, for 30 s × the number of ejections in a row, at most 300 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ejection {
    /// `None` is never.
    failures: Option<u32>,
    first: Duration,
    longest: Duration,
}

impl Ejection {
    /// Ejects an endpoint after this number of failures in a row. 0 means 1.
    #[must_use]
    pub const fn after(failures: u32) -> Self {
        Self {
            failures: Some(failures),
            first: Duration::from_secs(30),
            longest: Duration::from_secs(300),
        }
    }

    /// Ejects no endpoint.
    #[must_use]
    pub const fn never() -> Self {
        let mut never = Self::after(0);
        never.failures = None;
        never
    }

    /// Sets how long the first ejection lasts. The second one in a row lasts twice as long, the
    /// third one three times. Default: 30 s. With zero nothing is ejected.
    #[must_use]
    pub const fn first(mut self, time: Duration) -> Self {
        self.first = time;
        self
    }

    /// Limits how long an ejection lasts. Default: 300 s. With zero nothing is ejected.
    #[must_use]
    pub const fn longest(mut self, time: Duration) -> Self {
        self.longest = time;
        self
    }

    /// Returns whether this number of failures in a row ejects an endpoint.
    pub(crate) fn is_due(&self, failures: u32) -> bool {
        !self.time(1).is_zero() && self.failures.is_some_and(|least| failures >= least)
    }

    /// Returns how long an ejection lasts, by its number in a row.
    pub(crate) fn time(&self, number: u32) -> Duration {
        self.first.saturating_mul(number).min(self.longest)
    }
}

impl Default for Ejection {
    fn default() -> Self {
        Self::after(5)
    }
}
