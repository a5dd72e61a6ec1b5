extern crate std;

use core::time::Duration;

use super::*;
use crate::{Backoff, Steps, observe::Cause, policy::WithBackoff};

fn at(millis: u64) -> Moment {
    Moment::from_nanos(millis * 1_000_000)
}

fn unread() -> Moment {
    panic!("the clock was read")
}

/// The first attempt started at 0, the second was due at 10 and started at `now`.
fn second_start_at(catch_up: CatchUp, now: Moment) -> Stagger<Duration> {
    let mut stagger = Stagger::new(Duration::from_millis(10));
    stagger.set_catch_up(catch_up);
    stagger.started();
    assert_eq!(stagger.next(1, || at(0)), Next::Until(at(10)));
    stagger.started();
    stagger.clock(|| now);
    stagger
}

#[test]
fn delay_counts_from_late_start() {
    let mut stagger = second_start_at(CatchUp::Delay, at(1_003));
    assert_eq!(stagger.next(2, unread), Next::Until(at(1_013)));
}

#[test]
fn burst_starts_every_missed_attempt_and_reads_no_clock() {
    let mut stagger = second_start_at(CatchUp::Burst, at(1_003));
    assert_eq!(stagger.next(2, unread), Next::Until(at(20)));
    stagger.started();
    assert_eq!(stagger.next(3, unread), Next::Until(at(30)));
}

#[test]
fn skip_continues_at_next_multiple_of_delay() {
    let mut stagger = second_start_at(CatchUp::Skip, at(1_003));
    assert_eq!(stagger.next(2, unread), Next::Until(at(1_010)));
    let mut on_the_grid = second_start_at(CatchUp::Skip, at(1_000));
    assert_eq!(on_the_grid.next(2, unread), Next::Until(at(1_010)));
}

#[test]
fn waiting_for_max_in_flight_is_not_made_up_for() {
    for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
        let mut stagger = Stagger::new(Duration::from_millis(10));
        stagger.set_catch_up(catch_up);
        stagger.set_max_in_flight(1);
        stagger.started();
        assert_eq!(stagger.next(1, || at(0)), Next::Full);
        assert_eq!(stagger.next(0, unread), Next::Until(at(10)));
        stagger.started();
        assert_eq!(stagger.next(0, || at(1_003)), Next::Until(at(1_013)));
    }
}

#[test]
fn lateness_counts_again_after_wait_for_max_in_flight() {
    let mut stagger = Stagger::new(Duration::from_millis(10));
    stagger.set_catch_up(CatchUp::Burst);
    stagger.started();
    stagger.clock(|| at(0));
    stagger.hold();
    stagger.next(0, unread);
    stagger.next(0, unread); // not held any more
    stagger.started();
    assert_eq!(stagger.next(0, || at(1_000)), Next::Until(at(20)));
}

#[test]
fn zero_delay_reads_no_clock() {
    let mut stagger = Stagger::new(Duration::ZERO);
    for index in 0..1_000 {
        assert_eq!(stagger.next(index, unread), Next::Start);
        assert_eq!(stagger.started(), index);
    }
}

#[test]
fn endless_delay_waits_for_failure_and_does_not_overflow() {
    for nanos in [u64::MAX, u64::MAX - 1, u64::MAX - 1_000] {
        for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
            let mut stagger = Stagger::new(Duration::from_nanos(nanos));
            stagger.set_catch_up(catch_up);
            stagger.started();
            assert_eq!(stagger.next(1, || at(1)), Next::OnFailure);
            stagger.failed(0, 1, unread);
            assert_eq!(stagger.next(0, unread), Next::Start);
        }
    }
    let mut stagger = Stagger::new(Duration::MAX);
    stagger.started();
    assert_eq!(stagger.next(1, unread), Next::OnFailure);
}

#[test]
fn only_failure_of_latest_attempt_makes_next_due() {
    let mut stagger = second_start_at(CatchUp::Delay, at(10));
    stagger.failed(0, 1, unread);
    assert_eq!(stagger.next(1, unread), Next::Until(at(20)));
    stagger.failed(1, 0, unread);
    assert_eq!(stagger.next(0, unread), Next::Start);
    stagger.started();
    assert_eq!(stagger.next(1, || at(12)), Next::Until(at(22)));
}

#[test]
fn closure_is_policy() {
    let mut stagger =
        Stagger::new(|index| (index < 2).then(|| Duration::from_millis(index as u64)));
    stagger.started();
    assert_eq!(stagger.next(1, || at(0)), Next::Until(at(1)));
    stagger.started();
    assert_eq!(stagger.next(2, unread), Next::OnFailure);
}

/// Three attempts started at 0, 10 and 20 and are running; the next is due at 30.
fn three_running(on_failure: OnFailure) -> Stagger<Duration> {
    let mut stagger = Stagger::new(Duration::from_millis(10));
    stagger.set_on_failure(on_failure);
    for index in 0..3 {
        stagger.started();
        stagger.clock(|| at(index * 10));
    }
    stagger
}

