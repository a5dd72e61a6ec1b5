//! What observers are told, and when.

use std::{
    cell::RefCell,
    future::{pending, ready},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use race::{
    Budget, Clock, Counters, Event, InlineRace, Moment, Observer, Staircase, Suppressed,
    VirtualClock, What, core::Race,
};

use crate::probe::ms;

/// What it was told: `(at, place, ran, what)`, in milliseconds.
#[derive(Default)]
struct Told(RefCell<Vec<(u64, usize, u64, What)>>);

impl Told {
    fn tell(&self, event: Event) {
        let at = millis(event.at.since(Moment::ZERO));
        let told = (at, event.place, millis(event.ran), event.what);
        self.0.borrow_mut().push(told);
    }

    fn take(&self) -> Vec<(u64, usize, u64, What)> {
        self.0.take()
    }

    /// Those of one kind: when, and to whom.
    fn suppressed(&self, by: Suppressed) -> Vec<(u64, usize)> {
        let told = self.0.take().into_iter();
        told.filter(|&(.., what)| what == What::Suppressed(by))
            .map(|(at, place, ..)| (at, place))
            .collect()
    }
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap()
}

/// After so many milliseconds, an error or not.
fn ends(
    clock: &VirtualClock,
    after: u64,
    end: Result<(), ()>,
) -> impl Future<Output = Result<(), ()>> {
    let sleep = clock.sleep(ms(after));
    async move {
        sleep.await;
        end
    }
}

#[test]
fn first_ok_tells_what_becomes_of_each_attempt() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    clock.advance(ms(1_000));
    let attempts = [
        (300, Ok(())),
        (20, Err(())),
        (100, Ok(())),
        (60, Ok(())),
        (0, Ok(())),
    ];
    let attempts = attempts.map(|(after, end)| ends(&clock, after, end));
    let race = Race::of_with(clock.timer(), ms(50), attempts)
        .observer_with(clock.clone(), |event| told.tell(event));
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.place, won.elapsed), (2, ms(170)));
    assert_eq!(
        told.take(),
        [
            (1_000, 0, 0, What::Started),
            (1_050, 1, 0, What::Started),
            (1_070, 1, 20, What::Failed),
            (1_070, 2, 0, What::Started),
            (1_120, 3, 0, What::Started),
            (1_170, 2, 100, What::Won),
            (1_170, 0, 170, What::Cancelled),
            (1_170, 3, 50, What::Cancelled),
        ]
    );
}

#[test]
fn a_stream_tells_that_attempts_have_finished_and_what_its_drop_cancels() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let attempts = [40, 10, 90].map(|millis| clock.sleep(ms(millis)));
    let mut race = Race::of_with(clock.timer(), Duration::ZERO, attempts)
        .observer_with(clock.clone(), |event| told.tell(event));
    clock
        .run(async { [race.next().await, race.next().await] })
        .unwrap();
    clock.advance(ms(5));
    assert_eq!(told.0.borrow().len(), 5);
    drop(race);
    assert_eq!(
        told.take()[3..],
        [
            (10, 1, 10, What::Finished),
            (40, 0, 40, What::Finished),
            (45, 2, 45, What::Cancelled),
        ]
    );
}

#[test]
fn a_race_that_was_never_polled_has_nothing_to_tell() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let race = Race::of_with(clock.timer(), ms(1), [ready(())]);
    drop(race.observer_with(clock.clone(), |event| told.tell(event)));
    let none = Race::of_with(clock.timer(), ms(1), [(); 0].map(ready));
    let none = none.observer_with(clock.clone(), |event| told.tell(event));
    clock.run(none.first()).unwrap().unwrap_err();
    assert_eq!(told.take(), []);
}

#[test]
fn a_timeout_is_told_and_a_deadline_cancels() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let attempts = [(); 3].map(|()| pending::<Result<(), ()>>());
    let race = Race::of_with(clock.timer(), ms(50), attempts)
        .observer_with(clock.clone(), |event| told.tell(event))
        .first_ok()
        .attempt_timeout(ms(80))
        .deadline(ms(120));
    clock.run(race).unwrap().unwrap_err();
    assert_eq!(
        told.take(),
        [
            (0, 0, 0, What::Started),
            (50, 1, 0, What::Started),
            (80, 0, 80, What::TimedOut),
            (100, 2, 0, What::Started),
            (120, 1, 70, What::Cancelled),
            (120, 2, 20, What::Cancelled),
        ]
    );
}

