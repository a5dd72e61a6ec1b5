//! The options of a race as a value that a client stores.

use std::{cell::Cell, io, pin::pin, time::Duration};

use race::{
    Backoff, CatchUp, InlineRace, OnFailure, RaceError, RaceOptions,
    core::Race,
    test::{VirtualClock, VirtualTimer},
};

use crate::probe::ms;

#[derive(Clone, Debug, Default, PartialEq)]
struct Settings {
    delay: Duration,
    options: RaceOptions,
}

struct Client {
    timer: VirtualTimer,
    settings: Settings,
    asked: Cell<usize>,
}

impl Client {
    async fn ask(&self, of_call: RaceOptions) -> Result<usize, RaceError<usize, io::Error>> {
        let refuse = |_| async {
            self.asked.set(self.asked.get() + 1);
            Err(io::Error::other("refused"))
        };
        let race = Race::at(self.timer.clone())
            .from_fn(self.settings.delay, refuse)
            .options(&of_call.or(&self.settings.options));
        Ok(race.first_ok().await?.output)
    }
}

#[test]
fn client_stores_options_and_a_call_overrides_them() {
    let clock = VirtualClock::new();
    let settings = Settings {
        delay: ms(50),
        options: RaceOptions::new().max_attempts(2).min_gap(ms(10)),
    };
    let client = Client {
        timer: clock.timer(),
        settings: settings.clone(),
        asked: Cell::new(0),
    };
    for (of_call, asked, elapsed) in [
        (RaceOptions::new(), 2, ms(10)),
        (RaceOptions::new().max_attempts(3), 5, ms(30)),
        (RaceOptions::new().min_gap(ms(1)), 7, ms(31)),
    ] {
        clock.run(client.ask(of_call)).unwrap().unwrap_err();
        assert_eq!((client.asked.get(), clock.elapsed()), (asked, elapsed));
    }
    assert_eq!(client.settings, settings);
    assert_ne!(settings, Settings::default());
    assert!(format!("{settings:?}").contains("max_attempts: Some(2)"));
}

#[test]
fn options_of_a_call_come_before_those_of_the_client() {
    const ALL: RaceOptions = RaceOptions::new()
        .max_attempts(3)
        .max_in_flight(2)
        .catch_up(CatchUp::Burst)
        .on_failure(OnFailure::Any)
        .min_gap(Duration::from_millis(10))
        .attempt_timeout(Duration::from_millis(20))
        .deadline(Duration::from_millis(30));
    let others = RaceOptions::new()
        .max_attempts(0)
        .max_in_flight(0)
        .catch_up(CatchUp::Skip)
        .on_failure(OnFailure::Wait)
        .min_gap(ms(0))
        .attempt_timeout(ms(0))
        .deadline(ms(0));
    assert_eq!(ALL.or(&others), ALL);
    assert_eq!(others.clone().or(&ALL), others);
    assert_eq!(RaceOptions::default(), RaceOptions::new());
    assert_eq!(RaceOptions::new().or(&ALL), ALL);
    assert_eq!(ALL.or(&RaceOptions::new()), ALL);
}

/// The other options are in `option_order`.
#[test]
fn missed_starts_are_made_up_for_as_the_value_says() {
    let burst = RaceOptions::new().catch_up(CatchUp::Burst);
    for (options, ends) in [(burst, 72), (RaceOptions::new(), 82)] {
        let clock = VirtualClock::new();
        let attempts = [5, 6, 7].map(|latency| clock.sleep(ms(latency)));
        let race = Race::at(clock.timer()).of(ms(10), attempts);
        let mut race = race.options(&options);
        clock
            .run(async {
                race.next().await;
                clock.advance(ms(60));
                race.next().await;
                race.next().await;
            })
            .unwrap();
        assert_eq!(clock.elapsed(), ms(ends), "{options:?}");
    }
}

#[test]
fn zero_lets_a_race_start_nothing() {
    for options in [
        RaceOptions::new().max_attempts(0),
        RaceOptions::new().max_in_flight(0),
    ] {
        let (clock, started) = (VirtualClock::new(), Cell::new(0));
        let attempt = |_| {
            started.set(started.get() + 1);
            async {}
        };
        let race = Race::at(clock.timer()).from_fn(ms(10), attempt);
        let first = race.options(&options).first();
        assert_eq!(clock.run(first).unwrap(), None, "{options:?}");
        assert_eq!(started.get(), 0, "{options:?}");
    }
}

#[test]
fn inline_race_takes_the_value() {
    let clock = VirtualClock::new();
    let attempts = [30, 30, 30].map(|latency| clock.sleep(ms(latency)));
    let race = InlineRace::<3, _, _>::at(clock.timer()).of(ms(0), attempts);
    let options = RaceOptions::new().max_in_flight(1).max_attempts(2);
    let mut race = pin!(race.options(&options));
    let ends = clock.run(async {
        let mut ends = vec![];
        while race.as_mut().next().await.is_some() {
            ends.push(clock.elapsed());
        }
        ends
    });
    assert_eq!(ends.unwrap(), [ms(30), ms(60)]);
}

#[test]
fn retry_takes_what_it_has_from_the_value() {
    let clock = VirtualClock::new();
    let mut starts = vec![];
    let pauses = Backoff::new(ms(10));
    let retry = Race::at(clock.timer()).retry_with(pauses, &mut starts, async |starts| {
        starts.push(clock.elapsed());
        (starts, Err::<(), _>("busy"))
    });
    let options = RaceOptions::new()
        .max_attempts(3)
        .min_gap(ms(15))
        .max_in_flight(0)
        .on_failure(OnFailure::Wait);
    let (_, result) = clock.run(retry.options(&options).first_ok()).unwrap();
    assert_eq!(result.unwrap_err().failed().len(), 3);
    assert_eq!(starts, [ms(0), ms(15), ms(35)]);
}
