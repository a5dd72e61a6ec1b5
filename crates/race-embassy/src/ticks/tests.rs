use proptest::prelude::*;
use race_core::Moment;

use super::{NANOS_PER_SECOND, Ticks};

/// A tick rate, with the conversions at that rate.
#[derive(Clone, Copy, Debug)]
struct Rate {
    hz: u64,
    moment: fn(u64) -> Moment,
    until: fn(Moment) -> Option<u64>,
}

macro_rules! rates {
    ($($hz:literal)*) => {
        [$(Rate { hz: $hz, moment: Ticks::<$hz>::moment, until: Ticks::<$hz>::until }),*]
    };
}

/// The extremes of embassy's rates, its odd ones, and some that it does not have: primes, the
/// neighbours of a nanosecond, and the highest rate that compiles.
const RATES: [Rate; 24] = rates![
    1 2 10 16 100 1_000 1_024 31_250 32_000 32_768 65_536 375_000 1_000_000 1_048_576 16_000_000
    48_000_000 133_000_000 999_999_937 999_999_999 1_000_000_000 1_000_000_001 1_310_720_000
    5_242_880_000 18_446_744_072
];

/// The moment of a tick, by wide arithmetic.
fn model_moment(hz: u64, ticks: u64) -> Moment {
    let nanos = u128::from(ticks) * u128::from(NANOS_PER_SECOND) / u128::from(hz);
    u64::try_from(nanos).map_or(Moment::NEVER, Moment::from_nanos)
}

/// The first tick at or after a moment, by wide arithmetic.
fn model_until(hz: u64, deadline: Moment) -> Option<u64> {
    let nanos = u128::from(deadline.as_nanos());
    let ticks = (nanos * u128::from(hz)).div_ceil(u128::from(NANOS_PER_SECOND));
    let ticks = u64::try_from(ticks).ok();
    ticks.filter(|_| deadline != Moment::NEVER)
}

/// Numbers of every size, and those near the ends and near whole seconds.
fn numbers() -> impl Strategy<Value = u64> {
    let near = |at: u64| (0..3u64).prop_map(move |by| at.saturating_add(by).saturating_sub(1));
    prop_oneof![
        (any::<u64>(), 0..64u32).prop_map(|(number, shift)| number >> shift),
        (0..20_000_000_000u64)
            .prop_flat_map(move |second| { near(second.saturating_mul(NANOS_PER_SECOND)) }),
        near(0),
        near(u64::MAX),
        near(u64::MAX / NANOS_PER_SECOND),
    ]
}

proptest! {
    #[test]
    fn conversions_equal_wide_arithmetic(number in numbers(), rate in prop::sample::select(&RATES)) {
        let moment = Moment::from_nanos(number);
        prop_assert_eq!((rate.moment)(number), model_moment(rate.hz, number));
        prop_assert_eq!((rate.until)(moment), model_until(rate.hz, moment));
    }

    #[test]
    fn ticks_and_moments_agree_about_what_has_passed(
        now in numbers(), deadline in numbers(), rate in prop::sample::select(&RATES),
    ) {
        let deadline = Moment::from_nanos(deadline);
        // `Moment::NEVER` never passes, even when the clock has saturated.
        prop_assume!(deadline != Moment::NEVER);
        let Some(until) = (rate.until)(deadline) else {
            prop_assert!((rate.moment)(u64::MAX) < deadline);
            return Ok(());
        };
        prop_assert_eq!((rate.moment)(now) >= deadline, now >= until);
        prop_assert!((rate.moment)(until) >= deadline, "early");
        if let Some(before) = until.checked_sub(1) {
            prop_assert!((rate.moment)(before) < deadline, "a tick late");
        }
    }

    #[test]
    fn clock_does_not_go_backwards(ticks in numbers(), rate in prop::sample::select(&RATES)) {
        prop_assert!((rate.moment)(ticks) <= (rate.moment)(ticks.saturating_add(1)));
    }
}

#[test]
fn deadline_between_two_ticks_of_a_watch_crystal_is_rounded_up() {
    type Crystal = Ticks<32_768>;
    assert_eq!(Crystal::moment(1), Moment::from_nanos(30_517)); // 30,517.578125
    assert_eq!(Crystal::moment(32_768), Moment::from_nanos(1_000_000_000));
    for (nanos, tick) in [
        (0, 0),
        (1, 1),
        (30_517, 1),
        (30_518, 2),
        (61_035, 2),
        (61_036, 3),
    ] {
        assert_eq!(
            Crystal::until(Moment::from_nanos(nanos)),
            Some(tick),
            "{nanos} ns"
        );
    }
}

#[test]
fn never_is_never_at_any_rate() {
    for rate in RATES {
        assert_eq!((rate.until)(Moment::NEVER), None, "{} Hz", rate.hz);
    }
}

#[test]
fn deadline_beyond_the_counter_is_never() {
    let late = Moment::from_nanos(u64::MAX - 1);
    assert_eq!(Ticks::<5_242_880_000>::until(late), None);
    assert_eq!(Ticks::<1_000_000_000>::until(late), Some(u64::MAX - 1));
    assert_eq!(Ticks::<1>::until(late), Some(18_446_744_074));
    assert_eq!(Ticks::<1>::moment(18_446_744_074), Moment::NEVER); // saturates
}
