//! How long the work of attempts goes on after their race has dropped them.

use std::{
    cell::RefCell,
    future::{pending, poll_fn},
    pin::pin,
    rc::Rc,
    task::Poll,
    time::Duration,
};

use fastrand::Rng;
use futures::{
    FutureExt as _,
    future::LocalBoxFuture,
    stream::{FuturesUnordered, StreamExt as _},
};
use race::{
    Moment,
    core::Race,
    observe::{Event, EventKind, Overrun, RaceOverrun},
    test::VirtualClock,
};

use crate::probe::ms;

/// Tasks that go on when nothing waits for them.
#[derive(Default)]
struct Tasks(RefCell<FuturesUnordered<LocalBoxFuture<'static, ()>>>);

impl Tasks {
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.borrow().push(Box::pin(task));
    }

    /// Runs a future, and the tasks beside it.
    fn beside<T>(&self, clock: &VirtualClock, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let both = poll_fn(|cx| {
            let polled = future.as_mut().poll(cx);
            while let Poll::Ready(Some(())) = self.0.borrow_mut().poll_next_unpin(cx) {}
            polled
        });
        clock.run(both).unwrap()
    }

    /// Runs the tasks to their end.
    fn finish(&self, clock: &VirtualClock) {
        let mut tasks = self.0.borrow_mut();
        clock
            .run(async { while tasks.next().await.is_some() {} })
            .unwrap();
    }
}

/// An attempt that takes `latency`, and whose work takes `work`, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    latency: u64,
    succeeds: bool,
    work: u64,
}

impl Attempt {
    fn ok(latency: u64, work: u64) -> Self {
        Self {
            latency,
            succeeds: true,
            work,
        }
    }

    /// Starts its work as a task.
    fn start(
        self,
        index: usize,
        clock: &VirtualClock,
        tasks: &Tasks,
        of_race: &RaceOverrun<VirtualClock>,
    ) -> impl Future<Output = Result<(), ()>> + use<> {
        tasks.spawn(of_race.attempt(index).run(clock.sleep(ms(self.work))));
        let latency = clock.sleep(ms(self.latency));
        async move {
            latency.await;
            self.succeeds.then_some(()).ok_or(())
        }
    }
}

#[test]
fn work_of_a_loser_counts_from_the_win_to_its_end() {
    let (clock, tasks) = (VirtualClock::new(), Tasks::default());
    let overrun = Overrun::new(clock.clone());
    let of_race = overrun.race();
    let attempts = [Attempt::ok(100, 130), Attempt::ok(20, 20)];
    let start = |index: usize| attempts[index].start(index, &clock, &tasks, &of_race);
    let race = Race::at(clock.timer())
        .from_fn(ms(50), start)
        .observer(of_race.clone());
    let won = tasks
        .beside(&clock, race.max_attempts(2).first_ok())
        .unwrap();
    assert_eq!((won.index, won.elapsed), (1, ms(70)));
    assert_eq!((overrun.running(), overrun.time()), (1, Duration::ZERO));
    tasks.finish(&clock);
    assert_eq!((overrun.running(), overrun.time()), (0, ms(60)));
    assert_eq!(of_race.time(), ms(60));
}

#[test]
fn work_of_the_winner_and_of_a_failure_does_not_count() {
    let (clock, tasks) = (VirtualClock::new(), Tasks::default());
    let overrun = Overrun::new(clock.clone());
    let of_race = overrun.race();
    let failure = Attempt {
        latency: 10,
        succeeds: false,
        work: 500,
    };
    let attempts = [failure, Attempt::ok(20, 900)];
    let start = |index: usize| attempts[index].start(index, &clock, &tasks, &of_race);
    let race = Race::at(clock.timer())
        .from_fn(ms(50), start)
        .observer(of_race.clone());
    tasks
        .beside(&clock, race.max_attempts(2).first_ok())
        .unwrap();
    tasks.finish(&clock);
    assert_eq!((overrun.running(), overrun.time()), (0, Duration::ZERO));
}

#[test]
fn work_that_ended_before_the_win_does_not_count() {
    let (clock, tasks) = (VirtualClock::new(), Tasks::default());
    let overrun = Overrun::new(clock.clone());
    let of_race = overrun.race();
    let attempts = [Attempt::ok(100, 30), Attempt::ok(20, 20)];
    let start = |index: usize| attempts[index].start(index, &clock, &tasks, &of_race);
    let race = Race::at(clock.timer())
        .from_fn(ms(50), start)
        .observer(of_race.clone());
    tasks
        .beside(&clock, race.max_attempts(2).first_ok())
        .unwrap();
    assert_eq!(overrun.running(), 0);
    tasks.finish(&clock);
    assert_eq!(overrun.time(), Duration::ZERO);
}

