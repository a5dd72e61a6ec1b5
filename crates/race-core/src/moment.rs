use core::{
    fmt,
    ops::{Add, AddAssign},
    time::Duration,
};

/// A point in time: nanoseconds since an epoch of the timer's own.
///
/// Moments of one timer compare and subtract; moments of two timers have nothing to do with each
/// other. The range is about 584 years. Arithmetic never wraps: it saturates at [`Moment::NEVER`]
/// above and at zero below. The default is the epoch.
///
/// ```
/// use core::time::Duration;
/// use race_core::Moment;
///
/// let noon = Moment::from_nanos(1_000);
/// assert_eq!(noon + Duration::from_nanos(500), Moment::from_nanos(1_500));
/// assert_eq!(noon + Duration::MAX, Moment::NEVER);
/// assert_eq!(Moment::NEVER.since(noon + Duration::from_nanos(1)).as_secs(), 18_446_744_073);
/// assert_eq!(noon.since(Moment::NEVER), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The timer's epoch.
    pub const ZERO: Self = Self(0);

    /// The moment that does not come. A timer polled until `NEVER` stays pending.
    pub const NEVER: Self = Self(u64::MAX);

    /// The moment this many nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch; `u64::MAX` for [`Moment::NEVER`].
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time that passed from `earlier` to this moment; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates to [`Moment::NEVER`].
impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

/// Saturates to [`Moment::NEVER`].
impl AddAssign<Duration> for Moment {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
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
