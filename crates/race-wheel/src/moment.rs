use core::{fmt, ops::Add, time::Duration};

/// A point in time: nanoseconds since an epoch of the owner's own.
///
/// One word, so that any clock converts for free: a `race_core::Moment` by its nanoseconds, a Unix time in
/// milliseconds by a multiplication, a `Duration` since the epoch by `from`. The range is about 584
/// years. Arithmetic never wraps: it saturates at [`Moment::NEVER`]. The default is the epoch.
///
/// ```
/// use core::time::Duration;
/// use race_wheel::Moment;
///
/// let noon = Moment::from_nanos(1_000);
/// assert_eq!(noon + Duration::from_nanos(500), Moment::from_nanos(1_500));
/// assert_eq!(Moment::from(Duration::from_secs(1)).as_nanos(), 1_000_000_000);
/// assert_eq!(Moment::from(Duration::MAX), Moment::NEVER);
/// assert_eq!(Moment::NEVER.since(Moment::from_nanos(1)).as_secs(), 18_446_744_073);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The epoch.
    pub const ZERO: Self = Self(0);

    /// The moment that does not come. What is due then never expires.
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

/// So long after the epoch. Saturates to [`Moment::NEVER`].
impl From<Duration> for Moment {
    fn from(since_epoch: Duration) -> Self {
        Self(u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Saturates to [`Moment::NEVER`].
impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(Self::from(duration).0))
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
