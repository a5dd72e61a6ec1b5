use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    rc::Rc,
    time::Duration,
};

use race::{InlineRace, Verdict, core::Race, test::VirtualClock};

use crate::probe::ms;

/// Reads a race until its end and catches panics. Returns the items and the number of panics.
fn survivors<T: PartialEq + std::fmt::Debug>(
    clock: &VirtualClock,
    mut next: impl AsyncFnMut() -> Option<T>,
) -> (Vec<T>, usize) {
    let (mut out, mut panics) = (Vec::new(), 0);
    loop {
        match catch_unwind(AssertUnwindSafe(|| clock.run(next()))) {
            Ok(Ok(Some(item))) => out.push(item),
            Ok(Ok(None)) => return (out, panics),
            Ok(Err(deadlock)) => panic!("{deadlock}"),
            Err(_) => panics += 1,
        }
        assert!(panics < 10);
    }
}

#[test]
fn panicking_attempt_leaves_the_others() {
    for step in [Duration::ZERO, ms(50)] {
        for panics_at in [0, 10, 60] {
            let (clock, dropped) = (VirtualClock::new(), Rc::new(Cell::new(0)));
            let run = |index: &usize| {
                let (clock, index, dropped) = (clock.clone(), *index, OnDrop(dropped.clone()));
                async move {
                    let _dropped = dropped;
                    if index == 1 {
                        clock.sleep(ms(panics_at)).await;
                        panic!("attempt 1 panics on purpose");
                    }
                    clock.sleep(ms(70)).await;
                }
            };
            let mut race = Race::at(clock.timer()).new(step, run, 0..3);
            let (out, panics) = survivors(&clock, async || race.next().await);
            assert_eq!((out, panics), (vec![(0, ()), (2, ())], 1));
            assert_eq!(dropped.get(), 3);
        }
    }
}

#[test]
fn panicking_attempt_makes_room_under_max_in_flight() {
    let clock = VirtualClock::new();
    let run = |index: &usize| {
        let (clock, index) = (clock.clone(), *index);
        async move {
            clock.sleep(ms([10, 70, 30][index])).await;
            assert_ne!(index, 0, "on purpose");
        }
    };
    let race = Race::at(clock.timer()).new(Duration::ZERO, run, 0..3);
    let mut race = race.max_in_flight(2);
    let (out, panics) = survivors(&clock, async || race.next().await);
    assert_eq!((out, panics), (vec![(2, ()), (1, ())], 1));
    assert_eq!(clock.elapsed(), ms(70));
}

/// In place there is room for as many timeouts as attempts. A panicked attempt leaves its own behind.
#[test]
fn panicked_attempts_leave_room_for_the_timeouts_of_the_next() {
    let clock = VirtualClock::new();
    let run = |&index: &usize| {
        let clock = clock.clone();
        async move {
            clock.sleep(ms(10)).await;
            assert!(index >= 3, "on purpose");
        }
    };
    let race = InlineRace::<2, _, _>::at(clock.timer()).new(ms(1), run, 0..5);
    let mut race = pin!(race.attempt_timeout(ms(1_000)));
    let (out, panics) = survivors(&clock, async || race.as_mut().next().await);
    assert_eq!((out, panics), (vec![(3, ()), (4, ())], 3));
}

#[test]
fn panic_of_the_run_function_loses_only_its_candidate() {
    let clock = VirtualClock::new();
    let run = |index: &usize| {
        assert_ne!(*index, 1, "on purpose");
        clock.sleep(ms(70))
    };
    let mut race = Race::at(clock.timer()).new(ms(50), run, 0..3);
    let (out, panics) = survivors(&clock, async || race.next().await);
    assert_eq!((out, panics), (vec![(0, ()), (2, ())], 1));
    assert_eq!(
        clock.elapsed(),
        ms(120),
        "the next takes the lost one's time"
    );
}

#[test]
fn panicking_source_is_at_its_end() {
    let clock = VirtualClock::new();
    let attempts = (0..9).map(|index| {
        assert_ne!(index, 2, "on purpose");
        clock.sleep(ms(70))
    });
    let mut race = Race::at(clock.timer()).of(ms(50), attempts);
    let (out, panics) = survivors(&clock, async || race.next().await);
    assert_eq!((out, panics), (vec![(0, ()), (1, ())], 1));
}

