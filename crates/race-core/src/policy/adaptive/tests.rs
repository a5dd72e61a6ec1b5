use std::{thread, vec::Vec};

use super::*;
use crate::{Moment, observe::Cause};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn tell(mut adaptive: &Adaptive, kind: EventKind, ran: Duration) {
    adaptive.observe(Event::new(0, Cause::First, Moment::ZERO, ran, kind));
}

fn won(adaptive: &Adaptive, times: usize, millis: u64) {
    (0..times).for_each(|_| tell(adaptive, EventKind::Won, ms(millis)));
}

/// Asserts that the delay is `millis`, or longer by at most the width of a bucket.
#[track_caller]
fn assert_delay(adaptive: &Adaptive, millis: u64) {
    let delay = adaptive.delay().expect("it has warmed up");
    let upper = ms(millis) + ms(millis) / 64;
    assert!(ms(millis) <= delay && delay <= upper, "{delay:?}");
}

#[test]
fn tower_eight_of_1_ms_and_two_of_10_ms_have_a_p90_of_10_ms() {
    let adaptive = Adaptive::quantile(0.9).warm_up(10);
    won(&adaptive, 8, 1);
    won(&adaptive, 1, 10);
    assert_eq!(adaptive.delay(), None);
    won(&adaptive, 1, 10);
    assert_delay(&adaptive, 10);
}

#[test]
fn finagle_n10_ninety_of_50_ms_and_ten_of_100_ms() {
    for (percent, millis) in [(1.0, 100), (10.0, 50)] {
        let adaptive = Adaptive::extra_load(percent);
        won(&adaptive, 90, 50);
        won(&adaptive, 10, 100);
        assert_delay(&adaptive, millis);
    }
}

#[test]
fn failsafe_q_constant_latency_is_every_quantile() {
    for quantile in [0.001, 0.5, 0.95, 0.999] {
        let adaptive = Adaptive::quantile(quantile);
        won(&adaptive, 1_000, 42);
        assert_delay(&adaptive, 42);
    }
}

#[test]
fn failsafe_q_first_sample_is_the_estimate() {
    for warm_up in [0, 1] {
        let adaptive = Adaptive::quantile(0.95).warm_up(warm_up);
        assert_eq!(adaptive.delay(), None);
        won(&adaptive, 1, 7);
        assert_delay(&adaptive, 7);
    }
}

#[test]
fn failsafe_q_uniform_latencies_have_their_quantiles() {
    for (quantile, millis, within) in [(0.5, 500, 50), (0.95, 950, 100), (0.99, 990, 250)] {
        let adaptive = Adaptive::quantile(quantile);
        // 7,919 is prime to 1,000: every value ten times, in disorder.
        (0..10_000).for_each(|it| won(&adaptive, 1, it * 7_919 % 1_000));
        let delay = adaptive.delay().expect("it has warmed up");
        assert!(delay.abs_diff(ms(millis)) <= ms(within), "{delay:?}");
    }
}

#[test]
fn failsafe_q_median_follows_from_100_to_500() {
    let adaptive = Adaptive::quantile(0.5).memory(1_000);
    won(&adaptive, 5_000, 100);
    assert_delay(&adaptive, 100);
    won(&adaptive, 1_000, 500);
    assert_delay(&adaptive, 500);
}

#[test]
fn slower_times_count_at_once_and_faster_ones_after_old_samples_faded() {
    let adaptive = Adaptive::extra_load(1.0).memory(1_000);
    won(&adaptive, 5_000, 10);
    won(&adaptive, 100, 50);
    assert_delay(&adaptive, 50);
    won(&adaptive, 3_000, 10);
    assert_delay(&adaptive, 10);
    // All are slower, then all are fast again: a hundredth is left after five times the memory.
    won(&adaptive, 20_000, 50);
    won(&adaptive, 4_000, 10);
    assert_delay(&adaptive, 50);
    won(&adaptive, 1_000, 10);
    assert_delay(&adaptive, 10);
}

#[test]
fn cancelled_and_timed_out_attempts_count_as_longer_than_they_ran() {
    for kind in [EventKind::Cancelled, EventKind::TimedOut] {
        let adaptive = Adaptive::quantile(0.9).warm_up(1);
        won(&adaptive, 50, 10);
        (0..50).for_each(|_| tell(&adaptive, kind, ms(10)));
        won(&adaptive, 50, 90);
        // Half of the 100 samples beyond 10 ms are censored there; the others took 90.
        assert_delay(&adaptive, 90);
        let half = Adaptive::quantile(0.3).warm_up(1);
        won(&half, 50, 10);
        (0..50).for_each(|_| tell(&half, kind, ms(10)));
        won(&half, 50, 90);
        assert_delay(&half, 10);
    }
}

#[test]
fn delay_is_the_longest_time_if_all_were_cancelled() {
    let adaptive = Adaptive::quantile(0.9).warm_up(3);
    for millis in [10, 30, 20] {
        tell(&adaptive, EventKind::Cancelled, ms(millis));
    }
    assert_delay(&adaptive, 30);
}

