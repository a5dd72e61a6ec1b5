use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    time::Duration,
};

use race::{VirtualClock, core::Race};

use crate::probe::ms;

/// Takes from a race until its end, through panics; what came out, and how many panics there were.
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
fn a_panicking_attempt_leaves_the_others() {
    for step in [Duration::ZERO, ms(50)] {
        for panics_at in [0, 10, 60] {
            let (clock, dropped) = (VirtualClock::new(), Rc::new(Cell::new(0)));
            let run = |place: &usize| {
                let (clock, place, dropped) = (clock.clone(), *place, OnDrop(dropped.clone()));
                async move {
                    let _dropped = dropped;
                    if place == 1 {
                        clock.sleep(ms(panics_at)).await;
                        panic!("attempt 1 falls over, as the test wants");
                    }
                    clock.sleep(ms(70)).await;
                }
            };
            let mut race = Race::new_with(clock.timer(), step, run, 0..3);
            let (out, panics) = survivors(&clock, async || race.next().await);
            assert_eq!((out, panics), (vec![(0, ()), (2, ())], 1));
            assert_eq!(dropped.get(), 3);
        }
    }
}

#[test]
fn a_panic_in_the_generator_loses_that_candidate_alone() {
    let clock = VirtualClock::new();
    let run = |place: &usize| {
        assert_ne!(*place, 1, "as the test wants");
        clock.sleep(ms(70))
    };
    let mut race = Race::new_with(clock.timer(), ms(50), run, 0..3);
    let (out, panics) = survivors(&clock, async || race.next().await);
    assert_eq!((out, panics), (vec![(0, ()), (2, ())], 1));
    assert_eq!(
        clock.elapsed(),
        ms(120),
        "the next takes the lost one's time"
    );
}

#[test]
fn a_panic_in_the_source_is_its_end() {
    let clock = VirtualClock::new();
    let attempts = (0..9).map(|place| {
        assert_ne!(place, 2, "as the test wants");
        clock.sleep(ms(70))
    });
    let mut race = Race::of_with(clock.timer(), ms(50), attempts);
    let (out, panics) = survivors(&clock, async || race.next().await);
    assert_eq!((out, panics), (vec![(0, ()), (1, ())], 1));
}

#[test]
fn first_ok_goes_on_at_once_when_the_only_one_running_panics() {
    let clock = VirtualClock::new();
    let run = |place: &usize| {
        let (clock, place) = (clock.clone(), *place);
        async move {
            clock.sleep(ms(10)).await;
            assert_ne!(place, 0, "as the test wants");
            Ok::<_, ()>(())
        }
    };
    let mut first_ok = Race::new_with(clock.timer(), ms(1_000), run, 0..2).first_ok();
    let panicked = catch_unwind(AssertUnwindSafe(|| clock.run(&mut first_ok)));
    assert!(panicked.is_err());
    let won = clock.run(first_ok).unwrap().unwrap();
    assert_eq!((won.place, won.elapsed), (1, ms(20)));
}

struct OnDrop(Rc<Cell<usize>>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}
