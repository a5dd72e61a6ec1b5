use core::time::Duration;

use crate::{
    Backoff, CatchUp, Moment, Stagger, observe::Cause, policy::WithBackoff, stagger::Next,
};

fn at(millis: u64) -> Moment {
    Moment::from_nanos(millis * 1_000_000)
}

fn unread() -> Moment {
    panic!("the clock was read")
}

/// The first attempt started at 0; the second is due at 10.
fn started() -> Stagger<Duration> {
    let mut stagger = Stagger::new(Duration::from_millis(10));
    stagger.started();
    stagger.clock(|| at(0));
    stagger
}

#[test]
fn progress_counts_the_delay_anew_and_never_makes_a_start_earlier() {
    let mut stagger = started();
    stagger.progressed(|| at(7));
    assert_eq!(stagger.next(1, unread), Next::Until(at(17)));
    stagger.progressed(|| at(3));
    assert_eq!(stagger.next(1, unread), Next::Until(at(17)));
    stagger.started();
    assert_eq!(stagger.next(1, || at(20)), Next::Until(at(30)));
}

#[test]
fn progress_tells_the_time_of_a_start() {
    let mut stagger = Stagger::new(Duration::from_millis(10));
    stagger.set_min_gap(Duration::from_millis(4));
    stagger.started();
    stagger.progressed(|| at(5));
    stagger.failed(0, 1, unread);
    assert_eq!(stagger.next(1, unread), Next::Until(at(9)), "the gap");
}

#[test]
fn progress_without_a_delay_reads_no_clock() {
    let mut first = Stagger::new(Duration::from_millis(10));
    first.progressed(unread);
    assert_eq!(first.next(0, unread), Next::Start);
    for delay in [Duration::ZERO, Duration::MAX] {
        let mut stagger = Stagger::new(delay);
        stagger.started();
        stagger.progressed(unread);
        assert_eq!(stagger.is_due(), delay.is_zero());
    }
    let mut over = started();
    over.stop();
    over.progressed(unread);
    assert_eq!(over.next(1, unread), Next::Over);
}

#[test]
fn progress_does_not_revive_a_refused_start() {
    let mut stagger = started();
    stagger.refused();
    stagger.progressed(|| at(7));
    assert_eq!(stagger.next(1, unread), Next::OnFailure);
}

#[test]
fn suspended_start_is_due_when_it_is_resumed() {
    let mut stagger = started();
    stagger.set_suspended(true);
    assert_eq!(stagger.next(1, unread), Next::OnFailure);
    stagger.set_suspended(false);
    assert_eq!(stagger.next(1, unread), Next::Until(at(10)));
}

#[test]
fn failure_and_idleness_start_the_next_beside_a_suspension() {
    let mut stagger = started();
    stagger.set_suspended(true);
    stagger.failed(0, 1, unread);
    assert_eq!(stagger.next(1, unread), Next::Start);
    assert_eq!(stagger.cause(1), Cause::Failure);
    stagger.started();
    stagger.clock(|| at(20));
    stagger.idle();
    assert_eq!(
        (stagger.next(0, unread), stagger.cause(0)),
        (Next::Start, Cause::Idle)
    );
}

#[test]
fn start_that_was_suspended_is_not_late() {
    let mut stagger = Stagger::new(Duration::from_millis(10));
    stagger.set_catch_up(CatchUp::Burst);
    stagger.started();
    stagger.clock(|| at(0));
    stagger.set_suspended(true);
    assert_eq!(stagger.next(1, unread), Next::OnFailure);
    stagger.set_suspended(false);
    assert_eq!(stagger.next(1, unread), Next::Until(at(10)));
    stagger.started();
    // Started at 1,003: the delay counts from there, although missed starts are made up for.
    stagger.clock(|| at(1_003));
    assert_eq!(stagger.next(2, unread), Next::Until(at(1_013)));
}

#[test]
fn failure_with_a_pause_is_the_cause_beside_a_suspended_start() {
    let pause = Backoff::new(Duration::from_millis(30));
    let mut stagger = Stagger::new(WithBackoff::new(Duration::from_millis(10), pause));
    stagger.started();
    stagger.clock(|| at(0));
    stagger.set_suspended(true);
    stagger.failed(0, 1, || at(5));
    assert_eq!(stagger.next(1, unread), Next::Until(at(35)));
    assert_eq!(stagger.cause(1), Cause::Failure);
}