#[test]
fn what_the_bound_holds_up_is_told_once_however_often_it_is_polled() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let attempts = [90, 70, 10].map(|millis| clock.sleep(ms(millis)));
    let mut race = Race::of_with(clock.timer(), ms(50), attempts)
        .max_in_flight(2)
        .observer_with(clock.clone(), |event| told.tell(event));
    clock
        .run(async {
            for _ in 0..9 {
                assert!(futures::poll!(race.next()).is_pending());
                clock.advance(ms(9));
            }
            while race.next().await.is_some() {}
        })
        .unwrap();
    // As soon as two run, though it is due later. And of a fourth it is known that there is none.
    assert_eq!(told.suppressed(Suppressed::Bound), [(54, 2)]);
}

#[test]
fn a_gate_is_told_when_it_stops_a_start_and_so_is_a_budget() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let budget = Budget::percent(0).reserve(1);
    let attempts = || [100, 100, 100, 100].map(|millis| clock.sleep(ms(millis)));
    let race = Race::of_with(clock.timer(), ms(10), attempts())
        .gate(|standing| standing.place < 3)
        .observer_with(clock.clone(), |event| told.tell(event));
    clock.run(race.first()).unwrap().unwrap();
    assert_eq!(told.suppressed(Suppressed::Gate), [(30, 3)]);

    let race = Race::of_with(clock.timer(), ms(10), attempts())
        .budget(&budget)
        .observer_with(clock.clone(), |event| told.tell(event));
    clock.run(race.first()).unwrap().unwrap();
    assert_eq!(told.suppressed(Suppressed::Budget), [(120, 2)]);
}

/// Though the rules were given after the observer.
#[test]
fn the_order_of_rules_and_observers_makes_no_difference() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let attempts = [100, 100].map(|millis| clock.sleep(ms(millis)));
    let race = Race::of_with(clock.timer(), ms(10), attempts)
        .observer_with(clock.clone(), |event| told.tell(event))
        .gate(|_| false);
    clock.run(race.first()).unwrap().unwrap();
    assert_eq!(told.suppressed(Suppressed::Gate), [(10, 1)]);
}

#[test]
fn two_observers_are_a_pair_and_nobody_is_one() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let counters = Arc::new(Counters::new());
    let mut inline = std::pin::pin!(
        InlineRace::<2, _, _>::of_with(clock.timer(), ms(1), [ready(7)]).observer_with(
            clock.clone(),
            (|event| told.tell(event), (Arc::clone(&counters), ()))
        )
    );
    assert_eq!(clock.run(inline.as_mut().next()).unwrap(), Some((0, 7)));
    assert_eq!(
        told.take(),
        [(0, 0, 0, What::Started), (0, 0, 0, What::Finished)]
    );
    let counts = counters.counts();
    assert_eq!((counts.races, counts.attempts, counts.finished), (1, 1, 1));
}

/// It cannot tell that itself, and has not finished.
#[test]
fn an_attempt_that_panics_is_cancelled_in_the_end() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let run = |&place: &usize| {
        let sleep = clock.sleep(ms(10));
        async move {
            sleep.await;
            assert_ne!(place, 0, "as the test wants");
        }
    };
    let mut race = Race::new_with(clock.timer(), ms(5), run, 0..2)
        .observer_with(clock.clone(), |event| told.tell(event));
    catch_unwind(AssertUnwindSafe(|| clock.run(race.next()))).unwrap_err();
    assert_eq!(clock.run(race.next()).unwrap(), Some((1, ())));
    drop(race);
    assert_eq!(
        told.take(),
        [
            (0, 0, 0, What::Started),
            (5, 1, 0, What::Started),
            (15, 1, 10, What::Finished),
            (15, 0, 15, What::Cancelled),
        ]
    );
}

