//! Rates that routes and tokens may not exceed.

use std::{collections::HashMap, sync::Arc, time::Duration};

use race_wheel::Tick;
use rustc_hash::FxBuildHasher;

use super::{
    settings::RouteSettings,
    timers::{Timer, Timers},
};
use crate::clock::Now;

/// The nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// Buckets that have nothing to remember are dropped when there are this many.
const MANY: usize = 4_096;

/// The key of a rate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum RateKey {
    /// Schedules of a route.
    Schedules(Arc<str>),
    /// Deliveries of a route.
    Deliveries(Arc<str>),
    /// Schedules of a token, by its id.
    OfToken(Arc<str>),
}

/// The rates of the last second.
#[derive(Debug, Default)]
pub(super) struct RateLimits {
    buckets: HashMap<RateKey, TokenBucket, FxBuildHasher>,
    /// The number of buckets from which on empty ones are looked for.
    many: usize,
}

/// A token bucket: a second's worth may come at once. A new one is full.
#[derive(Debug, Clone, Copy, Default)]
struct TokenBucket {
    /// When it will be full again.
    full_at: u64,
    /// Whether a timer waits for it.
    is_awaited: bool,
}

impl RateLimits {
    /// Takes one of `per_second`. Returns false if none is left now.
    pub(super) fn try_take(&mut self, rate: RateKey, per_second: u32, now: Tick) -> bool {
        let is_left = self.nanos_until_available(&rate, per_second, now) == 0;
        if is_left {
            self.spend(rate, per_second, now);
        }
        is_left
    }

    /// Returns the nanoseconds until one of `per_second` is left.
    pub(super) fn nanos_until_available(&self, rate: &RateKey, per_second: u32, now: Tick) -> u64 {
        let bucket = self.buckets.get(rate).copied().unwrap_or_default();
        let empty = bucket.full_at.saturating_sub(now.value());
        (empty + interval(per_second)).saturating_sub(burst(per_second))
    }

    /// Takes one of `per_second`, even if none is left: the next ones wait for longer.
    pub(super) fn spend(&mut self, rate: RateKey, per_second: u32, now: Tick) {
        if self.buckets.len() >= MANY.max(self.many) && !self.buckets.contains_key(&rate) {
            let is_needed =
                |bucket: &TokenBucket| bucket.full_at > now.value() || bucket.is_awaited;
            self.buckets.retain(|_, bucket| is_needed(bucket));
            self.many = 2 * self.buckets.len();
        }
        let bucket = self.buckets.entry(rate).or_default();
        bucket.full_at = bucket.full_at.max(now.value()) + interval(per_second);
    }

    /// Returns whether a route may send no delivery now. Then a timer expires when it may.
    #[inline]
    pub(super) fn holds_back(
        &mut self,
        route: &Arc<str>,
        settings: RouteSettings,
        now: Now,
        timers: &mut Timers,
    ) -> bool {
        let Some(per_second) = settings.deliveries_per_second else {
            return false;
        };
        let rate = RateKey::Deliveries(route.clone());
        let wait = self.nanos_until_available(&rate, per_second, now.monotonic);
        if wait > 0 && self.begin_wait(rate) {
            let at = now.after(Duration::from_nanos(wait));
            timers.insert(at, Timer::RateRefilled(Box::new(route.clone())));
        }
        wait > 0
    }

    /// Notes that a timer waits for a rate. Returns whether none did.
    fn begin_wait(&mut self, rate: RateKey) -> bool {
        let bucket = self.buckets.entry(rate).or_default();
        !std::mem::replace(&mut bucket.is_awaited, true)
    }

    /// Whether a timer waits for a rate.
    #[cfg(test)]
    pub(super) fn is_awaited(&self, rate: &RateKey) -> bool {
        let bucket = self.buckets.get(rate);
        bucket.is_some_and(|bucket| bucket.is_awaited)
    }

    /// The timer of a rate has expired.
    pub(super) fn end_wait(&mut self, rate: &RateKey) {
        if let Some(bucket) = self.buckets.get_mut(rate) {
            bucket.is_awaited = false;
        }
    }
}

/// The nanoseconds that one takes to come back. Rounded up, so that a rate is never exceeded.
const fn interval(per_second: u32) -> u64 {
    SECOND.div_ceil(per_second as u64)
}

