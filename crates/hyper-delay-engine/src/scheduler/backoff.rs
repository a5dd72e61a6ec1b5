//! The delay before the next round of a task whose round has failed.

use super::SchedulerSettings;
use hyper_delay_protocol::Terms;

impl SchedulerSettings {
    /// Returns the wait after the last of `failures` failures in milliseconds: it doubles with
    /// each, and is drawn from the upper half of that.
    pub(super) fn backoff(&self, failures: u32, terms: &Terms, random: &mut fastrand::Rng) -> u64 {
        let doublings = failures.saturating_sub(1).min(63);
        let first = terms.retry_delay_ms.unwrap_or(self.retry_delay_millis);
        let longest = terms
            .max_retry_delay_ms
            .unwrap_or_else(|| self.max_retry_delay_millis.max(first));
        let most = first.saturating_mul(1 << doublings).min(longest);
        random.u64(most / 2..=most)
    }
}
