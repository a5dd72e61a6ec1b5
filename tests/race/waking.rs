use std::{cell::Cell, rc::Rc, time::Duration};

use futures::{
    channel::oneshot,
    future::{FutureExt, pending},
    poll,
};
use race::{VirtualClock, core::Race};

use crate::probe::{Counted, ms};

#[test]
fn without_a_wake_each_attempt_is_polled_once() {
    let (clock, polls) = (VirtualClock::new(), Rc::new(Cell::new(0)));
    let attempts = (0..64).map(|_| Counted {
        future: pending::<()>(),
        polls: polls.clone(),
    });
    let mut race = Race::of_with(clock.timer(), Duration::ZERO, attempts);
    clock
        .run(async {
            for _ in 0..10 {
                assert!(poll!(race.next()).is_pending());
            }
        })
        .unwrap();
    assert_eq!((race.len(), polls.get()), (64, 64));
}

#[test]
fn one_woken_of_many_is_polled_and_no_other() {
    let clock = VirtualClock::new();
    let polls: Vec<_> = (0..1_024).map(|_| Rc::new(Cell::new(0))).collect();
    let (senders, attempts): (Vec<_>, Vec<_>) = polls
        .iter()
        .map(|polls| {
            let (sender, future) = oneshot::channel::<()>();
            let polls = polls.clone();
            (sender, Counted { future, polls })
        })
        .unzip();
    let mut race = Race::of_with(clock.timer(), Duration::ZERO, attempts);
    clock
        .run(async {
            while race.len() < 1_024 {
                assert!(poll!(race.next()).is_pending());
            }
            let before: Vec<_> = polls.iter().map(|polls| polls.get()).collect();
            let mut senders: Vec<_> = senders.into_iter().map(Some).collect();
            for place in (7..1_024).step_by(100) {
                senders[place].take().unwrap().send(()).unwrap();
                assert_eq!(race.next().await, Some((place, Ok(()))));
            }
            for (place, polls) in polls.iter().enumerate() {
                let woken = usize::from(place % 100 == 7);
                assert_eq!(polls.get() - before[place], woken, "#{place}");
            }
        })
        .unwrap();
}

#[test]
fn waiting_for_the_next_start_polls_no_attempt() {
    let (clock, polls) = (VirtualClock::new(), Rc::new(Cell::new(0)));
    let attempts = (0..10).map(|_| Counted {
        future: pending::<()>(),
        polls: polls.clone(),
    });
    let mut race = Race::of_with(clock.timer(), ms(10), attempts);
    assert!(clock.run(race.next()).is_err());
    assert_eq!((race.len(), polls.get(), clock.elapsed()), (10, 10, ms(90)));
}

#[test]
fn dropping_next_loses_nothing() {
    let clock = VirtualClock::new();
    let attempts = [10, 20, 30].map(|millis| clock.sleep(ms(millis)).map(move |()| millis));
    let mut race = Race::of_with(clock.timer(), Duration::ZERO, attempts);
    let out = clock
        .run(async {
            let mut out = Vec::new();
            loop {
                match poll!(race.next()) {
                    std::task::Poll::Ready(Some((_, millis))) => out.push(millis),
                    std::task::Poll::Ready(None) => return out,
                    std::task::Poll::Pending => clock.sleep(ms(7)).await,
                }
            }
        })
        .unwrap();
    assert_eq!(out, [10, 20, 30]);
}
