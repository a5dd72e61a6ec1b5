use std::{cell::Cell, collections::VecDeque, rc::Rc, task::Poll, time::Duration};

use futures::{
    channel::oneshot,
    future::{FutureExt, pending},
    poll, stream,
};
use race::{core::Race, test::VirtualClock};

use crate::probe::{Counted, Usage, ms, yield_now};

#[test]
fn unwoken_attempts_are_polled_once_and_the_first_again_when_the_second_starts() {
    let (clock, polls) = (VirtualClock::new(), Rc::new(Cell::new(0)));
    let attempts = (0..64).map(|_| Counted {
        future: pending::<()>(),
        polls: polls.clone(),
    });
    let mut race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
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
fn only_woken_attempts_are_polled() {
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
    let mut race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
    clock
        .run(async {
            while race.len() < 1_024 {
                assert!(poll!(race.next()).is_pending());
            }
            let before: Vec<_> = polls.iter().map(|polls| polls.get()).collect();
            let mut senders: Vec<_> = senders.into_iter().map(Some).collect();
            for index in (7..1_024).step_by(100) {
                senders[index].take().unwrap().send(()).unwrap();
                assert_eq!(race.next().await, Some((index, Ok(()))));
            }
            for (index, polls) in polls.iter().enumerate() {
                let woken = usize::from(index % 100 == 7);
                assert_eq!(polls.get() - before[index], woken, "#{index}");
            }
        })
        .unwrap();
}

#[test]
fn timer_wake_polls_no_attempt() {
    let (clock, polls) = (VirtualClock::new(), Rc::new(Cell::new(0)));
    let attempts = (0..10).map(|_| Counted {
        future: pending::<()>(),
        polls: polls.clone(),
    });
    let mut race = Race::at(clock.timer()).of(ms(10), attempts);
    assert!(clock.run(race.next()).is_err());
    // The first is polled again at 10, when it runs alone, and when the second starts.
    assert_eq!((race.len(), polls.get(), clock.elapsed()), (10, 12, ms(90)));
}

#[test]
fn dropping_next_loses_nothing() {
    let clock = VirtualClock::new();
    let attempts = [10, 20, 30].map(|millis| clock.sleep(ms(millis)).map(move |()| millis));
    let mut race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
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
fn timer_and_source_are_polled_only_after_they_woke() {
    let (clock, usage, drawn) = (VirtualClock::new(), Usage::default(), Cell::new(0));
    let (senders, mut attempts): (Vec<_>, VecDeque<_>) =
        (0..10).map(|_| oneshot::channel::<()>()).unzip();
    // Two candidates arrive at once, the others never.
    let arrivals = stream::poll_fn(|_| {
        drawn.set(drawn.get() + 1);
        match drawn.get() {
            1 | 2 => Poll::Ready(Some(())),
            _ => Poll::Pending,
        }
    });
    let run = |(): &()| attempts.pop_front().unwrap();
    let mut race = Race::at(usage.timer(&clock)).from_stream(ms(10), run, arrivals);
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
            // The source is polled with the parent's waker, and with its own when it is first
            // pending.
            assert_eq!((usage.polls.get(), drawn.get()), (2, 4));
        })
        .unwrap();
    drop(senders);
}

#[test]
fn timer_without_a_pending_start_is_disarmed() {
    let clock = VirtualClock::new();
    let attempts = [10, 70].map(|millis| {
        let sleep = clock.sleep(ms(millis));
        sleep.map(move |()| if millis == 10 { Err("down") } else { Ok(()) })
    });
    let (mut first_ok, mut polls) = (Race::at(clock.timer()).of(ms(50), attempts).first_ok(), 0);
    let counted = std::future::poll_fn(|cx| {
        polls += 1;
        first_ok.poll_unpin(cx)
    });
    assert!(clock.run(counted).unwrap().is_ok());
    // At 0, at 10 when the first fails and the second starts, and at 80.
    assert_eq!((polls, clock.elapsed()), (3, ms(80)));
}

#[test]
fn attempt_that_wakes_itself_is_polled_once_in_the_poll_that_starts_it() {
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
    let mut race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
    clock
        .run(async {
            assert!(poll!(race.next()).is_pending());
        })
        .unwrap();
    let polls: Vec<_> = polls.iter().map(|polls| polls.get()).collect();
    assert_eq!(
        polls,
        [2, 1, 1, 1],
        "the first is polled again when the second starts"
    );
}

/// The second starts in the same poll as the first, which is polled again then.
#[test]
fn attempt_that_wakes_itself_while_another_is_running_is_polled_again() {
    let clock = VirtualClock::new();
    for pending_first in [true, false] {
        let attempts = [pending_first, !pending_first].map(|is_pending| async move {
            match is_pending {
                true => pending().await,
                false => yield_now().await,
            }
        });
        let mut race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
        let expected = usize::from(pending_first);
        assert_eq!(clock.run(race.next()), Ok(Some((expected, ()))));
    }
}

/// The first was woken between its first poll and the poll that starts the second.
#[test]
fn wake_of_the_first_before_the_second_starts_is_not_lost() {
    let clock = VirtualClock::new();
    let (sender, receiver) = oneshot::channel::<()>();
    let attempts = [receiver.map(drop).left_future(), pending().right_future()];
    let mut race = Race::at(clock.timer()).of(ms(10), attempts);
    let first = clock.run(async {
        assert!(poll!(race.next()).is_pending());
        clock.advance(ms(10));
        sender.send(()).unwrap();
        race.next().await
    });
    assert_eq!(first, Ok(Some((0, ()))));
}

#[test]
fn wake_of_each_of_many_attempts_arrives() {
    for count in [2, 63, 64, 65, 70, 200] {
        for woken in (0..count).rev() {
            let clock = VirtualClock::new();
            let (senders, attempts): (Vec<_>, Vec<_>) =
                (0..count).map(|_| oneshot::channel::<()>()).unzip();
            let mut race = Race::at(clock.timer()).of(Duration::ZERO, attempts);
            let next = clock.run(async {
                while race.len() < count {
                    assert!(poll!(race.next()).is_pending());
                }
                let mut senders: Vec<_> = senders.into_iter().map(Some).collect();
                senders[woken].take().unwrap().send(()).unwrap();
                let next = race.next().await;
                drop(senders);
                next
            });
            assert_eq!(next, Ok(Some((woken, Ok(())))), "of {count}");
        }
    }
}

/// The timer is armed for 1000. A failure at 20 starts the second attempt, whose gap ended at 10.
#[test]
fn timer_that_is_armed_for_a_later_start_is_disarmed() {
    let clock = VirtualClock::new();
    let attempts = [20, 3_000].map(|millis| {
        let sleep = clock.sleep(ms(millis));
        sleep.map(move |()| if millis == 20 { Err("down") } else { Ok(()) })
    });
    let race = Race::at(clock.timer())
        .of(ms(1_000), attempts)
        .min_gap(ms(10));
    let (mut first_ok, mut polls) = (race.first_ok(), 0);
    let counted = std::future::poll_fn(|cx| {
        polls += 1;
        first_ok.poll_unpin(cx)
    });
    assert!(clock.run(counted).unwrap().is_ok());
    assert_eq!((polls, clock.elapsed()), (3, ms(3_020)));
}