#[test]
fn each_on_failure_rule_starts_after_its_failures() {
    let failures = [(0, 2), (2, 1), (1, 0)]; // index, and how many are still running
    let rules = [
        (OnFailure::Wait, [false, false, false]),
        (OnFailure::IfLatest, [false, true, true]),
        (OnFailure::IfIdle, [false, false, true]),
        (OnFailure::Any, [true, true, true]),
    ];
    for (rule, calls) in rules {
        for ((index, running), calls) in failures.into_iter().zip(calls) {
            let mut stagger = three_running(rule);
            stagger.failed(index, running, unread);
            let expected = match calls {
                true => Next::Start,
                false => Next::Until(at(30)),
            };
            let next = stagger.next(running, unread);
            assert_eq!(
                next, expected,
                "{rule:?}: #{index} fails while {running} are running"
            );
        }
    }
}

#[test]
fn idle_race_starts_next_unless_rule_is_wait() {
    for rule in [OnFailure::IfLatest, OnFailure::IfIdle, OnFailure::Any] {
        let mut stagger = three_running(rule);
        stagger.idle();
        assert_eq!(stagger.next(0, unread), Next::Start);
    }
    let mut stagger = three_running(OnFailure::Wait);
    stagger.idle();
    assert_eq!(stagger.next(0, unread), Next::Until(at(30)));
}

#[test]
fn min_gap_limits_delays_failures_and_bursts() {
    let mut stagger = Stagger::new(Duration::from_millis(1));
    stagger.set_min_gap(Duration::from_millis(10));
    stagger.set_catch_up(CatchUp::Burst);
    stagger.started();
    assert_eq!(stagger.next(1, || at(0)), Next::Until(at(10)));
    stagger.failed(0, 0, unread);
    assert_eq!(stagger.next(0, unread), Next::Until(at(10)));
    stagger.started();
    stagger.failed(1, 0, unread); // before the time of its start is reported
    assert_eq!(stagger.next(0, || at(500)), Next::Until(at(510)));
}

#[test]
fn min_gap_without_delay_applies_to_failures() {
    let mut stagger = Stagger::new(|_: usize| None);
    stagger.set_min_gap(Duration::from_millis(10));
    stagger.started();
    assert_eq!(stagger.next(1, || at(3)), Next::OnFailure);
    stagger.failed(0, 0, unread);
    assert_eq!(stagger.next(0, unread), Next::Until(at(13)));
}

#[test]
fn endless_min_gap_allows_only_first_attempt() {
    let mut stagger = Stagger::new(Duration::ZERO);
    stagger.set_min_gap(Duration::MAX);
    stagger.started();
    assert_eq!(stagger.next(1, || at(0)), Next::Over);
    stagger.failed(0, 0, unread);
    assert_eq!(stagger.next(0, unread), Next::Over);
}

#[test]
fn pushback_postpones_starts_and_never_advances_them() {
    let mut stagger = three_running(OnFailure::Any);
    stagger.failed(0, 2, unread);
    stagger.not_before(at(25));
    assert_eq!(stagger.next(2, unread), Next::Until(at(25)));
    stagger.started();
    assert_eq!(stagger.next(3, || at(25)), Next::Until(at(35)));
    stagger.not_before(at(28));
    assert_eq!(stagger.next(3, unread), Next::Until(at(35)));
    stagger.started();
    stagger.failed(3, 3, unread);
    assert_eq!(stagger.next(3, unread), Next::Start);
    stagger.not_before(Moment::NEVER);
    assert_eq!(stagger.next(3, unread), Next::Over);
}

#[test]
fn waiting_for_pushback_is_not_made_up_for() {
    let mut stagger = three_running(OnFailure::Any);
    stagger.set_catch_up(CatchUp::Burst);
    stagger.not_before(at(100));
    assert_eq!(stagger.next(2, unread), Next::Until(at(100)));
    stagger.started();
    assert_eq!(stagger.next(2, || at(100)), Next::Until(at(110)));
}

#[test]
fn postponed_start_stays_excused() {
    let mut stagger = three_running(OnFailure::Wait);
    stagger.set_catch_up(CatchUp::Burst);
    stagger.set_max_in_flight(3);
    assert_eq!(stagger.next(3, unread), Next::Full);
    assert_eq!(stagger.next(2, unread), Next::Until(at(30)));
    stagger.put_off(); // a timeout came first
    assert_eq!(stagger.next(2, unread), Next::Until(at(30)));
    stagger.started();
    assert_eq!(stagger.next(3, || at(100)), Next::Full);
    assert_eq!(stagger.next(2, unread), Next::Until(at(110)));
}

#[test]
fn max_attempts_limits_starts_and_zero_allows_none() {
    for max in [0, 1, 3] {
        let mut stagger = Stagger::new(Duration::ZERO);
        stagger.set_max_attempts(max);
        for left in (0..max).rev() {
            assert_eq!(stagger.next(0, unread), Next::Start);
            stagger.started();
            assert_eq!(stagger.remaining(), left);
        }
        stagger.failed(0, 0, unread);
        stagger.idle();
        assert_eq!(stagger.next(0, unread), Next::Over);
        assert_eq!(stagger.remaining(), 0);
        assert!(stagger.is_over());
    }
}

