//! Does a timer keep the contract of [`Timer`]? For the tests of those who write one.
//!
//! Call [`timer`] and [`fairness`] from a test that runs where the timer can work, such as inside
//! its runtime. They sleep for real, a good second in all, and set no upper bound on how late a
//! timer may be, except that one which has not woken for ten seconds is reported as stuck.
//!
//! ```
//! use race_core::{VirtualClock, conformance};
//!
//! let clock = VirtualClock::new();
//! clock.run(conformance::timer(|| clock.timer())).unwrap();
//! ```

use alloc::{sync::Arc, task::Wake, vec::Vec};
use core::{
    future::{pending, poll_fn},
    pin::{Pin, pin},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::{sync::mpsc, thread};

use crate::{Moment, Race, Timer};

const SHORT: Duration = Duration::from_millis(20);
const HOUR: Duration = Duration::from_secs(3_600);
/// When to give up on a timer that does not wake.
const STUCK: Duration = Duration::from_secs(10);

/// Checks each rule of the contract on timers fresh from `make`.
///
/// # Panics
///
/// With the rule that is broken.
pub async fn timer<T: Timer>(make: impl Fn() -> T) {
    never_early(&make).await;
    level_triggered(&make).await;
    never_is_never(&make).await;
    latest_waker_wins(&make).await;
    shortened_and_lengthened(&make).await;
    disarmed(&make).await;
    dropped_while_armed(&make).await;
}

/// Checks that an attempt which is always busy starves neither the timer nor the other attempts, and
/// that a timer which is always due starves no attempt.
///
/// `busy` makes futures that never end and do as much work in each poll as their runtime lets them;
/// on tokio they use up the cooperative budget. They keep waking their task, so a clock that only
/// moves when all is idle never moves: on a [`VirtualClock`](crate::VirtualClock), or a paused one,
/// give futures that sleep a little instead.
///
/// # Panics
///
/// If somebody starves.
pub async fn fairness<T, F>(make: impl Fn() -> T, busy: impl Fn() -> F)
where
    T: Timer + Unpin,
    F: Future<Output = ()>,
{
    // One busy, and a start that is due by time.
    let attempts = (0..2).map(|place| {
        let busy = (place == 0).then(&busy);
        async move {
            if let Some(busy) = busy {
                busy.await;
            }
        }
    });
    let mut first = pin!(Race::of_with(make(), SHORT, attempts).first());
    let rule = "a busy attempt must not starve the timer";
    let won = watched(rule, first.as_mut()).await;
    assert_eq!(won.map(|won| won.place), Ok(1));

    // A start is due in every poll, and one attempt needs many polls.
    let attempts = (0u64..).map(|place| async move {
        match place {
            0 => {
                for _ in 0..100 {
                    yield_now().await;
                }
            }
            _ => pending().await,
        }
    });
    let race = Race::of_with(make(), Duration::from_nanos(1), attempts);
    let mut first = pin!(race.max_in_flight(10_000).first());
    let rule = "a timer that is always due must not starve the attempts";
    let won = watched(rule, first.as_mut()).await;
    assert_eq!(won.map(|won| won.place), Ok(0));
}

async fn never_early<T: Timer>(make: &impl Fn() -> T) {
    for micros in [0, 1, 999, 1_000, 1_001, 7_300, 20_000] {
        let mut timer = pin!(make());
        let deadline = timer.now() + Duration::from_micros(micros);
        until(timer.as_mut(), deadline).await;
    }
    // Many at once, armed out of order.
    let mut timers: Vec<_> = (0..50u64)
        .map(|index| {
            let timer = alloc::boxed::Box::pin(make());
            let deadline = timer.now() + Duration::from_micros(index * 7_919 % 50 * 400);
            (timer, deadline)
        })
        .collect();
    let mut all = pin!(poll_fn(|cx| {
        timers.retain_mut(|(timer, deadline)| {
            let pending = timer.as_mut().poll_until(*deadline, cx).is_pending();
            assert!(
                pending || timer.now() >= *deadline,
                "a timer is never early"
            );
            pending
        });
        match timers.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }));
    watched("many timers must all wake", all.as_mut()).await;
}

async fn level_triggered<T: Timer>(make: &impl Fn() -> T) {
    let mut timer = pin!(make());
    let before = timer.now();
    let deadline = before + SHORT;
    until(timer.as_mut(), deadline).await;
    for past in [deadline, deadline, before, Moment::ZERO, deadline] {
        let polled = poll_once(timer.as_mut(), past).await;
        assert!(
            polled.is_ready(),
            "a timer is level-triggered: pending for {past:?}, which has passed"
        );
    }
    let mut fresh = pin!(make());
    let polled = poll_once(fresh.as_mut(), before).await;
    assert!(
        polled.is_ready(),
        "a fresh timer is ready for what has passed"
    );
}

async fn never_is_never<T: Timer>(make: &impl Fn() -> T) {
    let mut timer = pin!(make());
    assert!(
        poll_once(timer.as_mut(), Moment::NEVER).await.is_pending(),
        "`Moment::NEVER` never comes"
    );
    let soon = timer.now() + SHORT;
    until(timer.as_mut(), soon).await;
    for far in [
        Moment::NEVER,
        Moment::from_nanos(u64::MAX - 1),
        soon + HOUR * 24 * 365 * 100,
    ] {
        assert!(
            poll_once(timer.as_mut(), far).await.is_pending(),
            "{far:?} is far away"
        );
    }
    let soon = timer.now() + SHORT;
    until(timer.as_mut(), soon).await;
}

/// Also when the timer moves to another task: a task is known to it by its waker alone.
async fn latest_waker_wins<T: Timer>(make: &impl Fn() -> T) {
    // From another task to this one.
    let other = Arc::new(Woken::default());
    let mut timer = pin!(make());
    let deadline = timer.now() + SHORT;
    poll_as(&other, timer.as_mut(), deadline);
    until(timer.as_mut(), deadline).await;

    // From this task to another.
    let mut timer = pin!(make());
    let deadline = timer.now() + SHORT;
    assert!(poll_once(timer.as_mut(), deadline).await.is_pending());
    poll_as(&other, timer.as_mut(), deadline);
    other.count.store(0, Ordering::Relaxed);
    let mut clock = pin!(make());
    let mut later = clock.now() + SHORT;
    for _ in 0..STUCK.as_millis() / SHORT.as_millis() {
        until(clock.as_mut(), later).await;
        later += SHORT;
        if other.count.load(Ordering::Relaxed) > 0 {
            return;
        }
    }
    panic!("the latest waker wins: the task that polled last was not woken");
}

async fn shortened_and_lengthened<T: Timer>(make: &impl Fn() -> T) {
    let mut timer = pin!(make());
    let start = timer.now();
    assert!(
        poll_once(timer.as_mut(), start + HOUR).await.is_pending(),
        "an hour has not passed"
    );
    until(timer.as_mut(), start + SHORT).await; // is stuck if it still waits for the hour

    let start = timer.now();
    let _ = poll_once(timer.as_mut(), start + SHORT).await;
    let longer = start + SHORT * 3;
    until(timer.as_mut(), longer).await;
}

async fn disarmed<T: Timer>(make: &impl Fn() -> T) {
    let mut timer = pin!(make());
    timer.as_mut().disarm(); // nothing is armed
    let deadline = timer.now() + SHORT;
    let _ = poll_once(timer.as_mut(), deadline).await;
    timer.as_mut().disarm();
    timer.as_mut().disarm();
    until(timer.as_mut(), deadline).await; // armed again
    timer.as_mut().disarm();
    assert!(
        poll_once(timer.as_mut(), deadline).await.is_ready(),
        "a passed deadline stays passed after `disarm`"
    );
}

async fn dropped_while_armed<T: Timer>(make: &impl Fn() -> T) {
    let other = Arc::new(Woken::default());
    for micros in (0..20_000).step_by(1_000) {
        let mut timer = pin!(make());
        let deadline = timer.now() + Duration::from_micros(micros);
        let _ = poll_once(timer.as_mut(), deadline).await;
        let mut moved = alloc::boxed::Box::pin(make());
        let _ = moved.as_mut().poll_until(
            deadline,
            &mut Context::from_waker(&Waker::from(other.clone())),
        );
    }
    let mut timer = pin!(make());
    let deadline = timer.now() + SHORT * 2;
    until(timer.as_mut(), deadline).await;
}

/// Waits as a race would.
async fn until<T: Timer>(mut timer: Pin<&mut T>, deadline: Moment) {
    let mut ready = pin!(poll_fn(|cx| timer.as_mut().poll_until(deadline, cx)));
    watched("a timer wakes when its deadline passes", ready.as_mut()).await;
    let now = timer.now();
    assert!(
        now >= deadline,
        "a timer is never early: ready at {now:?}, for {deadline:?}"
    );
}

async fn poll_once<T: Timer>(mut timer: Pin<&mut T>, deadline: Moment) -> Poll<()> {
    poll_fn(|cx| Poll::Ready(timer.as_mut().poll_until(deadline, cx))).await
}

/// Polls as another task would.
fn poll_as<T: Timer>(task: &Arc<Woken>, timer: Pin<&mut T>, deadline: Moment) {
    let waker = Waker::from(task.clone());
    let _ = timer.poll_until(deadline, &mut Context::from_waker(&waker));
}

async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if core::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[derive(Default)]
struct Woken {
    count: AtomicUsize,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Awaits `future`, and panics with `rule` if it has not ended after [`STUCK`] of real time.
async fn watched<F: Future>(rule: &str, mut future: Pin<&mut F>) -> F::Output {
    let stuck = Arc::new(AtomicBool::new(false));
    let mut watch: Option<mpsc::Sender<()>> = None;
    poll_fn(|cx| {
        // Before polling, which would find out by itself what nobody woke it for.
        assert!(
            !stuck.load(Ordering::Acquire),
            "{rule}: nothing for {STUCK:?}"
        );
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(output);
        }
        watch.get_or_insert_with(|| {
            let (sender, ended) = mpsc::channel();
            let (stuck, waker) = (stuck.clone(), cx.waker().clone());
            thread::spawn(move || {
                if ended.recv_timeout(STUCK) == Err(mpsc::RecvTimeoutError::Timeout) {
                    stuck.store(true, Ordering::Release);
                    waker.wake();
                }
            });
            sender
        });
        Poll::Pending
    })
    .await
}
