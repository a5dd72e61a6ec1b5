use core::time::Duration;

use crate::{Moment, time::saturating_nanos};

/// The attempt timeout and the deadline of a race, if it has any.
///
/// `Q` keeps the expiries of the running attempts. What the timeouts do is called by way of
/// [`Calls`], so that it is not a part of a program that sets none.
#[derive(Clone, Debug)]
pub(crate) struct Timeouts<Q: 'static>(Option<Limits<Q>>);

#[derive(Clone, Debug)]
struct Limits<Q: 'static> {
    /// Nanoseconds; `u64::MAX` is none.
    attempt: u64,
    /// Nanoseconds; `u64::MAX` is none.
    race: u64,
    /// When the deadline expires; `None` until the race has read the clock.
    deadline: Option<Moment>,
    /// The attempts before this index are registered, or have finished.
    registered: usize,
    expiries: Q,
    calls: &'static Calls<Q>,
}

/// Tells whether the attempt with an index is running.
type IsRunning<'a> = &'a mut dyn FnMut(usize) -> bool;

/// What limits do. Only the functions that set limits refer to it.
#[derive(Debug)]
struct Calls<Q: 'static> {
    register: fn(&mut Limits<Q>, usize, Moment, IsRunning<'_>),
    finished: fn(&mut Limits<Q>, usize),
    begin: fn(&mut Limits<Q>, Moment),
    next: fn(&Limits<Q>) -> Moment,
    take_expired: fn(&mut Limits<Q>) -> Expired,
}

/// When an attempt exceeds its timeout.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    pub(super) index: usize,
    pub(super) at: Moment,
    /// The timeout of the attempt, in nanoseconds.
    pub(super) timeout: u64,
}

/// What expired.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expired {
    Attempt { index: usize, timeout: Duration },
    Deadline,
}

/// The expiries of the running attempts, ordered by their moments. That is also the order of their
/// indices, unless the attempt timeout of a running race was changed.
// rustc 1.85 does not see that a bound makes it reachable (rust-lang/rust#110923).
#[allow(unreachable_pub)]
pub trait Expiries: Default + 'static {
    fn insert(&mut self, expiry: Expiry);
    /// Whether there is no room for another one.
    fn is_full(&self) -> bool;
    fn retain(&mut self, is_running: impl FnMut(usize) -> bool);
    fn first(&self) -> Option<Expiry>;
    fn remove(&mut self, index: usize);
}

impl<Q: Expiries> Timeouts<Q> {
    pub(super) fn new() -> Self {
        Self(None)
    }

    /// Sets the timeout of the attempts from index `starts` on.
    pub(super) fn set_attempt(&mut self, timeout: Duration, starts: usize) {
        let limits = self.0.get_or_insert_with(Limits::new);
        limits.attempt = saturating_nanos(timeout);
        limits.registered = starts;
    }

    pub(super) fn set_deadline(&mut self, deadline: Duration) {
        let limits = self.0.get_or_insert_with(Limits::new);
        limits.race = saturating_nanos(deadline);
        limits.deadline = None;
    }

    pub(super) fn clear(&mut self) {
        self.0 = None;
    }

    #[cfg(feature = "alloc")]
    pub(super) fn clear_deadline(&mut self) {
        if let Some(limits) = &mut self.0 {
            (limits.race, limits.deadline) = (u64::MAX, None);
        }
    }

