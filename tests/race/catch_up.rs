use futures::{StreamExt, poll};
use race::{Backoff, CatchUp, Steps, core::Race, test::VirtualClock};

use crate::{
    probe::{Trace, ms},
    scenario::{HANGS, Scenario},
};

/// The delay is 10 ms. The consumer takes the first completion at 5 and does not poll for a second.
fn starts_around_an_idle_second(catch_up: CatchUp) -> Vec<u64> {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let attempts = (0..).map(|index| starts.attempt(if index == 0 { 5 } else { 10_000 }));
    let mut race = Race::at(clock.timer())
        .of(ms(10), attempts)
        .catch_up(catch_up);
    clock
        .run(async {
            race.next().await;
            clock.advance(ms(1_000));
            // Polls until 1025.
            let until = clock.sleep(ms(20));
            futures::future::select(race.next(), until).await;
        })
        .unwrap();
    starts.millis()
}

#[test]
fn delay_starts_one_and_the_next_a_delay_later() {
    assert_eq!(
        starts_around_an_idle_second(CatchUp::Delay),
        [0, 1_005, 1_015, 1_025]
    );
    assert_eq!(CatchUp::default(), CatchUp::Delay);
}

#[test]
fn skip_continues_on_the_original_schedule() {
    assert_eq!(
        starts_around_an_idle_second(CatchUp::Skip),
        [0, 1_005, 1_010, 1_020]
    );
}

#[test]
fn burst_starts_every_missed_attempt() {
    let starts = starts_around_an_idle_second(CatchUp::Burst);
    let missed = vec![1_005; 100]; // due at 10, 20, .. 1000
    assert_eq!(starts[1..101], missed);
    assert_eq!(starts[101..], [1_010, 1_020]);
}

#[test]
fn burst_is_limited_in_each_poll() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let attempts = (0..).map(|_| starts.attempt(10_000));
    let mut race = Race::at(clock.timer())
        .of(ms(1), attempts)
        .catch_up(CatchUp::Burst);
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
fn waiting_for_max_in_flight_is_not_made_up_for() {
    for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
        let clock = VirtualClock::new();
        let starts = Trace::new(&clock);
        let attempts = (0..4).map(|_| starts.attempt(1_003));
        let race = Race::at(clock.timer())
            .of(ms(10), attempts)
            .catch_up(catch_up)
            .max_in_flight(2);
        clock.run(race.count()).unwrap();
        assert_eq!(starts.millis(), [0, 10, 1_003, 1_013], "{catch_up:?}");
    }
}

#[test]
fn punctual_consumer_keeps_the_schedule() {
    for catch_up in [CatchUp::Delay, CatchUp::Burst, CatchUp::Skip] {
        let clock = VirtualClock::new();
        let starts = Trace::new(&clock);
        let attempts = (0..4).map(|_| starts.attempt(7));
        let race = Race::at(clock.timer())
            .of(ms(10), attempts)
            .catch_up(catch_up);
        clock.run(race.count()).unwrap();
        assert_eq!(starts.millis(), [0, 10, 20, 30], "{catch_up:?}");
    }
}

#[test]
fn adding_a_backoff_keeps_max_in_flight_and_catch_up() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let attempts = (0..).map(|index| starts.attempt(if index == 0 { 5 } else { 10_000 }));
    let mut race = Race::at(clock.timer())
        .of(ms(10), attempts)
        .catch_up(CatchUp::Skip)
        .max_in_flight(3)
        .backoff(Backoff::new(ms(1)));
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

/// Two attempts time out at 25, one after the other, while the third is due since 10.
#[test]
fn waiting_for_max_in_flight_is_not_made_up_for_after_two_timeouts() {
    let scenario = Scenario::new();
    let race = scenario.race(Steps::new([ms(0), ms(10)]), [(HANGS, Ok("")); 4]);
    let race = race.catch_up(CatchUp::Burst).max_in_flight(2);
    let race = race.attempt_timeout(ms(25));
    assert_eq!(scenario.run(race.first()), None);
    assert_eq!(scenario.starts(), [0, 0, 25, 35]);
}