#[test]
fn panic_of_the_only_attempt_starts_the_next_at_once() {
    let clock = VirtualClock::new();
    let run = |index: &usize| {
        let (clock, index) = (clock.clone(), *index);
        async move {
            clock.sleep(ms(10)).await;
            assert_ne!(index, 0, "on purpose");
            Ok::<_, ()>(())
        }
    };
    let mut first_ok = Race::at(clock.timer()).new(ms(1_000), run, 0..2).first_ok();
    let panicked = catch_unwind(AssertUnwindSafe(|| clock.run(&mut first_ok)));
    assert!(panicked.is_err());
    let won = clock.run(first_ok).unwrap().unwrap();
    assert_eq!((won.index, won.elapsed), (1, ms(20)));
}

/// Panics when it is called for the `at`th time.
fn panics_once(at: usize) -> impl FnMut() {
    let mut calls = 0;
    move || {
        calls += 1;
        assert_ne!(calls, at, "on purpose");
    }
}

#[test]
fn panicking_gate_is_asked_again() {
    let clock = VirtualClock::new();
    for at in 1..=2 {
        let mut panics = panics_once(at);
        let attempts = [70, 70, 70].map(|millis| clock.sleep(ms(millis)));
        let mut race = Race::at(clock.timer()).of(ms(50), attempts).gate(|_| {
            panics();
            true
        });
        let (out, panics) = survivors(&clock, async || race.next().await);
        assert_eq!((out, panics), (vec![(0, ()), (1, ()), (2, ())], 1));
    }
}

#[test]
fn panicking_policy_loses_one_candidate() {
    let clock = VirtualClock::new();
    for lost in 0..2 {
        let mut panics = panics_once(lost + 1);
        let policy = |_: usize| {
            panics();
            Some(ms(50))
        };
        let attempts = [70, 70, 70].map(|millis| clock.sleep(ms(millis)));
        let mut race = Race::at(clock.timer()).of(policy, attempts);
        let (mut out, panics) = survivors(&clock, async || race.next().await);
        let mut expected = vec![(0, ()), (1, ()), (2, ())];
        expected.remove(lost);
        out.sort();
        assert_eq!((out, panics), (expected, 1));
    }
}

/// The events are three starts and three ends. A start that panics loses its candidate, an end that
/// panics loses its output.
#[test]
fn panicking_observer_loses_one_attempt() {
    let clock = VirtualClock::new();
    for at in 1..=6 {
        let mut panics = panics_once(at);
        let attempts = [70, 70, 70].map(|millis| clock.sleep(ms(millis)));
        let race = Race::at(clock.timer()).of(ms(50), attempts);
        let mut race = race.on_event(|_| panics());
        let (out, panics) = survivors(&clock, async || race.next().await);
        assert_eq!((out.len(), panics), (2, 1), "event {at}");
    }
}

#[test]
fn first_ok_wins_after_a_panic_of_gate_policy_observer_or_run() {
    for kind in 0..4 {
        for at in 1..=3 {
            let clock = VirtualClock::new();
            let mut panics = panics_once(at);
            let mut panic_in = |called: usize| {
                if called == kind {
                    panics();
                }
            };
            let panic_in = std::cell::RefCell::new(&mut panic_in);
            let run = |&index: &usize| {
                (panic_in.borrow_mut())(0);
                let sleep = clock.sleep(ms(20));
                async move {
                    sleep.await;
                    if index < 6 { Err("down") } else { Ok(index) }
                }
            };
            let policy = |_: usize| {
                (panic_in.borrow_mut())(1);
                Some(ms(30))
            };
            let race = Race::at(clock.timer())
                .new(policy, run, 0..8)
                .gate(|_| {
                    (panic_in.borrow_mut())(2);
                    true
                })
                .on_event(|_| (panic_in.borrow_mut())(3));
            let mut first = race.first_ok();
            let panicked = catch_unwind(AssertUnwindSafe(|| clock.run(&mut first)));
            assert!(panicked.is_err(), "{kind} {at}");
            let won = clock.run(first).unwrap().unwrap();
            assert_eq!(won.output, 6, "{kind} {at}");
        }
    }
}

#[test]
fn panicking_classifier_loses_the_output() {
    let clock = VirtualClock::new();
    let mut panics = panics_once(1);
    let attempts = [10, 20].map(|millis| clock.sleep(ms(millis)));
    let race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
    let mut first = race.first_by(|()| {
        panics();
        Verdict::Accept
    });
    let panicked = catch_unwind(AssertUnwindSafe(|| clock.run(&mut first)));
    assert!(panicked.is_err());
    assert_eq!(clock.run(first).unwrap().unwrap().index, 1);
}

struct OnDrop(Rc<Cell<usize>>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}