    #[inline]
    pub(super) fn are_set(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the deadline still has to be counted from the present.
    #[inline]
    pub(super) fn awaits_clock(&self) -> bool {
        self.0.as_ref().is_some_and(Limits::awaits_clock)
    }

    /// Counts the deadline from `now`.
    pub(super) fn begin(&mut self, now: Moment) {
        if let Some(limits) = &mut self.0 {
            (limits.calls.begin)(limits, now);
        }
    }

    /// Returns when the deadline expires; `NEVER` if there is none or it does not count yet.
    #[inline]
    pub(super) fn deadline(&self) -> Moment {
        let deadline = self.0.as_ref().and_then(|limits| limits.deadline);
        deadline.unwrap_or(Moment::NEVER)
    }

    /// Returns how long an attempt may take that starts `now`. `None` without limits.
    pub(super) fn time_left(&self, now: impl FnOnce() -> Moment) -> Option<Duration> {
        let limits = self.0.as_ref()?;
        let race = match limits.deadline {
            Some(Moment::NEVER) => u64::MAX,
            Some(deadline) => saturating_nanos(deadline.since(now())),
            None => limits.race,
        };
        let left = race.min(limits.attempt);
        (left != u64::MAX).then(|| Duration::from_nanos(left))
    }

    /// Whether the latest of `starts` attempts has to be registered.
    #[inline]
    pub(super) fn is_behind(&self, starts: usize) -> bool {
        let limits = self.0.as_ref();
        limits.is_some_and(|limits| limits.attempt != u64::MAX && limits.registered < starts)
    }

    /// Registers an attempt that started at `now`. `is_running` tells which attempts run: one that
    /// panicked leaves its expiry behind.
    pub(super) fn register(&mut self, index: usize, now: Moment, is_running: IsRunning<'_>) {
        if let Some(limits) = &mut self.0 {
            (limits.calls.register)(limits, index, now, is_running);
        }
    }

    /// Forgets an attempt that has finished.
    #[inline]
    pub(super) fn finished(&mut self, index: usize) {
        if let Some(limits) = &mut self.0 {
            (limits.calls.finished)(limits, index);
        }
    }

    /// Returns when something expires next.
    #[inline]
    pub(super) fn next(&self) -> Moment {
        match &self.0 {
            Some(limits) => (limits.calls.next)(limits),
            None => Moment::NEVER,
        }
    }

    /// Returns what expires next. An attempt that expires at the deadline expires before it.
    pub(super) fn take_expired(&mut self) -> Expired {
        match &mut self.0 {
            Some(limits) => (limits.calls.take_expired)(limits),
            None => Expired::Deadline,
        }
    }
}

impl<Q: Expiries> Limits<Q> {
    const CALLS: &'static Calls<Q> = &Calls {
        register: Self::register,
        finished: Self::finished,
        begin: Self::begin,
        next: Self::next,
        take_expired: Self::take_expired,
    };

    fn new() -> Self {
        Self {
            attempt: u64::MAX,
            race: u64::MAX,
            deadline: None,
            registered: 0,
            expiries: Q::default(),
            calls: Self::CALLS,
        }
    }

    #[inline]
    fn awaits_clock(&self) -> bool {
        self.race != u64::MAX && self.deadline.is_none()
    }

    fn begin(&mut self, now: Moment) {
        if self.awaits_clock() {
            self.deadline = Some(now.plus_nanos(self.race));
        }
    }

    fn register(&mut self, index: usize, now: Moment, is_running: IsRunning<'_>) {
        if self.expiries.is_full() {
            self.expiries.retain(is_running);
        }
        self.begin(now);
        self.registered = index + 1;
        let (at, timeout) = (now.plus_nanos(self.attempt), self.attempt);
        if at != Moment::NEVER {
            self.expiries.insert(Expiry { index, at, timeout });
        }
    }

    fn finished(&mut self, index: usize) {
        if index < self.registered {
            self.expiries.remove(index);
        } else {
            self.registered = index + 1;
        }
    }

    fn next(&self) -> Moment {
        let deadline = self.deadline.unwrap_or(Moment::NEVER);
        let attempt = self.expiries.first();
        attempt.map_or(deadline, |attempt| attempt.at.min(deadline))
    }

    fn take_expired(&mut self) -> Expired {
        let next = self.next();
        match self.expiries.first() {
            Some(Expiry { index, at, timeout }) if at == next => {
                self.expiries.remove(index);
                let timeout = Duration::from_nanos(timeout);
                Expired::Attempt { index, timeout }
            }
            _ => Expired::Deadline,
        }
    }
}