#[test]
fn counters_add_up_what_all_races_did() {
    let (clock, counters) = (VirtualClock::new(), Counters::new());
    let budget = Budget::percent(0).reserve(2);
    let race = |latencies: [(u64, Result<(), ()>); 3]| {
        let attempts = latencies.map(|(after, end)| ends(&clock, after, end));
        let race = Race::of_with(clock.timer(), ms(50), attempts);
        race.budget(&budget)
            .observer_with(clock.clone(), &counters)
            .first_ok()
    };
    // The second helps, and 70 ms of the first were in vain.
    clock
        .run(race([(100, Ok(())), (20, Ok(())), (0, Ok(()))]))
        .unwrap()
        .unwrap();
    // The first is good enough, and the second unneeded for 30 ms.
    clock
        .run(race([(80, Ok(())), (90, Ok(())), (0, Ok(()))]))
        .unwrap()
        .unwrap();
    // Then the budget is used up.
    clock
        .run(race([(60, Err(())), (0, Ok(())), (0, Ok(()))]))
        .unwrap()
        .unwrap_err();
    // And this one times out.
    let slow = race([(60, Ok(())), (0, Ok(())), (0, Ok(()))]).attempt_timeout(ms(30));
    clock.run(slow).unwrap().unwrap_err();

    let counts = counters.counts();
    assert_eq!((counts.races, counts.attempts, counts.extra), (4, 6, 2));
    assert_eq!((counts.wins, counts.helped), (2, 1));
    assert_eq!(
        (counts.failed, counts.timed_out, counts.finished),
        (1, 1, 0)
    );
    assert_eq!((counts.cancelled, counts.wasted), (2, ms(100)));
    assert_eq!((counts.extra_load(), counts.helped_share()), (0.5, 0.5));
    assert_eq!((counts.held_by_bound, counts.stopped_by_gate), (0, 0));
    assert_eq!(counts.stopped_by_budget, 2);
}

#[test]
fn a_quorum_has_several_winners_and_who_is_drained_has_finished() {
    let (clock, counters) = (VirtualClock::new(), Counters::new());
    let attempts = |all: [u64; 3]| all.map(|after| ends(&clock, after, Ok(())));
    let race = |all| {
        let race = Race::of_with(clock.timer(), Duration::ZERO, attempts(all));
        race.observer_with(clock.clone(), &counters)
    };
    clock.run(race([30, 20, 10]).quorum(2)).unwrap().unwrap();
    let counts = counters.counts();
    assert_eq!((counts.wins, counts.helped, counts.cancelled), (2, 2, 1));
    clock
        .run(async {
            let (won, mut late) = race([30, 20, 10]).first_ok_then_drain().await;
            assert_eq!(won.unwrap().place, 2);
            while late.next().await.is_some() {}
        })
        .unwrap();
    let counts = counters.counts();
    assert_eq!((counts.wins, counts.finished, counts.cancelled), (3, 2, 1));
}

#[test]
fn a_staircase_draws_the_race_that_it_observed() {
    let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    clock.advance(ms(5_000));
    let mut stairs = Staircase::new();
    ["one", "two", "three", "four", "five"]
        .iter()
        .enumerate()
        .for_each(|(place, name)| stairs.name(place, name));
    let stairs = RefCell::new(stairs);
    let run = |&(place, after, end): &(usize, u64, Result<&'static str, &'static str>)| {
        let (sleep, stairs) = (clock.sleep(ms(after)), &stairs);
        async move {
            sleep.await;
            stairs
                .borrow_mut()
                .note(place, end.unwrap_or_else(|why| why));
            end
        }
    };
    let candidates = [
        (0, 900, Ok("never")),
        (1, 22, Err("503 Service Unavailable")),
        (2, 900, Ok("never")),
        (3, 65, Ok("1056 bytes")),
        (4, 900, Ok("never")),
    ];
    let race = Race::new_with(clock.timer(), ms(50), run, candidates)
        .max_attempts(4)
        .observer_with(clock.clone(), |event| stairs.borrow_mut().observe(event));
    clock.run(race.first_ok()).unwrap().unwrap();
    let picture = "
         0              50            100            150 ms
#0 one   ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╌ cancelled
#1 two                  ━━━━━━✗ 503 Service Unavailable
#2 three                      ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╌ cancelled
#3 four                                      ━━━━━━━━━━━━━━━━━━━● won: 1056 bytes after 187 ms
#4 five  not started
";
    assert_eq!(format!("\n{}", stairs.borrow()), picture);
}

/// It need not be the race's own, and is read once for each event.
#[test]
fn an_observer_has_a_clock_of_its_own() {
    struct Ticking(std::cell::Cell<u64>);
    impl Clock for &Ticking {
        fn now(&self) -> Moment {
            self.0.set(self.0.get() + 1_000_000);
            Moment::from_nanos(self.0.get())
        }
    }
    let (clock, told, ticking) = (VirtualClock::new(), Told::default(), Ticking(0.into()));
    let attempts = [100, 20].map(|millis| clock.sleep(ms(millis)));
    let race = Race::of_with(clock.timer(), ms(50), attempts)
        .observer_with(&ticking, |event| told.tell(event));
    clock.run(race.first()).unwrap().unwrap();
    assert_eq!(
        told.take(),
        [
            (1, 0, 0, What::Started),
            (2, 1, 0, What::Started),
            (3, 1, 1, What::Won),
            (4, 0, 3, What::Cancelled),
        ]
    );
}
