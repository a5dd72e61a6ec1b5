//! Which events observers receive, and when.

use std::{
    cell::RefCell,
    future::{pending, ready},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use race::{
    Budget, InlineRace, Moment,
    core::Race,
    observe::{Clock, Counters, Event, EventKind, Observer, OnEvent, Refusal, Staircase},
    test::VirtualClock,
};

use crate::probe::ms;

/// The events received, as `(at, index, ran, kind)`, in milliseconds.
#[derive(Default)]
struct Told(RefCell<Vec<(u64, usize, u64, EventKind)>>);

impl Told {
    fn tell(&self, event: Event) {
        let at = millis(event.at.since(Moment::ZERO));
        let told = (at, event.index, millis(event.ran), event.kind);
        self.0.borrow_mut().push(told);
    }

    fn take(&self) -> Vec<(u64, usize, u64, EventKind)> {
        self.0.take()
    }

    /// The refusals of one kind, as `(at, index)`.
    fn refused(&self, by: Refusal) -> Vec<(u64, usize)> {
        let told = self.0.take().into_iter();
        told.filter(|&(.., what)| what == EventKind::Refused(by))
            .map(|(at, index, ..)| (at, index))
            .collect()
    }
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap()
}

/// An attempt with this result after this many milliseconds.
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
fn first_ok_reports_the_end_of_each_attempt() {
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
    let race = Race::at(clock.timer())
        .of(ms(50), attempts)
        .on_event(|event| told.tell(event));
    let won = clock.run(race.first_ok()).unwrap().unwrap();
    assert_eq!((won.index, won.elapsed), (2, ms(170)));
    assert_eq!(
        told.take(),
        [
            (1_000, 0, 0, EventKind::Started),
            (1_050, 1, 0, EventKind::Started),
            (1_070, 1, 20, EventKind::Failed),
            (1_070, 2, 0, EventKind::Started),
            (1_120, 3, 0, EventKind::Started),
            (1_170, 2, 100, EventKind::Won),
            (1_170, 0, 170, EventKind::Cancelled),
            (1_170, 3, 50, EventKind::Cancelled),
        ]
    );
}

#[test]
fn stream_reports_finished_attempts_and_its_drop_reports_cancelled_ones() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let attempts = [40, 10, 90].map(|millis| clock.sleep(ms(millis)));
    let mut race = Race::at(clock.timer())
        .of(Duration::ZERO, attempts)
        .on_event(|event| told.tell(event));
    clock
        .run(async { [race.next().await, race.next().await] })
        .unwrap();
    clock.advance(ms(5));
    assert_eq!(told.0.borrow().len(), 5);
    drop(race);
    assert_eq!(
        told.take()[3..],
        [
            (10, 1, 10, EventKind::Finished),
            (40, 0, 40, EventKind::Finished),
            (45, 2, 45, EventKind::Cancelled),
        ]
    );
}

#[test]
fn race_that_was_never_polled_reports_nothing() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let race = Race::at(clock.timer()).of(ms(1), [ready(())]);
    drop(race.on_event(|event| told.tell(event)));
    let none = Race::at(clock.timer()).of(ms(1), [(); 0].map(ready));
    let none = none.on_event(|event| told.tell(event));
    assert_eq!(clock.run(none.first()), Ok(None));
    assert_eq!(told.take(), []);
}

#[test]
fn timeout_is_reported_and_deadline_reports_cancelled() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let attempts = [(); 3].map(|()| pending::<Result<(), ()>>());
    let race = Race::at(clock.timer())
        .of(ms(50), attempts)
        .on_event(|event| told.tell(event))
        .attempt_timeout(ms(80))
        .deadline(ms(120))
        .first_ok();
    clock.run(race).unwrap().unwrap_err();
    assert_eq!(
        told.take(),
        [
            (0, 0, 0, EventKind::Started),
            (50, 1, 0, EventKind::Started),
            (80, 0, 80, EventKind::TimedOut),
            (100, 2, 0, EventKind::Started),
            (120, 1, 70, EventKind::Cancelled),
            (120, 2, 20, EventKind::Cancelled),
        ]
    );
}

