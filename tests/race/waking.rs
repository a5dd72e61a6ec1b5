use std::{cell::Cell, collections::VecDeque, rc::Rc, task::Poll, time::Duration};

use futures::{
    channel::oneshot,
    future::{FutureExt, pending},
    poll, stream,
};
use race::{VirtualClock, core::Race};

use crate::probe::{Counted, Usage, ms};

#[test]
fn without_a_wake_each_attempt_is_polled_once_and_the_first_again_when_it_is_no_longer_alone() {
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
    assert_eq!((race.len(), polls.get()), (64, 65));
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
    // The first once more at 10, when it is still alone, and once more when it no longer is.
    assert_eq!((race.len(), polls.get(), clock.elapsed()), (10, 12, ms(90)));
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
                    Poll::Ready(Some((_, millis))) => out.push(millis),
                    Poll::Ready(None) => return out,
                    Poll::Pending => clock.sleep(ms(7)).await,
                }
            }
        })
        .unwrap();
    assert_eq!(out, [10, 20, 30]);
}

#[test]
fn neither_timer_nor_source_is_polled_when_it_did_not_wake() {
    let (clock, usage, drawn) = (VirtualClock::new(), Usage::default(), Cell::new(0));
    let (senders, mut attempts): (Vec<_>, VecDeque<_>) =
        (0..10).map(|_| oneshot::channel::<()>()).unzip();
    // Two candidates come at once, the others never.
    let arrivals = stream::poll_fn(|_| {
        drawn.set(drawn.get() + 1);
        match drawn.get() {
            1 | 2 => Poll::Ready(Some(())),
            _ => Poll::Pending,
        }
    });
    let run = |(): &()| attempts.pop_front().unwrap();
    let mut race = Race::from_stream_with(usage.timer(&clock), ms(10), run, arrivals);
    clock
        .run(async {
            assert!(poll!(race.next()).is_pending());
            clock.advance(ms(3));
            for _ in 0..5 {
                assert!(poll!(race.next()).is_pending());
            }
            assert_eq!((usage.polls.get(), drawn.get()), (1, 2), "waiting for 10");
            clock.advance(ms(7));
            for _ in 0..5 {
                assert!(poll!(race.next()).is_pending());
            }
            // The source once with the race's waker, and once with its own, when it first must wait.
            assert_eq!((usage.polls.get(), drawn.get()), (2, 4));
        })
        .unwrap();
    drop(senders);
}

#[test]
fn a_timer_for_which_nothing_waits_any_more_wakes_nobody() {
    let clock = VirtualClock::new();
    let attempts = [10, 70].map(|millis| {
        let sleep = clock.sleep(ms(millis));
        sleep.map(move |()| if millis == 10 { Err("down") } else { Ok(()) })
    });
    let (mut first_ok, mut polls) = (Race::of_with(clock.timer(), ms(50), attempts).first_ok(), 0);
    let counted = std::future::poll_fn(|cx| {
        polls += 1;
        first_ok.poll_unpin(cx)
    });
    assert!(clock.run(counted).unwrap().is_ok());
    // At 0, at 10 when the first fails and the second starts, and at 80.
    assert_eq!((polls, clock.elapsed()), (3, ms(80)));
}

#[test]
fn each_is_polled_once_in_the_poll_that_starts_it_though_it_wakes_itself() {
    let clock = VirtualClock::new();
    let polls: Vec<_> = (0..4).map(|_| Rc::new(Cell::new(0))).collect();
    let attempts = polls.iter().map(|polls| {
        let polls = polls.clone();
        std::future::poll_fn(move |cx| {
            polls.set(polls.get() + 1);
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        })
    });
    let mut race = Race::of_with(clock.timer(), Duration::ZERO, attempts);
    clock
        .run(async {
            assert!(poll!(race.next()).is_pending());
        })
        .unwrap();
    let polls: Vec<_> = polls.iter().map(|polls| polls.get()).collect();
    assert_eq!(
        polls,
        [2, 1, 1, 1],
        "the first once more, as it is no longer alone"
    );
}