/// The nanoseconds that a second's worth takes to come back: a second, and what was rounded up.
const fn burst(per_second: u32) -> u64 {
    interval(per_second) * per_second as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    fn rate(route: &str) -> RateKey {
        RateKey::Schedules(route.into())
    }

    fn at(millis: u64) -> Tick {
        Tick::new(5 * SECOND + millis * MILLISECOND)
    }

    #[test]
    fn second_s_worth_may_come_at_once_and_comes_back_evenly() {
        let mut quotas = RateLimits::default();
        let mut takes = |millis| quotas.try_take(rate("a"), 4, at(millis));
        assert_eq!([0; 5].map(&mut takes), [true, true, true, true, false]);
        assert!(!takes(249));
        assert!(takes(250) && !takes(250));
        assert_eq!([1_249; 5].map(takes), [true, true, true, false, false]);
    }

    #[test]
    fn second_s_worth_may_come_at_once_whatever_the_rate() {
        for per_second in [1, 3, 6, 7, 999, 999_983] {
            let mut quotas = RateLimits::default();
            let taken = (0..=per_second).filter(|_| quotas.try_take(rate("a"), per_second, at(0)));
            assert_eq!(taken.count(), per_second as usize);
        }
    }

    #[test]
    fn wait_is_exact() {
        let mut quotas = RateLimits::default();
        assert_eq!(quotas.nanos_until_available(&rate("a"), 2, at(0)), 0);
        assert!(quotas.try_take(rate("a"), 2, at(0)) && quotas.try_take(rate("a"), 2, at(0)));
        let wait = quotas.nanos_until_available(&rate("a"), 2, at(100));
        assert_eq!(wait, 400 * MILLISECOND);
        quotas.spend(rate("a"), 2, at(100));
        assert_eq!(
            quotas.nanos_until_available(&rate("a"), 2, at(100)),
            900 * MILLISECOND
        );
        assert_eq!(
            quotas.nanos_until_available(&rate("b"), 2, at(100)),
            0,
            "another route"
        );
        assert_eq!(
            quotas.nanos_until_available(&RateKey::Deliveries("a".into()), 2, at(100)),
            0
        );
    }

    #[test]
    fn rate_is_never_exceeded_over_any_time() {
        for per_second in [1, 3, 7, 1_000, 999_983] {
            let mut quotas = RateLimits::default();
            let taken =
                (0..3_000).filter(|millis| quotas.try_take(rate("a"), per_second, at(*millis)));
            let taken = u64::try_from(taken.count()).unwrap();
            assert!(taken <= 4 * u64::from(per_second), "{per_second}: {taken}");
            assert!(
                taken >= 3 * u64::from(per_second.min(900)),
                "{per_second}: {taken}"
            );
        }
    }

    #[test]
    fn buckets_that_are_full_are_forgotten() {
        let mut quotas = RateLimits::default();
        for number in 0..20_000_u64 {
            quotas.try_take(rate(&number.to_string()), 1_000, at(number));
        }
        assert!(quotas.buckets.len() <= MANY, "{}", quotas.buckets.len());
    }

    #[test]
    fn one_timer_waits_for_a_rate() {
        let mut quotas = RateLimits::default();
        assert!(quotas.begin_wait(rate("a")));
        assert!(!quotas.begin_wait(rate("a")));
        quotas.end_wait(&rate("a"));
        assert!(quotas.begin_wait(rate("a")));
    }

    #[test]
    fn one_timer_expires_when_a_route_may_deliver_again() {
        let mut timers = Timers::new(MILLISECOND);
        let mut quotas = RateLimits::default();
        let route: Arc<str> = "a".into();
        let settings = RouteSettings {
            deliveries_per_second: Some(2),
            ..RouteSettings::default()
        };
        let mut holds_back = |quotas: &mut RateLimits, millis| {
            let now = Now {
                wall_nanos: 0,
                monotonic: at(millis),
            };
            quotas.holds_back(&route, settings, now, &mut timers)
        };
        for _ in 0..2 {
            assert!(!holds_back(&mut quotas, 0));
            quotas.spend(RateKey::Deliveries(route.clone()), 2, at(0));
        }
        assert!(holds_back(&mut quotas, 0) && holds_back(&mut quotas, 499));
        assert!(!holds_back(&mut quotas, 500));
        assert!(timers.poll_limited(at(499), 9).next().is_none());
        let expired: Vec<Timer> = timers.poll_limited(at(500), 9).collect();
        assert_eq!(expired, [Timer::RateRefilled(Box::new(route))]);
    }
}