#[test]
fn work_counts_from_the_drop_of_the_race() {
    let clock = VirtualClock::new();
    let overrun = Overrun::new(clock.clone());
    let of_race = overrun.race();
    let guard = of_race.attempt(0);
    let race = Race::at(clock.timer()).of(ms(50), [pending::<()>()]);
    let mut race = race.observer(of_race.clone());
    assert!(race.next().now_or_never().is_none());
    clock.advance(ms(3));
    drop(race);
    clock.advance(ms(7));
    drop(guard);
    assert_eq!((of_race.time(), overrun.time()), (ms(7), ms(7)));
}

#[test]
fn observer_that_is_passed_twice_counts_once() {
    let clock = VirtualClock::new();
    let overrun = Overrun::new(clock.clone());
    let of_race = overrun.race();
    let guard = of_race.attempt(0);
    let race = Race::at(clock.timer()).of(ms(50), [pending::<()>()]);
    let mut race = race.observer(of_race.clone()).observer(of_race.clone());
    assert!(race.next().now_or_never().is_none());
    drop(race);
    assert_eq!(overrun.running(), 1);
    clock.advance(ms(7));
    drop(guard);
    assert_eq!((overrun.running(), overrun.time()), (0, ms(7)));
}

#[test]
fn guards_may_be_missing_and_in_any_order() {
    let clock = VirtualClock::new();
    let overrun = Overrun::new(clock.clone());
    let of_race = overrun.race();
    // The first attempt has two pieces of work, the second one none, and the third one wins.
    let winner = of_race.attempt(2);
    let guards = [of_race.attempt(0), of_race.attempt(0)];
    let attempt = |index: usize| clock.sleep(ms([1_000, 1_000, 10][index]));
    let race = Race::at(clock.timer())
        .from_fn(ms(20), attempt)
        .observer(&of_race);
    let won = clock.run(race.max_attempts(3).first()).unwrap().unwrap();
    assert_eq!((won.index, overrun.running()), (2, 2));
    clock.advance(ms(5));
    drop(winner);
    assert_eq!((overrun.running(), overrun.time()), (2, ms(0)));
    drop(guards);
    assert_eq!((overrun.running(), overrun.time()), (0, ms(10)));
}

#[test]
fn guard_without_a_race_counts_nothing() {
    let clock = VirtualClock::new();
    let overrun = Overrun::new(clock.clone());
    let guard = overrun.race().attempt(0);
    clock.advance(ms(5));
    drop(guard.run(async {}));
    assert_eq!((overrun.running(), overrun.time()), (0, Duration::ZERO));
}

/// Against the sum, over the attempts that the race has dropped, of what was left of their work.
#[test]
fn random_races_count_what_is_left_of_the_work_of_dropped_attempts() {
    let mut rng = Rng::with_seed(7);
    let mut total = Duration::ZERO;
    let clock = VirtualClock::new();
    let overrun = Overrun::new(clock.clone());
    for _ in 0..2_000 {
        let tasks = Tasks::default();
        let attempts: Vec<_> = (0..rng.usize(1..6))
            .map(|_| Attempt {
                latency: rng.u64(0..200),
                succeeds: rng.bool(),
                work: rng.u64(0..300),
            })
            .collect();
        let events = Rc::new(RefCell::new(Vec::new()));
        let told = events.clone();
        let of_race = overrun.race();
        let start = |index: usize| attempts[index].start(index, &clock, &tasks, &of_race);
        let mut race = Race::at(clock.timer())
            .from_fn(ms(rng.u64(0..60)), start)
            .max_attempts(attempts.len())
            .observer(of_race.clone())
            .on_event(move |event: Event| told.borrow_mut().push(event));
        if rng.bool() {
            race = race.attempt_timeout(ms(rng.u64(1..200)));
        }
        if rng.bool() {
            race = race.deadline(ms(rng.u64(1..300)));
        }
        match rng.u8(0..3) {
            0 => drop(tasks.beside(&clock, race.first())),
            1 => drop(tasks.beside(&clock, race.first_ok())),
            _ => drop(tasks.beside(
                &clock,
                race.quorum_by(rng.usize(1..4), |output| match output {
                    Ok(()) => race::Verdict::Accept,
                    Err(()) => race::Verdict::Retryable,
                }),
            )),
        }
        let mut started = vec![Moment::ZERO; attempts.len()];
        let (mut expected, mut running) = (Duration::ZERO, 0);
        for event in events.borrow().iter() {
            match event.kind {
                EventKind::Started => started[event.index] = event.at,
                EventKind::Cancelled | EventKind::TimedOut => {
                    let ends = started[event.index] + ms(attempts[event.index].work);
                    expected += ends.since(event.at);
                    running += usize::from(ends > clock.now());
                }
                _ => {}
            }
        }
        assert_eq!(
            overrun.running(),
            running,
            "{attempts:?} {:?}",
            events.borrow()
        );
        tasks.finish(&clock);
        assert_eq!(
            of_race.time(),
            expected,
            "{attempts:?} {:?}",
            events.borrow()
        );
        total += expected;
        assert_eq!((overrun.running(), overrun.time()), (0, total));
    }
    assert!(total > Duration::ZERO);
}