#[test]
fn failed_started_and_refused_events_are_no_samples() {
    let adaptive = Adaptive::quantile(0.9).warm_up(1);
    let suppressed = EventKind::Refused(crate::observe::Refusal::Budget);
    for kind in [EventKind::Failed, EventKind::Started, suppressed] {
        tell(&adaptive, kind, ms(10));
    }
    assert_eq!((adaptive.samples(), adaptive.delay()), (0, None));
    tell(&adaptive, EventKind::Finished, ms(10));
    assert_eq!(adaptive.samples(), 1);
    assert_delay(&adaptive, 10);
}

#[test]
fn floor_and_ceiling_limit_the_delay_and_the_ceiling_wins() {
    let ran = |adaptive: Adaptive| {
        won(&adaptive, 100, 10);
        adaptive.delay()
    };
    let adaptive = || Adaptive::quantile(0.9);
    assert_eq!(ran(adaptive().floor(ms(20))), Some(ms(20)));
    assert_eq!(ran(adaptive().ceiling(ms(5))), Some(ms(5)));
    assert_eq!(ran(adaptive().floor(ms(20)).ceiling(ms(5))), Some(ms(5)));
    let longest = adaptive().floor(Duration::MAX);
    assert_eq!(ran(longest), Some(Duration::MAX));
    assert_eq!(ran(adaptive().ceiling(Duration::ZERO)), Some(ms(0)));
}

#[test]
fn target_out_of_range_is_clamped() {
    for never in [1.0, 1.5, f64::INFINITY, f64::NAN] {
        let adaptive = Adaptive::quantile(never);
        won(&adaptive, 1_000, 10);
        assert_eq!(adaptive.delay(), None);
    }
    for never in [0.0, -1.0, f64::NEG_INFINITY, f64::NAN] {
        let adaptive = Adaptive::extra_load(never);
        won(&adaptive, 1_000, 10);
        assert_eq!(adaptive.delay(), None);
    }
    for always in [Adaptive::quantile(-1.0), Adaptive::extra_load(1_000.0)] {
        won(&always, 99, 10);
        assert_eq!(always.delay(), None);
        won(&always, 1, 10);
        assert_eq!(always.delay(), Some(ms(0)));
    }
}

#[test]
fn target_of_zero_hedges_nothing_during_the_warm_up_either() {
    for (load, hedges) in [(0.0, 0), (f64::NAN, 0), (0.1, 10), (5.0, 10)] {
        let adaptive = Adaptive::extra_load(load).initial(ms(50));
        let budget = adaptive.budget.expect("it has one");
        budget.deposit();
        let pays = |_: &u32| {
            budget.deposit();
            budget.withdraw()
        };
        assert_eq!((0..40).filter(pays).count(), hedges, "{load}");
    }
}

#[test]
fn warm_up_ends_with_the_first_delay_of_its_own() {
    let adaptive = Adaptive::quantile(0.9).warm_up(10).initial(ms(50));
    won(&adaptive, 9, 10);
    assert_eq!(
        (adaptive.is_warming_up(), adaptive.delay()),
        (true, Some(ms(50)))
    );
    won(&adaptive, 1, 10);
    assert!(!adaptive.is_warming_up());
    assert_delay(&adaptive, 10);
    let never = Adaptive::quantile(1.0).initial(ms(50));
    assert_eq!((never.is_warming_up(), never.delay()), (false, None));
}

#[test]
fn zero_and_longest_times_are_samples() {
    let adaptive = Adaptive::quantile(0.5).warm_up(1).memory(0);
    tell(&adaptive, EventKind::Won, Duration::ZERO);
    assert_eq!(adaptive.delay(), Some(Duration::ZERO));
    tell(&adaptive, EventKind::Won, Duration::MAX);
    tell(&adaptive, EventKind::Won, Duration::MAX);
    let delay = adaptive.delay().expect("it has warmed up");
    assert_eq!(delay.as_secs(), 4_398);
}

#[test]
fn same_events_give_same_delays() {
    let delays = || -> Vec<_> {
        let adaptive = Adaptive::extra_load(5.0).memory(500);
        let step = |it: u64| {
            let kind = [EventKind::Won, EventKind::Won, EventKind::Cancelled][it as usize % 3];
            tell(&adaptive, kind, Duration::from_micros(it * 7_919 % 10_007));
            adaptive.delay()
        };
        (0..5_000).map(step).collect()
    };
    assert_eq!(delays(), delays());
}

#[test]
fn samples_of_many_threads_are_all_counted() {
    let adaptive = Arc::new(Adaptive::quantile(0.5).warm_up(4_000));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let adaptive = adaptive.clone();
            thread::spawn(move || won(&adaptive, 1_000, 10))
        })
        .collect();
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    assert_eq!(adaptive.samples(), 4_000);
    // The thread that recorded the last sample computed the delay.
    assert_delay(&adaptive, 10);
}
