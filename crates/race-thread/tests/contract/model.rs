//! Futures are lazy, polled when woken, pinned, and cancelled when dropped.

use std::{
    cell::Cell,
    future::poll_fn,
    hint::black_box,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    task::{Context, Poll, Waker},
    thread::{self},
    time::{Duration, Instant},
};

use futures::{FutureExt as _, StreamExt as _};
use race_core::Timer;
use race_thread::{Race, ThreadTimer, sleep, sleep_until};

use crate::probe::*;

#[test]
fn a_registered_deadline_wakes_once_and_never_early() {
    let timers: Vec<_> = (0..500)
        .map(|index| {
            let probe = Probe::new();
            let deadline = now() + Duration::from_micros(index * 7_919 % 50_000);
            let mut timer = ThreadTimer::new();
            let armed = poll(&mut timer, deadline, &waker(&probe)).is_pending();
            (timer, deadline, probe, armed)
        })
        .collect();
    for (mut timer, deadline, probe, armed) in timers {
        if armed {
            probe.wait(1);
            assert!(now() >= deadline);
        }
        assert!(poll(&mut timer, deadline, Waker::noop()).is_ready());
        assert!(probe.wakes() <= 1);
    }
}

#[test]
fn sleeps_and_races_complete_under_every_executor() {
    everywhere(|| async {
        let began = Instant::now();
        sleep(ms(3)).await;
        assert!(began.elapsed() >= ms(3));
        sleep_until(began + ms(5)).await;
        assert!(began.elapsed() >= ms(5));
        let attempts = [HOUR, ms(2), HOUR].map(sleep);
        let won = Race::of(ms(1), attempts).first().await.unwrap();
        assert_eq!(won.index, 1);
    });
}

#[test]
fn a_wake_leads_to_a_poll() {
    everywhere(|| async {
        let (hand_over, wakers) = mpsc::channel::<Waker>();
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&polls);
        let wakes = thread::spawn(move || {
            for (before, waker) in (1..).zip(wakers) {
                assert_eq!(counted.load(SeqCst), before, "one poll for each wake");
                waker.wake();
            }
        });
        let attempt = poll_fn(move |cx| match polls.fetch_add(1, SeqCst) {
            100 => Poll::Ready(()),
            _ => {
                hand_over.send(cx.waker().clone()).unwrap();
                Poll::Pending
            }
        });
        // The first attempt never completes, so that the timer starts the second.
        let first = futures::future::pending().left_future();
        let race = Race::of(ms(1), [first, attempt.right_future()]);
        assert_eq!(race.first().await.unwrap().index, 1);
        wakes.join().unwrap();
    });
}

#[test]
fn clones_of_a_waker_are_equal_to_it() {
    everywhere(|| async {
        let attempts = (0..100).map(|index| async move {
            let mut kept = None;
            for _ in 0..3 {
                poll_fn(|cx| {
                    let clone = cx.waker().clone();
                    assert!(clone.will_wake(cx.waker()) && cx.waker().will_wake(&clone));
                    assert!(clone.clone().will_wake(&clone));
                    kept = Some(clone);
                    Poll::Ready(())
                })
                .await;
                sleep(Duration::from_micros(10 * index)).await;
            }
            // Waking a kept waker after the race is harmless.
            kept
        });
        let race = Race::of(Duration::ZERO, attempts);
        let kept: Vec<_> = race.map(|(_, waker)| waker.unwrap()).collect().await;
        assert_eq!(kept.len(), 100);
        kept.into_iter().for_each(Waker::wake);
    });
}

#[test]
fn polling_with_a_clone_of_the_waker_keeps_the_registration() {
    let probe = Probe::new();
    let deadline = now() + HOUR;
    let mut timer = arm(deadline, &waker(&probe));
    for _ in 0..100 {
        assert!(poll(&mut timer, deadline, &waker(&probe)).is_pending());
        assert_eq!(Arc::strong_count(&probe), 2, "the test's and the driver's");
    }
}

