extern crate std;

use std::vec::Vec;

use super::*;
use crate::{Fixed, Gated};

fn at(millis: u64) -> Moment {
    Moment::from_nanos(millis * 1_000_000)
}

fn unread() -> Moment {
    panic!("the clock was read")
}

/// One attempt was started at 0, another is due at 10, and it is looked at `at` again.
fn second_start_at(catch_up: CatchUp, now: Moment) -> Stagger<Fixed> {
    let mut stagger = Stagger::new(Fixed(Duration::from_millis(10)));
    stagger.set_catch_up(catch_up);
    stagger.started();
    assert_eq!(stagger.next(1, || at(0)), Next::Until(at(10)));
    stagger.started();
    stagger.clock(|| now);
    stagger
}

#[test]
fn a_late_start_delays_the_next_by_a_full_step() {
    let mut stagger = second_start_at(CatchUp::Delay, at(1_003));
    assert_eq!(stagger.next(2, unread), Next::Until(at(1_013)));
}

#[test]
fn burst_owes_every_missed_start_and_reads_no_clock() {
    let mut stagger = second_start_at(CatchUp::Burst, at(1_003));
    assert_eq!(stagger.next(2, unread), Next::Until(at(20)));
    stagger.started();
    assert_eq!(stagger.next(3, unread), Next::Until(at(30)));
}

#[test]
fn skip_goes_on_at_the_next_multiple_of_the_step() {
    let mut stagger = second_start_at(CatchUp::Skip, at(1_003));
    assert_eq!(stagger.next(2, unread), Next::Until(at(1_010)));
    let mut on_the_grid = second_start_at(CatchUp::Skip, at(1_000));
    assert_eq!(on_the_grid.next(2, unread), Next::Until(at(1_010)));
}

#[test]
fn waiting_at_the_bound_owes_nothing() {
    for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
        let mut stagger = Stagger::new(Fixed(Duration::from_millis(10)));
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
fn waiting_in_time_after_the_bound_owes_again() {
    let mut stagger = Stagger::new(Fixed(Duration::from_millis(10)));
    stagger.set_catch_up(CatchUp::Burst);
    stagger.started();
    stagger.clock(|| at(0));
    stagger.hold();
    stagger.next(0, unread);
    stagger.next(0, unread); // nothing held it up any more
    stagger.started();
    assert_eq!(stagger.next(0, || at(1_000)), Next::Until(at(20)));
}

#[test]
fn a_bound_of_zero_is_one() {
    let mut stagger = Stagger::new(Fixed(Duration::ZERO));
    stagger.set_max_in_flight(0);
    assert_eq!(stagger.next(0, unread), Next::Start);
    assert_eq!(stagger.next(1, unread), Next::Full);
}

#[test]
fn no_step_and_no_clock() {
    let mut stagger = Stagger::new(Fixed(Duration::ZERO));
    for place in 0..1_000 {
        assert_eq!(stagger.next(place, unread), Next::Start);
        assert_eq!(stagger.started(), place);
    }
}

#[test]
fn endless_steps_wait_for_a_failure_and_never_overflow() {
    for nanos in [u64::MAX, u64::MAX - 1, u64::MAX - 1_000] {
        for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
            let mut stagger = Stagger::new(Fixed(Duration::from_nanos(nanos)));
            stagger.set_catch_up(catch_up);
            stagger.started();
            assert_eq!(stagger.next(1, || at(1)), Next::OnFailure);
            stagger.failed(0, 1);
            assert_eq!(stagger.next(0, unread), Next::Start);
        }
    }
    let mut stagger = Stagger::new(Fixed(Duration::MAX));
    stagger.started();
    assert_eq!(stagger.next(1, unread), Next::OnFailure);
}

#[test]
fn only_the_latest_failure_makes_the_next_due() {
    let mut stagger = second_start_at(CatchUp::Delay, at(10));
    stagger.failed(0, 1);
    assert_eq!(stagger.next(1, unread), Next::Until(at(20)));
    stagger.failed(1, 0);
    assert_eq!(stagger.next(0, unread), Next::Start);
    stagger.started();
    assert_eq!(stagger.next(1, || at(12)), Next::Until(at(22)));
}

#[test]
fn a_closure_is_a_policy() {
    let mut stagger =
        Stagger::new(|place| (place < 2).then(|| Duration::from_millis(place as u64)));
    stagger.started();
    assert_eq!(stagger.next(1, || at(0)), Next::Until(at(1)));
    stagger.started();
    assert_eq!(stagger.next(2, unread), Next::OnFailure);
}

/// Three run, started at 0, 10 and 20; the next is due at 30.
fn three_run(on_failure: OnFailure) -> Stagger<Fixed> {
    let mut stagger = Stagger::new(Fixed(Duration::from_millis(10)));
    stagger.set_on_failure(on_failure);
    for place in 0..3 {
        stagger.started();
        stagger.clock(|| at(place * 10));
    }
    stagger
}

#[test]
fn each_rule_starts_after_its_own_failures() {
    let failures = [(0, 2), (2, 1), (1, 0)]; // place, and how many still run
    let rules = [
        (OnFailure::Wait, [false, false, false]),
        (OnFailure::IfLatest, [false, true, false]),
        (OnFailure::IfIdle, [false, false, true]),
        (OnFailure::Any, [true, true, true]),
    ];
    for (rule, calls) in rules {
        for ((place, running), calls) in failures.into_iter().zip(calls) {
            let mut stagger = three_run(rule);
            stagger.failed(place, running);
            let expected = match calls {
                true => Next::Start,
                false => Next::Until(at(30)),
            };
            let next = stagger.next(running, unread);
            assert_eq!(next, expected, "{rule:?}: {place} fails, {running} run");
        }
    }
}