#[test]
fn full_race_is_reported_once_for_any_number_of_polls() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let attempts = [90, 70, 10].map(|millis| clock.sleep(ms(millis)));
    let mut race = Race::at(clock.timer())
        .of(ms(50), attempts)
        .max_in_flight(2)
        .on_event(|event| told.tell(event));
    clock
        .run(async {
            for _ in 0..9 {
                assert!(futures::poll!(race.next()).is_pending());
                clock.advance(ms(9));
            }
            while race.next().await.is_some() {}
        })
        .unwrap();
    // Reported when two run and a third may exist. There is no fourth candidate.
    assert_eq!(told.refused(Refusal::MaxInFlight), [(54, 2)]);
}

#[test]
fn refusals_of_gate_and_budget_are_reported() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let budget = Budget::percent(0).reserve(1);
    let attempts = || [100, 100, 100, 100].map(|millis| clock.sleep(ms(millis)));
    let race = Race::at(clock.timer())
        .of(ms(10), attempts())
        .gate(|state| state.index < 3)
        .on_event(|event| told.tell(event));
    clock.run(race.first()).unwrap().unwrap();
    assert_eq!(told.refused(Refusal::Gate), [(30, 3)]);

    let race = Race::at(clock.timer())
        .of(ms(10), attempts())
        .budget(&budget)
        .on_event(|event| told.tell(event));
    clock.run(race.first()).unwrap().unwrap();
    assert_eq!(told.refused(Refusal::Budget), [(120, 2)]);
}

#[test]
fn observer_before_the_gate_sees_its_refusals() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let attempts = [100, 100].map(|millis| clock.sleep(ms(millis)));
    let race = Race::at(clock.timer())
        .of(ms(10), attempts)
        .on_event(|event| told.tell(event))
        .gate(|_| false);
    clock.run(race.first()).unwrap().unwrap();
    assert_eq!(told.refused(Refusal::Gate), [(10, 1)]);
}

#[test]
fn pair_and_unit_are_observers() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let counters = Arc::new(Counters::new());
    let mut inline = std::pin::pin!(
        InlineRace::<2, _, _>::at(clock.timer())
            .of(ms(1), [ready(7)])
            .observer_with(
                clock.clone(),
                (
                    OnEvent::new(|event| told.tell(event)),
                    (Arc::clone(&counters), ())
                )
            )
    );
    assert_eq!(clock.run(inline.as_mut().next()).unwrap(), Some((0, 7)));
    assert_eq!(
        told.take(),
        [
            (0, 0, 0, EventKind::Started),
            (0, 0, 0, EventKind::Finished)
        ]
    );
    let counts = counters.counts();
    assert_eq!((counts.races, counts.attempts, counts.finished), (1, 1, 1));
}

#[test]
fn panicked_attempt_is_reported_as_cancelled_in_the_next_poll() {
    let (clock, told) = (VirtualClock::new(), Told::default());
    let run = |&index: &usize| {
        let sleep = clock.sleep(ms(10));
        async move {
            sleep.await;
            assert_ne!(index, 0, "as the test wants");
        }
    };
    let mut race = Race::at(clock.timer())
        .new(ms(5), run, 0..2)
        .on_event(|event| told.tell(event));
    catch_unwind(AssertUnwindSafe(|| clock.run(race.next()))).unwrap_err();
    assert_eq!(clock.run(race.next()).unwrap(), Some((1, ())));
    drop(race);
    assert_eq!(
        told.take(),
        [
            (0, 0, 0, EventKind::Started),
            (5, 1, 0, EventKind::Started),
            (10, 0, 10, EventKind::Cancelled),
            (15, 1, 10, EventKind::Finished),
        ]
    );
}

