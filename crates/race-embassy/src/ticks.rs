//! Conversion between the ticks of a driver and moments, at any tick rate.

use race_core::{Moment, div_rem};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The clock of a driver with `HZ` ticks per second.
///
/// A tick and a moment agree about what has passed: `moment(now) >= deadline` exactly when
/// `now >= until(deadline)`. The arithmetic is 64 bits wide, because that of 128 bits is large and
/// slow on a microcontroller.
pub(crate) struct Ticks<const HZ: u64>;

impl<const HZ: u64> Ticks<HZ> {
    /// `TICKS` ticks take exactly `NANOS` nanoseconds. The fraction is in lowest terms.
    const TICKS: u64 = HZ / gcd(HZ, NANOS_PER_SECOND);
    const NANOS: u64 = {
        // The product of two remainders fits into 64 bits.
        assert!(HZ > 0 && HZ < u64::MAX / NANOS_PER_SECOND);
        NANOS_PER_SECOND / gcd(HZ, NANOS_PER_SECOND)
    };

    /// Returns the moment of a tick, rounded down. Saturates to [`Moment::NEVER`].
    #[inline]
    pub(crate) const fn moment(ticks: u64) -> Moment {
        let (whole, part) = div_rem(ticks, Self::TICKS);
        let whole = whole.saturating_mul(Self::NANOS);
        let (part, _) = div_rem(part * Self::NANOS, Self::TICKS);
        Moment::from_nanos(whole.saturating_add(part))
    }

    /// Returns the first tick at or after `deadline`. Returns `None` for [`Moment::NEVER`], and for
    /// a moment that the counter does not reach.
    #[inline]
    pub(crate) const fn until(deadline: Moment) -> Option<u64> {
        let nanos = deadline.as_nanos();
        if nanos == Moment::NEVER.as_nanos() {
            return None;
        }
        let (whole, rest) = div_rem(nanos, Self::NANOS);
        let part = match Self::TICKS {
            1 => (rest > 0) as u64,
            _ => div_rem(rest * Self::TICKS + (Self::NANOS - 1), Self::NANOS).0,
        };
        match whole.checked_mul(Self::TICKS) {
            Some(whole) => whole.checked_add(part),
            None => None,
        }
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}

#[cfg(test)]
mod tests;
