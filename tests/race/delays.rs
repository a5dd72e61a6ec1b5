use std::{future::ready, time::Duration};

use futures::{FutureExt, StreamExt, future::pending, stream::FusedStream as _};
use race::{Moment, Timer, core::Race, test::VirtualClock};

use crate::probe::{Trace, Usage, ms};

#[test]
fn attempts_come_out_in_the_order_in_which_they_finish() {
    let clock = VirtualClock::new();
    let (starts, ends) = (Trace::new(&clock), Trace::new(&clock));
    let attempts = [100, 20, 80].map(|millis| starts.attempt(millis));
    let race = Race::at(clock.timer()).of(ms(50), attempts);
    let order: Vec<usize> = clock
        .run(
            race.inspect(|_| ends.note())
                .map(|(index, _)| index)
                .collect(),
        )
        .unwrap();
    assert_eq!(order, [1, 0, 2]);
    assert_eq!(ends.millis(), [70, 100, 180]);
    assert_eq!(starts.millis(), [0, 50, 100]);
}

#[test]
fn clock_starts_at_first_poll() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let attempts = [1_000, 1_000].map(|millis| starts.attempt(millis));
    let mut race = Race::at(clock.timer()).of(ms(10), attempts);
    clock.advance(ms(500));
    clock.run(race.next()).unwrap();
    assert_eq!(starts.millis(), [500, 510]);
}

#[test]
fn zero_delay_starts_all_at_once_and_reads_no_clock() {
    let (clock, usage) = (VirtualClock::new(), Usage::default());
    let starts = Trace::new(&clock);
    let attempts = [30, 20, 10].map(|millis| starts.attempt(millis));
    let race = Race::at(usage.timer(&clock)).of(Duration::ZERO, attempts);
    let order: Vec<_> = clock.run(race.map(|(index, _)| index).collect()).unwrap();
    assert_eq!((order, starts.millis()), (vec![2, 1, 0], vec![0, 0, 0]));
    assert_eq!(usage.counts(), (0, 0));
}

#[test]
fn endless_delay_starts_one_attempt() {
    for step in [
        Duration::MAX,
        Duration::from_nanos(u64::MAX),
        Duration::from_nanos(u64::MAX - 1),
    ] {
        let clock = VirtualClock::new();
        clock.advance(ms(1));
        let starts = Trace::new(&clock);
        let attempts = [10, 10].map(|millis| starts.attempt(millis));
        let mut race = Race::at(clock.timer()).of(step, attempts);
        assert_eq!(clock.run(race.next()), Ok(Some((0, 10))));
        assert_eq!(clock.run(race.next()), Ok(None)); // the second never comes
        assert!(race.is_terminated());
        assert_eq!(starts.millis(), [1]);
    }
}

#[test]
fn stream_ends_without_waiting_for_another_delay() {
    let clock = VirtualClock::new();
    let mut race = Race::at(clock.timer()).of(ms(1_500), [ready(7)]);
    assert_eq!(clock.run(race.next()), Ok(Some((0, 7))));
    assert_eq!(clock.run(race.next()), Ok(None));
    assert_eq!(clock.elapsed(), ms(0));
    assert_eq!(clock.run(race.next()), Ok(None), "and stays ended");
}

#[test]
fn starts_are_a_delay_apart_if_attempts_are_ready_at_once() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let race = Race::at(clock.timer()).of(ms(50), (0..4).map(|_| starts.attempt(0)));
    // The consumer takes 20 ms for each, which is less than the delay.
    let consume = race.for_each(|_| clock.sleep(ms(20)));
    clock.run(consume).unwrap();
    // The first is ready in the first poll, which reads no clock: its delay counts from the next
    // poll.
    assert_eq!(starts.millis(), [0, 70, 120, 170]);
}

#[test]
fn first_attempt_that_is_ready_at_once_reads_no_clock() {
    let (clock, usage) = (VirtualClock::new(), Usage::default());
    let race = Race::at(usage.timer(&clock)).of(ms(50), [ready(1), ready(2)]);
    let won = clock.run(race.first()).unwrap().unwrap();
    assert_eq!((won.index, won.elapsed), (0, Duration::ZERO));
    assert_eq!(usage.counts(), (0, 0));
}

#[test]
fn attempts_that_fail_at_once_read_no_clock() {
    let (clock, usage) = (VirtualClock::new(), Usage::default());
    let attempts = [Err("a"), Err("b"), Ok(3)].map(ready);
    let race = Race::at(usage.timer(&clock)).of(ms(50), attempts);
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.index, won.elapsed), (2, Duration::ZERO));
    assert_eq!(usage.counts(), (0, 0));
}

#[test]
fn clock_is_read_once_per_start() {
    let (clock, usage) = (VirtualClock::new(), Usage::default());
    let attempts = [100, 20, 80, 5].map(|millis| clock.sleep(ms(millis)));
    let race = Race::at(usage.timer(&clock)).of(ms(50), attempts);
    let count = clock.run(race.count()).unwrap();
    assert_eq!(
        (count, usage.clock_reads.get()),
        (4, 3),
        "none after the last"
    );
}

#[test]
fn only_attempt_needs_no_timer() {
    let (clock, usage) = (VirtualClock::new(), Usage::default());
    let race = Race::at(usage.timer(&clock)).of(ms(50), [clock.sleep(ms(10))]);
    assert_eq!(clock.run(race.count()), Ok(1));
    assert_eq!(usage.counts(), (0, 0));
}

#[test]
fn closure_gives_the_delay_before_each_index() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let doubling = |index: usize| Some(ms(10 << index));
    let race = Race::at(clock.timer()).of(doubling, (0..4).map(|_| starts.attempt(500)));
    assert_eq!(clock.run(race.count()), Ok(4));
    assert_eq!(starts.millis(), [0, 20, 60, 140]);
}

#[test]
fn boxed_and_borrowed_timers_are_timers() {
    let clock = VirtualClock::new();
    let timer: std::pin::Pin<Box<dyn Timer + Send>> = Box::pin(clock.timer());
    let attempts = [Some(pending().left_future()), None]
        .map(|slow| slow.unwrap_or_else(|| ready(()).right_future()));
    let won = clock
        .run(Race::at(timer).of(ms(50), attempts).first())
        .unwrap();
    assert_eq!(won.unwrap().elapsed, ms(50));

    let mut mine = clock.timer();
    let attempts = [100, 20].map(|millis| clock.sleep(ms(millis)));
    let won = clock.run(Race::at(&mut mine).of(ms(50), attempts).first());
    assert_eq!(won.unwrap().unwrap().elapsed, ms(70));
    assert!(mine.now() > Moment::ZERO);
}

#[test]
fn clone_of_a_boxed_timer_is_another_alarm_on_the_same_clock() {
    let clock = VirtualClock::new();
    let timer = race::BoxTimer::new(clock.timer());
    let race = |latencies: [u64; 2]| {
        let attempts = latencies.map(|millis| clock.sleep(ms(millis)));
        Race::at(timer.clone()).of(ms(50), attempts).first()
    };
    let both = futures::future::join(race([100, 20]), race([500, 300]));
    let (first, second) = clock.run(both).unwrap();
    assert_eq!(first.unwrap().elapsed, ms(70));
    assert_eq!(second.unwrap().elapsed, ms(350));
    assert_eq!(timer.now(), clock.timer().now());
}