#[test]
fn counters_add_up_several_races() {
    let (clock, counters) = (VirtualClock::new(), Counters::new());
    let budget = Budget::percent(0).reserve(2);
    let run = |latencies: [(u64, Result<(), ()>); 3], timeout| {
        let attempts = latencies.map(|(after, end)| ends(&clock, after, end));
        let race = Race::at(clock.timer()).of(ms(50), attempts);
        let race = race.budget(&budget).observer(&counters);
        let won = clock.run(race.attempt_timeout(timeout).first_ok());
        won.unwrap().unwrap().index
    };
    let never = Duration::MAX;
    // The second helps, and 70 ms of the first are wasted.
    assert_eq!(run([(100, Ok(())), (20, Ok(())), (0, Ok(()))], never), 1);
    // The first wins, and 30 ms of the second are wasted.
    assert_eq!(run([(80, Ok(())), (90, Ok(())), (0, Ok(()))], never), 0);
    // The budget is used up; the failure starts the second.
    assert_eq!(run([(60, Err(())), (0, Ok(())), (0, Ok(()))], never), 1);
    // The first times out, which starts the second.
    assert_eq!(run([(60, Ok(())), (0, Ok(())), (0, Ok(()))], ms(30)), 1);

    let counts = counters.counts();
    assert_eq!((counts.races, counts.attempts, counts.extra), (4, 8, 4));
    assert_eq!((counts.wins, counts.helped), (4, 3));
    assert_eq!(
        (counts.failed, counts.timed_out, counts.finished),
        (1, 1, 0)
    );
    assert_eq!((counts.cancelled, counts.wasted), (2, ms(100)));
    assert_eq!((counts.extra_load(), counts.helped_share()), (1.0, 0.75));
    assert_eq!(
        (counts.delayed_by_max_in_flight, counts.refused_by_gate),
        (0, 0)
    );
    assert_eq!(counts.refused_by_budget, 1);
}

#[test]
fn quorum_has_several_winners_and_kept_losers_finish() {
    let (clock, counters) = (VirtualClock::new(), Counters::new());
    let attempts = |all: [u64; 3]| all.map(|after| ends(&clock, after, Ok(())));
    let race = |all| {
        let race = Race::at(clock.timer()).of(Duration::ZERO, attempts(all));
        race.observer(&counters)
    };
    clock.run(race([30, 20, 10]).quorum(2)).unwrap().unwrap();
    let counts = counters.counts();
    assert_eq!((counts.wins, counts.helped, counts.cancelled), (2, 2, 1));
    clock
        .run(async {
            let (won, mut late) = race([30, 20, 10]).first_ok().keep_race().await;
            assert_eq!(won.unwrap().index, 2);
            while late.next().await.is_some() {}
        })
        .unwrap();
    let counts = counters.counts();
    assert_eq!((counts.wins, counts.finished, counts.cancelled), (3, 2, 1));
}

#[test]
fn staircase_draws_the_observed_race() {
    let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    clock.advance(ms(5_000));
    let mut stairs = Staircase::new();
    ["one", "two", "three", "four", "five"]
        .iter()
        .enumerate()
        .for_each(|(index, name)| stairs.name(index, name));
    let stairs = RefCell::new(stairs);
    let run = |&(index, after, end): &(usize, u64, Result<&'static str, &'static str>)| {
        let (sleep, stairs) = (clock.sleep(ms(after)), &stairs);
        async move {
            sleep.await;
            stairs
                .borrow_mut()
                .note(index, end.unwrap_or_else(|why| why));
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
    let race = Race::at(clock.timer())
        .new(ms(50), run, candidates)
        .max_attempts(4)
        .on_event(|event| stairs.borrow_mut().observe(event));
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

#[test]
fn clock_of_an_observer_is_read_once_per_event() {
    struct Ticking(std::cell::Cell<u64>);
    impl Clock for &Ticking {
        fn read(&self) -> Moment {
            self.0.set(self.0.get() + 1_000_000);
            Moment::from_nanos(self.0.get())
        }
    }
    let (clock, told, ticking) = (VirtualClock::new(), Told::default(), Ticking(0.into()));
    let attempts = [100, 20].map(|millis| clock.sleep(ms(millis)));
    let race = Race::at(clock.timer())
        .of(ms(50), attempts)
        .observer_with(&ticking, OnEvent::new(|event| told.tell(event)));
    clock.run(race.first()).unwrap().unwrap();
    assert_eq!(
        told.take(),
        [
            (1, 0, 0, EventKind::Started),
            (2, 1, 0, EventKind::Started),
            (3, 1, 1, EventKind::Won),
            (4, 0, 3, EventKind::Cancelled),
        ]
    );
}
