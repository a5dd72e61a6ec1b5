//! The race on the heap that polls everything with the waker of the task.

use std::{
    future::{pending, poll_fn},
    marker::PhantomPinned,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use futures::{Stream, StreamExt, future::join_all, stream::FusedStream};
use race::{
    GenericRace, InlineRace, Moment, OnFailure, RaceError, Timer,
    core::{Race, placement::OneWaker},
    test::VirtualClock,
};

use crate::probe::{Trace, ms, yield_now};

/// A waker that is equal to no other.
struct OfTheTask;

impl Wake for OfTheTask {
    fn wake(self: Arc<Self>) {}
}

/// A timer that accepts no waker but one.
#[derive(Clone)]
struct Picky(Waker);

impl Timer for Picky {
    fn now(&self) -> Moment {
        Moment::from(ms(1))
    }

    fn poll_until(self: Pin<&mut Self>, _: Moment, cx: &mut Context<'_>) -> Poll<()> {
        assert!(cx.waker().will_wake(&self.0), "the timer got another waker");
        Poll::Pending
    }
}

/// An attempt that accepts no waker but one, and is not `Unpin`.
fn picky(waker: &Waker) -> impl Future<Output = ()> + use<> {
    let (waker, pinned) = (waker.clone(), PhantomPinned);
    async move {
        let _pinned = pinned;
        poll_fn::<(), _>(|cx| {
            assert!(cx.waker().will_wake(&waker), "an attempt got another waker");
            Poll::Pending
        })
        .await;
    }
}

/// A stream of two arguments that accepts no waker but one.
fn picky_arguments(waker: &Waker) -> impl Stream<Item = ()> + Unpin + use<> {
    let (waker, mut left) = (waker.clone(), 2);
    futures::stream::poll_fn(move |cx| {
        assert!(cx.waker().will_wake(&waker), "the source got another waker");
        match left {
            0 => Poll::Pending,
            _ => {
                left -= 1;
                Poll::Ready(Some(()))
            }
        }
    })
}

/// Polls a race of two attempts on a stream three times, with the task's waker.
macro_rules! poll_picky {
    ($race:ty) => {{
        let waker = Waker::from(Arc::new(OfTheTask));
        let mut cx = Context::from_waker(&waker);
        let run = |(): &()| picky(&waker);
        let (timer, source) = (Picky(waker.clone()), picky_arguments(&waker));
        let race = <$race>::at(timer).from_stream(Duration::ZERO, run, source);
        let mut race = Box::pin(race.deadline(ms(1_000)).attempt_timeout(ms(100)));
        for _ in 0..3 {
            assert!(race.as_mut().poll_next(&mut cx).is_pending());
        }
        assert_eq!(race.len(), 2);
    }};
}

#[test]
fn attempts_timer_and_source_are_polled_with_the_waker_of_the_task() {
    poll_picky!(GenericRace::<OneWaker, _, _>);
    poll_picky!(InlineRace::<2, _, _>);
}

#[test]
#[should_panic = "an attempt got another waker"]
fn two_attempts_of_a_race_on_the_heap_have_wakers_of_their_own() {
    let waker = Waker::from(Arc::new(OfTheTask));
    let attempts = [picky(&waker), picky(&waker)];
    let mut race = Race::at(Picky(waker.clone())).of(Duration::ZERO, attempts);
    let _pending = race.poll_next_unpin(&mut Context::from_waker(&waker));
}

#[test]
fn attempts_come_out_in_the_order_in_which_they_finish() {
    let clock = VirtualClock::new();
    let starts = Trace::new(&clock);
    let attempts = [100, 20, 80].map(|millis| starts.attempt(millis));
    let mut race = GenericRace::<OneWaker, _, _>::at(clock.timer()).of(ms(50), attempts);
    let mut ends = vec![];
    clock
        .run(async {
            // It is `Unpin`, although the attempts are not.
            while let Some((index, _)) = race.next().await {
                ends.push((index, clock.elapsed()));
            }
        })
        .unwrap();
    assert_eq!(ends, [(1, ms(70)), (0, ms(100)), (2, ms(180))]);
    assert_eq!(starts.millis(), [0, 50, 100]);
    assert!(race.is_terminated() && race.is_empty());
}

#[test]
fn result_aware_finishers_keep_every_failure() {
    let clock = VirtualClock::new();
    let ask = |index| {
        let latency = clock.sleep(ms(10 * index as u64));
        async move {
            latency.await;
            Err::<(), _>(index)
        }
    };
    let race = GenericRace::<OneWaker, _, _>::at(clock.timer()).from_fn(Duration::MAX, ask);
    let race = race.max_attempts(40).on_failure(OnFailure::Any);
    let error = clock.run(race.first_ok()).unwrap().unwrap_err();
    let RaceError::AllFailed { failed, .. } = &error else {
        panic!("not all failed: {error}");
    };
    assert_eq!(failed.len(), 40);
    assert!(error.into_errors().into_iter().eq(0..40));
}

#[test]
fn losers_go_on_and_give_their_arguments_back() {
    let clock = VirtualClock::new();
    let run = |millis: &u64| {
        let latency = clock.sleep(ms(*millis));
        async move {
            latency.await;
            Ok::<_, ()>(())
        }
    };
    let latencies = [500, 300, 100];
    let race = GenericRace::<OneWaker, _, _>::at(clock.timer()).new(ms(10), run, latencies);
    let (won, mut race) = clock.run(race.first_ok().keep_race()).unwrap();
    assert_eq!(won.unwrap().arg, 100);
    assert_eq!(clock.run(race.next()), Ok(Some((300, Ok(())))));
    assert_eq!(race.into_args(), [500]);
}

#[test]
fn attempts_that_wake_themselves_do_not_starve_the_others() {
    let clock = VirtualClock::new();
    let attempts = (0..30).map(|_| yield_now());
    let race = GenericRace::<OneWaker, _, _>::at(clock.timer()).of(Duration::ZERO, attempts);
    let race = race.max_in_flight(2);
    let order: Vec<_> = clock.run(race.map(|(index, ())| index).collect()).unwrap();
    assert_eq!(order, (0..30).collect::<Vec<_>>());
}

#[test]
fn race_is_send_if_its_parts_are_and_always_unpin() {
    fn is_send_and_unpin<T: Send + Unpin>(it: T) -> T {
        it
    }
    let clock = VirtualClock::new();
    let tasks = (0..3).map(|_| {
        let attempts = [0, 1].map(|_| async {
            pending::<()>().await;
            Ok::<_, ()>(())
        });
        let race = GenericRace::<OneWaker, _, _>::at(clock.timer()).of(ms(1), attempts);
        let race = race.deadline(ms(10));
        let task = async move { is_send_and_unpin(race).first_ok().await.is_err() };
        let task: Pin<Box<dyn Future<Output = bool> + Send>> = Box::pin(task);
        task
    });
    assert_eq!(clock.run(join_all(tasks)), Ok(vec![true; 3]));
}
