use core::{fmt, ops::Add};

/// A point in time: a count of ticks since an epoch of the caller's choice.
///
/// The caller also chooses the length of a tick: a nanosecond, a millisecond, a cycle of a hardware
/// counter. All ticks given to one [`Wheel`](crate::Wheel) must have the same epoch and the same
/// length.
///
/// Range: 0 to 2<sup>64</sup> - 2, and [`Tick::NEVER`]. With nanoseconds, that is about 584 years.
/// Arithmetic saturates at `NEVER`. Default: [`Tick::ZERO`].
///
/// ```
/// use race_wheel::Tick;
///
/// let noon = Tick::new(1_000);
/// assert_eq!(noon + 500, Tick::new(1_500));
/// assert_eq!(noon.since(Tick::new(400)), 600);
/// assert_eq!(noon + u64::MAX, Tick::NEVER);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(u64);

impl Tick {
    /// The epoch.
    pub const ZERO: Self = Self(0);

    /// Later than every other tick. A timer with this deadline never expires.
    pub const NEVER: Self = Self(u64::MAX);

    /// The point in time `value` ticks after the epoch. `u64::MAX` is [`Tick::NEVER`].
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The number of ticks since the epoch; `u64::MAX` for [`Tick::NEVER`].
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }

    /// The number of ticks from `earlier` to this one; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Saturates at [`Tick::NEVER`].
impl Add<u64> for Tick {
    type Output = Self;

    fn add(self, ticks: u64) -> Self {
        Self(self.0.saturating_add(ticks))
    }
}

impl fmt::Debug for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            f.write_str("Tick(never)")
        } else {
            write!(f, "Tick({})", self.0)
        }
    }
}
