use core::{
    fmt,
    ops::{Add, AddAssign},
    time::Duration,
};

use super::div_rem;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A point in time: nanoseconds since the epoch of a timer.
///
/// Moments of the same timer can be compared and subtracted; moments of different timers are
/// unrelated. The range is about 584 years. Arithmetic never wraps: it saturates at
/// [`Moment::NEVER`] and at zero. A moment converts from and to the [`Duration`] since the epoch.
/// The default is the epoch.
///
/// ```
/// use core::time::Duration;
/// use race_core::Moment;
///
/// let noon = Moment::from(Duration::from_micros(1));
/// assert_eq!(noon + Duration::from_nanos(500), Moment::from_nanos(1_500));
/// assert_eq!(noon + Duration::MAX, Moment::NEVER);
/// assert_eq!(noon.since(Moment::from_nanos(400)), Duration::from_nanos(600));
/// assert_eq!(noon.since(Moment::NEVER), Duration::ZERO);
/// assert_eq!(Duration::from(noon), Duration::from_micros(1));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The epoch of the timer.
    pub const ZERO: Self = Self(0);

    /// The moment that never comes. A timer polled until `NEVER` stays pending.
    pub const NEVER: Self = Self(u64::MAX);

    /// Creates the moment `nanos` nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds since the epoch; `u64::MAX` for [`Moment::NEVER`].
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time from `earlier` to this moment; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        let (seconds, nanos) = div_rem(self.0.saturating_sub(earlier.0), NANOS_PER_SECOND);
        Duration::new(seconds, nanos as u32)
    }

    /// Adds nanoseconds; saturates to [`Moment::NEVER`].
    pub(crate) const fn plus_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }
}

/// Returns a duration in nanoseconds; `u64::MAX`, which means *never*, if it is longer.
#[inline]
pub(crate) fn saturating_nanos(duration: Duration) -> u64 {
    let nanos = duration.as_secs().saturating_mul(NANOS_PER_SECOND);
    nanos.saturating_add(duration.subsec_nanos().into())
}

/// Saturates to [`Moment::NEVER`].
impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        self.plus_nanos(saturating_nanos(duration))
    }
}

/// Saturates to [`Moment::NEVER`].
impl AddAssign<Duration> for Moment {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

/// The moment this long after the epoch. Saturates to [`Moment::NEVER`].
impl From<Duration> for Moment {
    fn from(since_epoch: Duration) -> Self {
        Self::ZERO + since_epoch
    }
}

/// The time since the epoch. [`Moment::NEVER`] becomes 2^64 - 1 nanoseconds, about 584 years.
impl From<Moment> for Duration {
    fn from(moment: Moment) -> Self {
        moment.since(Moment::ZERO)
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            f.write_str("Moment(never)")
        } else {
            write!(f, "Moment({:?})", Duration::from_nanos(self.0))
        }
    }
}
