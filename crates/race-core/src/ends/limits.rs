#[cfg(feature = "alloc")]
use alloc::collections::VecDeque;
#[cfg(feature = "alloc")]
use core::time::Duration;

use crate::Moment;

/// How long attempts, and all of them together, may take. What has none is compiled to nothing.
pub trait Limits {
    /// Whether there are any.
    const ANY: bool;

    /// The race has begun, if it had not.
    fn begin(&mut self, now: impl FnOnce() -> Moment);

    /// An attempt has started, and was not ready at once.
    fn started(&mut self, place: usize, now: Moment);

    /// The next moment at which something runs out.
    fn alarm(&self) -> Moment;

    /// That moment has passed.
    fn ring(&mut self);
}

/// No limits.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited;

impl Limits for Unlimited {
    const ANY: bool = false;

    #[inline]
    fn begin(&mut self, _: impl FnOnce() -> Moment) {}

    #[inline]
    fn started(&mut self, _: usize, _: Moment) {}

    #[inline]
    fn alarm(&self) -> Moment {
        Moment::NEVER
    }

    #[inline]
    fn ring(&mut self) {}
}

/// What ran out.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub enum Expired {
    /// The time of the attempt with this place, after this long.
    Attempt(usize, Duration),
    /// The time of the race.
    Deadline,
}

/// The limits of an end that judges.
#[cfg(feature = "alloc")]
pub trait Judging: Limits {
    /// With room for limits.
    fn limited(self) -> Limited;

    /// Whether the race has begun, as far as they know.
    fn has_begun(&self) -> bool;

    /// An attempt has finished.
    fn finished(&mut self, place: usize);

    /// What has run out, if it rang.
    fn expired(&mut self) -> Option<Expired>;
}

#[cfg(feature = "alloc")]
impl Judging for Unlimited {
    fn limited(self) -> Limited {
        Limited {
            attempt_timeout: Duration::MAX,
            deadline: Duration::MAX,
            timeouts: VecDeque::new(),
            ends: None,
            rang: false,
        }
    }

    #[inline]
    fn has_begun(&self) -> bool {
        true
    }

    #[inline]
    fn finished(&mut self, _: usize) {}

    #[inline]
    fn expired(&mut self) -> Option<Expired> {
        None
    }
}

/// Limits on how long attempts, and all of them together, may take.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug)]
pub struct Limited {
    pub(super) attempt_timeout: Duration,
    pub(super) deadline: Duration,
    /// By when those that run must have finished. In the order of their places, which is that of these
    /// moments.
    timeouts: VecDeque<(usize, Moment)>,
    /// By when the race must be over, once it has begun.
    ends: Option<Moment>,
    rang: bool,
}

#[cfg(feature = "alloc")]
impl Limits for Limited {
    const ANY: bool = true;

    fn begin(&mut self, now: impl FnOnce() -> Moment) {
        if self.ends.is_none() {
            self.ends = Some(now() + self.deadline);
        }
    }

    fn started(&mut self, place: usize, now: Moment) {
        self.begin(|| now);
        match now + self.attempt_timeout {
            Moment::NEVER => {}
            moment => self.timeouts.push_back((place, moment)),
        }
    }

    fn alarm(&self) -> Moment {
        let ends = self.ends.unwrap_or(Moment::NEVER);
        let first = self.timeouts.front();
        first.map_or(ends, |&(_, moment)| moment.min(ends))
    }

    fn ring(&mut self) {
        self.rang = true;
    }
}

#[cfg(feature = "alloc")]
impl Judging for Limited {
    fn limited(self) -> Limited {
        self
    }

    fn has_begun(&self) -> bool {
        self.ends.is_some()
    }

    fn finished(&mut self, place: usize) {
        let timeouts = &mut self.timeouts;
        if let Ok(index) = timeouts.binary_search_by_key(&place, |&(place, _)| place) {
            timeouts.remove(index);
        }
    }

    fn expired(&mut self) -> Option<Expired> {
        if !core::mem::take(&mut self.rang) {
            return None;
        }
        // Those who fail at the last moment have failed before it is over.
        let alarm = self.alarm();
        match self.timeouts.front() {
            Some(&(place, moment)) if moment == alarm => {
                self.timeouts.pop_front();
                Some(Expired::Attempt(place, self.attempt_timeout))
            }
            _ => Some(Expired::Deadline),
        }
    }
}