#[test]
fn max_in_flight_of_zero_starts_nothing() {
    let mut stagger = Stagger::new(Duration::ZERO);
    stagger.set_max_in_flight(0);
    assert_eq!(stagger.next(0, unread), Next::Full);
}

#[test]
fn refused_start_waits_for_failure() {
    let mut stagger = Stagger::new(Duration::from_millis(10));
    stagger.started();
    assert_eq!(stagger.next(1, || at(0)), Next::Until(at(10)));
    stagger.refused();
    assert_eq!(stagger.next(1, unread), Next::OnFailure);
    stagger.failed(0, 0, unread);
    assert_eq!(stagger.cause(0), Cause::Failure);
    assert_eq!(stagger.next(0, unread), Next::Start);
    stagger.refused();
    assert_eq!(stagger.next(0, unread), Next::OnFailure);
}

#[test]
fn deferred_start_is_due_again_one_delay_later() {
    let mut stagger = Stagger::new(Duration::from_millis(10));
    stagger.started();
    assert_eq!(stagger.next(1, || at(0)), Next::Until(at(10)));
    stagger.deferred(|| at(12));
    assert_eq!(stagger.next(1, unread), Next::Until(at(22)));
    stagger.idle();
    assert_eq!(stagger.next(0, unread), Next::Until(at(22)));
    stagger.failed(0, 0, unread);
    assert_eq!(stagger.next(0, unread), Next::Start);
}

#[test]
fn deferred_start_without_delay_is_refused() {
    for delay in [Duration::ZERO, Duration::MAX] {
        let mut stagger = Stagger::new(delay);
        stagger.started();
        stagger.clock(|| at(0));
        stagger.deferred(unread);
        assert_eq!(stagger.next(1, unread), Next::OnFailure);
        stagger.idle();
        assert_eq!(stagger.next(0, unread), Next::Start);
    }
}

#[test]
fn each_start_has_a_cause() {
    let mut stagger = Stagger::new(Steps::new([10, 10, 10].map(Duration::from_millis)));
    assert_eq!(stagger.cause(0), Cause::First);
    stagger.started();
    stagger.clock(|| at(0));
    assert_eq!(stagger.cause(1), Cause::Delay);
    assert_eq!(stagger.cause(0), Cause::Idle);
    stagger.started();
    stagger.clock(|| at(10));
    stagger.failed(1, 1, unread);
    assert_eq!(stagger.cause(1), Cause::Failure);
    stagger.started();
    stagger.clock(|| at(11));
    assert_eq!(stagger.cause(2), Cause::Delay); // the failure has had its start
    stagger.idle();
    assert_eq!(stagger.cause(0), Cause::Idle);
}

/// The pause ends at 50, the delay at 100.
fn failed_with_pause() -> Stagger<WithBackoff<Duration>> {
    let backoff = Backoff::new(Duration::from_millis(30));
    let mut stagger = Stagger::new(WithBackoff::new(Duration::from_millis(100), backoff));
    stagger.started();
    stagger.clock(|| at(0));
    stagger.failed(0, 0, || at(20));
    stagger
}

#[test]
fn pause_counts_from_failure() {
    let mut stagger = failed_with_pause();
    assert_eq!(stagger.next(0, unread), Next::Until(at(50)));
    stagger.idle();
    assert_eq!(stagger.next(0, unread), Next::Until(at(50)));
    assert_eq!(stagger.cause(0), Cause::Failure);
}

#[test]
fn earlier_of_two_pauses_starts_next() {
    let mut stagger = failed_with_pause();
    stagger.failed(0, 0, || at(25)); // a pause of 60
    assert_eq!(stagger.next(0, unread), Next::Until(at(50)));
    assert_eq!(stagger.failures(), 2);
}

#[test]
fn delay_before_end_of_pause_starts_next() {
    let mut stagger = Stagger::new(WithBackoff::new(
        Duration::from_millis(40),
        Backoff::new(Duration::from_millis(500)),
    ));
    stagger.started();
    stagger.clock(|| at(0));
    stagger.failed(0, 1, || at(20));
    assert_eq!(stagger.next(1, unread), Next::Until(at(40)));
    assert_eq!(stagger.cause(1), Cause::Delay);
}

#[test]
fn start_by_failure_is_not_late() {
    let mut stagger = Stagger::new(Duration::from_millis(10));
    stagger.set_catch_up(CatchUp::Burst);
    stagger.started();
    stagger.clock(|| at(0));
    stagger.failed(0, 0, unread);
    assert_eq!(stagger.next(0, unread), Next::Start);
    stagger.started();
    assert_eq!(stagger.next(1, || at(500)), Next::Until(at(510)));
}

#[test]
fn maximum_set_after_stop_starts_nothing() {
    let mut stagger = Stagger::new(Duration::ZERO);
    stagger.stop();
    stagger.set_max_attempts(3);
    assert_eq!(stagger.next(0, unread), Next::Over);
}