#[test]
fn many_wakes_cause_one_poll() {
    let polls = Cell::new(0);
    let attempt = poll_fn(|cx| {
        polls.set(polls.get() + 1);
        if polls.get() == 10 {
            return Poll::Ready(());
        }
        for _ in 0..100 {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    });
    let (won, polls_of_all) = by_hand(Race::of(HOUR, [attempt]).first());
    assert_eq!(won.unwrap().index, 0);
    assert_eq!(polls.get(), 10);
    assert!(polls_of_all <= 10, "{polls_of_all} polls");
}

#[test]
fn futures_are_lazy() {
    let [made, polled] = [0, 0].map(Cell::new);
    let attempts = (0..3).map(|_| {
        made.set(made.get() + 1);
        poll_fn(|_| {
            polled.set(polled.get() + 1);
            Poll::Ready(())
        })
    });
    let race = Race::of(Duration::ZERO, attempts);
    let slept = sleep(ms(1));
    pass(now() + ms(3));
    assert_eq!((made.get(), polled.get()), (0, 0));
    drop((race, slept));
    assert_eq!((made.get(), polled.get()), (0, 0));
}

#[test]
fn a_sleep_counts_from_its_creation() {
    let slept = sleep(ms(2));
    pass(now() + ms(2));
    assert_eq!(by_hand(slept), ((), 1));
}

#[test]
fn dropping_cancels() {
    in_time(|deadline| {
        let probe = Probe::new();
        drop(arm(deadline, &waker(&probe)));
        Box::new(move || {
            assert_eq!(Arc::strong_count(&probe), 1, "the waker is dropped");
            pass(deadline);
            assert_eq!(probe.wakes(), 0);
        })
    });
}

#[test]
fn dropping_a_sleep_or_a_race_cancels() {
    let probe = Probe::new();
    let waker = waker(&probe);
    let mut cx = Context::from_waker(&waker);
    let mut slept = Box::pin(sleep(HOUR));
    let mut race = Box::pin(Race::of(HOUR, [(); 3].map(|()| sleep(HOUR))).first());
    assert!(slept.as_mut().poll(&mut cx).is_pending());
    assert!(race.as_mut().poll(&mut cx).is_pending());
    assert!(Arc::strong_count(&probe) > 2);
    drop((slept, race));
    assert_eq!(Arc::strong_count(&probe), 2, "only the test's");
    assert_eq!(probe.wakes(), 0);
}

#[test]
fn disarming_cancels_and_the_timer_can_be_armed_again() {
    in_time(|deadline| {
        let probe = Probe::new();
        let mut timer = arm(deadline, &waker(&probe));
        Pin::new(&mut timer).disarm();
        Box::new(move || {
            pass(deadline);
            assert_eq!(probe.wakes(), 0);
            let again = now() + ms(1);
            if poll(&mut timer, again, &waker(&probe)).is_pending() {
                probe.wait(1);
            }
            assert!(poll(&mut timer, again, Waker::noop()).is_ready());
        })
    });
}

#[test]
fn spurious_wakes_are_harmless() {
    let probe = Probe::new();
    let deadline = now() + ms(20);
    let mut timer = ThreadTimer::new();
    let mut spurious = 0;
    loop {
        let before = now();
        if poll(&mut timer, deadline, &waker(&probe)).is_ready() {
            break;
        }
        assert!(before < deadline);
        waker(&probe).wake();
        spurious += 1;
    }
    assert!(now() >= deadline);
    pass(deadline);
    assert!(probe.wakes() <= spurious + 1);

    let ((), polls) = by_hand(async {
        let mut slept = pin!(sleep(ms(5)));
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            slept.as_mut().poll(cx)
        })
        .await;
    });
    assert!(polls >= 1);
}

#[test]
fn pin_is_respected() {
    everywhere(|| async {
        let attempts = (0..200).map(|index| async move {
            // Stored in the attempt, across its awaits.
            let here = Cell::new(index);
            let address = (&raw const here).addr();
            for millis in 0..3 {
                sleep(ms(millis)).await;
                assert_eq!((&raw const *black_box(&here)).addr(), address);
            }
            here.get()
        });
        let race = Race::of(Duration::from_micros(10), attempts);
        assert_eq!(race.count().await, 200);
    });
}

#[test]
fn a_clone_of_an_armed_timer_is_independent() {
    fn assert_traits<T: Clone + Default + Send + Sync + Unpin>() {}
    assert_traits::<ThreadTimer>();

    let [probe, other] = [(); 2].map(|()| Probe::new());
    let armed = arm(now() + HOUR, &waker(&probe));
    let mut clone = armed.clone();
    assert_eq!(Arc::strong_count(&probe), 2, "the clone is not armed");
    let soon = now() + ms(5);
    if poll(&mut clone, soon, &waker(&other)).is_pending() {
        other.wait(1);
    }
    drop(clone);
    assert_eq!((probe.wakes(), Arc::strong_count(&probe)), (0, 2));
    drop(armed);
    assert_eq!(Arc::strong_count(&probe), 1);
}

#[test]
fn a_client_clones_one_timer_for_each_race() {
    struct Client {
        timer: ThreadTimer,
    }
    let client = Client {
        timer: ThreadTimer::new(),
    };
    for _ in 0..3 {
        let attempts = [HOUR, ms(1)].map(sleep);
        let race = race_core::Race::at(client.timer.clone()).of(ms(1), attempts);
        assert_eq!(by_hand(race.first()).0.unwrap().index, 1);
    }
}
