use futures::{StreamExt, poll};
use race::{CatchUp, VirtualClock, core::Race};

use crate::probe::{Trace, ms};

/// Ten-millisecond steps; the consumer takes the first completion at 5 and is away for a second.
fn starts_around_an_idle_second(catch_up: CatchUp) -> Vec<u64> {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let attempts = (0..).map(|place| starts.attempt(if place == 0 { 5 } else { 10_000 }));
    let mut race = Race::of_with(clock.timer(), ms(10), attempts).catch_up(catch_up);
    clock
        .run(async {
            race.next().await;
            clock.advance(ms(1_000));
            // Poll until 1025, and again as soon as anything is woken.
            let until = clock.sleep(ms(20));
            futures::future::select(race.next(), until).await;
        })
        .unwrap();
    starts.millis()
}

#[test]
fn delay_starts_one_and_the_next_a_step_later() {
    assert_eq!(
        starts_around_an_idle_second(CatchUp::Delay),
        [0, 1_005, 1_015, 1_025]
    );
    assert_eq!(CatchUp::default(), CatchUp::Delay);
}

#[test]
fn skip_goes_on_with_the_old_grid() {
    assert_eq!(
        starts_around_an_idle_second(CatchUp::Skip),
        [0, 1_005, 1_010, 1_020]
    );
}

#[test]
fn burst_starts_every_one_that_was_missed() {
    let starts = starts_around_an_idle_second(CatchUp::Burst);
    let missed = vec![1_005; 100]; // due at 10, 20, .. 1000
    assert_eq!(starts[1..101], missed);
    assert_eq!(starts[101..], [1_010, 1_020]);
}

#[test]
fn a_burst_is_capped_in_each_poll() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let attempts = (0..).map(|_| starts.attempt(10_000));
    let mut race = Race::of_with(clock.timer(), ms(1), attempts).catch_up(CatchUp::Burst);
    clock
        .run(async {
            assert!(poll!(race.next()).is_pending());
            clock.advance(ms(1_000));
            let mut before = race.len();
            for _ in 0..1_000 {
                assert!(poll!(race.next()).is_pending());
                assert!(
                    race.len() - before <= 100,
                    "a burst must leave room for others"
                );
                before = race.len();
            }
        })
        .unwrap();
    assert_eq!(starts.millis().len(), 1_001, "none is lost");
}

#[test]
fn a_second_at_the_bound_owes_nothing() {
    for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
        let clock = VirtualClock::new();
        let starts = Trace::new(&clock);
        let attempts = (0..4).map(|_| starts.attempt(1_003));
        let race = Race::of_with(clock.timer(), ms(10), attempts)
            .catch_up(catch_up)
            .max_in_flight(2);
        clock.run(race.count()).unwrap();
        assert_eq!(starts.millis(), [0, 10, 1_003, 1_013], "{catch_up:?}");
    }
}

#[test]
fn a_consumer_in_time_keeps_the_grid() {
    for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
        let clock = VirtualClock::new();
        let starts = Trace::new(&clock);
        let attempts = (0..4).map(|_| starts.attempt(7));
        let race = Race::of_with(clock.timer(), ms(10), attempts).catch_up(catch_up);
        clock.run(race.count()).unwrap();
        assert_eq!(starts.millis(), [0, 10, 20, 30], "{catch_up:?}");
    }
}

#[test]
fn a_new_policy_keeps_bound_and_catch_up() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let attempts = (0..).map(|place| starts.attempt(if place == 0 { 5 } else { 10_000 }));
    let mut race = Race::of_with(clock.timer(), ms(1), attempts)
        .catch_up(CatchUp::Skip)
        .max_in_flight(3)
        .policy(|_: usize| Some(ms(10)));
    clock
        .run(async {
            race.next().await;
            clock.advance(ms(1_000));
            let until = clock.sleep(ms(500));
            futures::future::select(race.next(), until).await;
        })
        .unwrap();
    assert_eq!(starts.millis(), [0, 1_005, 1_010, 1_020]);
}