#[test]
fn nothing_but_wait_waits_when_nothing_runs() {
    for rule in [OnFailure::IfLatest, OnFailure::IfIdle, OnFailure::Any] {
        let mut stagger = three_run(rule);
        stagger.idle();
        assert_eq!(stagger.next(0, unread), Next::Start);
    }
    let mut stagger = three_run(OnFailure::Wait);
    stagger.idle();
    assert_eq!(stagger.next(0, unread), Next::Until(at(30)));
}

#[test]
fn a_gap_holds_against_steps_failures_and_bursts() {
    let mut stagger = Stagger::new(Fixed(Duration::from_millis(1)));
    stagger.set_min_gap(Duration::from_millis(10));
    stagger.set_catch_up(CatchUp::Burst);
    stagger.started();
    assert_eq!(stagger.next(1, || at(0)), Next::Until(at(10)));
    stagger.failed(0, 0);
    assert_eq!(stagger.next(0, unread), Next::Until(at(10)));
    stagger.started();
    stagger.failed(1, 0); // before the time of its start was told
    assert_eq!(stagger.next(0, || at(500)), Next::Until(at(510)));
}

#[test]
fn a_gap_without_a_step_counts_for_failures() {
    let mut stagger = Stagger::new(|_: usize| None);
    stagger.set_min_gap(Duration::from_millis(10));
    stagger.started();
    assert_eq!(stagger.next(1, || at(3)), Next::OnFailure);
    stagger.failed(0, 0);
    assert_eq!(stagger.next(0, unread), Next::Until(at(13)));
}

#[test]
fn a_gap_without_end_lets_only_the_first_start() {
    let mut stagger = Stagger::new(Fixed(Duration::ZERO));
    stagger.set_min_gap(Duration::MAX);
    stagger.started();
    assert_eq!(stagger.next(1, || at(0)), Next::OnFailure);
    stagger.failed(0, 0);
    assert_eq!(stagger.next(0, unread), Next::Over);
}

#[test]
fn a_pushback_moves_starts_back_and_never_forward() {
    let mut stagger = three_run(OnFailure::Any);
    stagger.failed(0, 2);
    stagger.not_before(at(25));
    assert_eq!(stagger.next(2, unread), Next::Until(at(25)));
    stagger.started();
    assert_eq!(stagger.next(3, || at(25)), Next::Until(at(35)));
    stagger.not_before(at(28));
    assert_eq!(stagger.next(3, unread), Next::Until(at(35)));
    stagger.started();
    stagger.make_due(); // what was asked for has been done
    assert_eq!(stagger.next(3, unread), Next::Start);
    stagger.not_before(Moment::NEVER);
    assert_eq!(stagger.next(3, unread), Next::Over);
}

#[test]
fn waiting_for_a_pushback_owes_nothing() {
    let mut stagger = three_run(OnFailure::Any);
    stagger.set_catch_up(CatchUp::Burst);
    stagger.not_before(at(100));
    assert_eq!(stagger.next(2, unread), Next::Until(at(100)));
    stagger.started();
    assert_eq!(stagger.next(2, || at(100)), Next::Until(at(110)));
}

#[test]
fn a_start_that_is_put_off_is_still_excused() {
    let mut stagger = three_run(OnFailure::Wait);
    stagger.set_catch_up(CatchUp::Burst);
    stagger.set_max_in_flight(3);
    assert_eq!(stagger.next(3, unread), Next::Full);
    assert_eq!(stagger.next(2, unread), Next::Until(at(30)));
    stagger.put_off(); // something else came first
    assert_eq!(stagger.next(2, unread), Next::Until(at(30)));
    stagger.started();
    assert_eq!(stagger.next(3, || at(100)), Next::Full);
    assert_eq!(stagger.next(2, unread), Next::Until(at(110)));
}

#[test]
fn no_more_than_the_most_are_started_and_one_at_least() {
    for (max, starts) in [(0, 1), (1, 1), (3, 3)] {
        let mut stagger = Stagger::new(Fixed(Duration::ZERO));
        stagger.set_max_attempts(max);
        for _ in 0..starts {
            assert_eq!(stagger.next(0, unread), Next::Start);
            stagger.started();
        }
        stagger.make_due();
        assert_eq!(stagger.next(0, unread), Next::Over);
        assert_eq!(stagger.remaining(), 0);
    }
}

#[test]
fn who_is_refused_waits_for_a_failure_and_is_asked_again() {
    let mut asked = Vec::new();
    let gate = |standing: &Standing<'_>| {
        asked.push((standing.place, standing.running, standing.failed));
        standing.failed > 0
    };
    let mut stagger = Stagger::new(Gated::new(Fixed(Duration::from_millis(10)), gate));
    let elapsed = || Duration::from_millis(7);
    assert!(stagger.admit(0, &elapsed)); // the first is never refused
    stagger.started();
    assert_eq!(stagger.next(1, || at(0)), Next::Until(at(10)));
    assert!(!stagger.admit(1, &elapsed));
    assert_eq!(stagger.next(1, unread), Next::OnFailure);
    stagger.failed(0, 0);
    assert_eq!(stagger.next(0, unread), Next::Start);
    assert!(stagger.admit(0, &elapsed));
    stagger.started();
    assert_eq!(asked, [(1, 1, 0), (1, 0, 1)]);
}
