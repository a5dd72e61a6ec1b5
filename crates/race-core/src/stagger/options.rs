use core::time::Duration;

use super::{CatchUp, OnFailure, Stagger, due::Phase};
use crate::{Moment, Policy, time::saturating_nanos};

impl<P: Policy> Stagger<P> {
    /// Sets what happens to missed starts, from the next start on. Default: [`CatchUp::Delay`].
    pub fn set_catch_up(&mut self, catch_up: CatchUp) {
        self.catch_up = catch_up;
        self.make_up = Some(CatchUp::next_start);
        self.planned = Moment::NEVER;
    }

    /// Sets what a failure starts. Default: [`OnFailure::IfLatest`].
    pub fn set_on_failure(&mut self, on_failure: OnFailure) {
        self.on_failure = on_failure;
    }

    /// Limits how many attempts run at once; 0 allows none. Default: no limit.
    pub fn set_max_in_flight(&mut self, max: usize) {
        self.max_in_flight = max;
    }

    /// Limits how many attempts start in total; 0 allows none. Default: no limit.
    pub fn set_max_attempts(&mut self, max: usize) {
        let allowed_none = core::mem::replace(&mut self.max_attempts, max) == 0;
        if self.starts >= max {
            self.stop();
        } else if allowed_none {
            (self.phase, self.by_time) = (Phase::Timed, Moment::ZERO); // the first attempt is due
        }
    }

    /// Sets the minimum time between two starts, whatever the delay, failures and missed starts. It
    /// applies from the next start on. Default: zero.
    pub fn set_min_gap(&mut self, gap: Duration) {
        self.min_gap = saturating_nanos(gap);
    }

    /// Replaces the policy, from the next start on.
    pub(crate) fn map_policy<Q>(self, map: impl FnOnce(P) -> Q) -> Stagger<Q> {
        Stagger {
            policy: map(self.policy),
            catch_up: self.catch_up,
            make_up: self.make_up,
            on_failure: self.on_failure,
            excuse: self.excuse,
            suspended: self.suspended,
            call: self.call,
            failures: self.failures,
            max_in_flight: self.max_in_flight,
            max_attempts: self.max_attempts,
            min_gap: self.min_gap,
            starts: self.starts,
            delay: self.delay,
            by_time: self.by_time,
            phase: self.phase,
            planned: self.planned,
            earliest: self.earliest,
        }
    }
}
