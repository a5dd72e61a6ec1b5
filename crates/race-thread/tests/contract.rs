//! Contract tests of the asynchronous model: what wakers, futures and executors may count on, and what they may
//! do. Nothing here says how late a wake may be, but for a watchdog.

use std::{
    cell::Cell,
    future::poll_fn,
    hint::black_box,
    panic::resume_unwind,
    pin::{Pin, pin},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use futures::{FutureExt as _, StreamExt as _};
use race_core::{Moment, Timer};
use race_thread::{Race, ThreadTimer, sleep, sleep_until};

const WATCHDOG: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_secs(3_600);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Counts how often it was woken.
#[derive(Default)]
struct Probe {
    wakes: Mutex<usize>,
    more: Condvar,
}

impl Wake for Probe {
    fn wake(self: Arc<Self>) {
        *self.wakes.lock().expect("nobody panics under it") += 1;
        self.more.notify_all();
    }
}

impl Probe {
    fn new() -> Arc<Self> {
        Arc::default()
    }

    fn wakes(&self) -> usize {
        *self.wakes.lock().expect("nobody panics under it")
    }

    /// Until it was woken at least so often.
    fn wait(&self, count: usize) {
        let wakes = self.wakes.lock().expect("nobody panics under it");
        let waited = self
            .more
            .wait_timeout_while(wakes, WATCHDOG, |wakes| *wakes < count);
        let (wakes, _) = waited.expect("nobody panics under it");
        assert!(*wakes >= count, "woken {} of {count} times", *wakes);
    }
}

fn waker<W: Wake + Send + Sync + 'static>(wake: &Arc<W>) -> Waker {
    Waker::from(Arc::clone(wake))
}

fn poll(timer: &mut ThreadTimer, deadline: Moment, waker: &Waker) -> Poll<()> {
    Pin::new(timer).poll_until(deadline, &mut Context::from_waker(waker))
}

/// A timer that is armed, or nearly was: its deadline may have passed.
fn arm(deadline: Moment, waker: &Waker) -> ThreadTimer {
    let mut timer = ThreadTimer::new();
    let _ = poll(&mut timer, deadline, waker);
    timer
}

fn now() -> Moment {
    ThreadTimer::new().now()
}

/// Does something before a deadline, which it says how long is to; on a slow machine again with more time.
fn in_time(mut act: impl FnMut(Moment) -> Box<dyn FnOnce()>) {
    for doubled in 0..10 {
        let deadline = now() + ms(5 << doubled);
        let check = act(deadline);
        if now() < deadline {
            return check();
        }
    }
    panic!("five seconds were not enough");
}

/// Until what was armed up to this moment was woken: the thread wakes in the order of deadlines.
fn pass(deadline: Moment) {
    let probe = Probe::new();
    loop {
        let after = deadline.max(now()) + ms(1);
        let mut timer = ThreadTimer::new();
        if poll(&mut timer, after, &waker(&probe)).is_pending() {
            return probe.wait(1);
        }
    }
}

/// An executor that polls when it was woken, and only then. Gives how often it polled.
fn by_hand<F: Future>(future: F) -> (F::Output, usize) {
    struct Unpark(AtomicBool, Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.store(true, SeqCst);
            self.1.unpark();
        }
    }
    let mut future = pin!(future);
    let unpark = Arc::new(Unpark(AtomicBool::new(true), thread::current()));
    let waker = waker(&unpark);
    let mut polls = 0;
    loop {
        while !unpark.0.swap(false, SeqCst) {
            thread::park();
        }
        polls += 1;
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return (output, polls);
        }
    }
}

/// Under each executor, on a thread of its own each, under the watchdog.
fn everywhere<F: Future<Output = ()> + 'static>(make: fn() -> F) {
    let pollster: fn(F) = pollster::block_on;
    let futures: fn(F) = futures::executor::block_on;
    let own: fn(F) = |future| by_hand(future).0;
    for (name, run) in [
        ("pollster", pollster),
        ("futures", futures),
        ("by hand", own),
    ] {
        let (done, is_done) = mpsc::channel();
        let thread = thread::spawn(move || {
            run(make());
            let _ = done.send(());
        });
        if is_done.recv_timeout(WATCHDOG) == Err(mpsc::RecvTimeoutError::Timeout) {
            panic!("nobody wakes under {name}");
        }
        if let Err(panic) = thread.join() {
            resume_unwind(panic);
        }
    }
}

#[test]
fn liveness_a_registered_deadline_always_wakes_once_and_never_early() {
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
fn liveness_sleeps_and_races_end_under_every_executor() {
    everywhere(|| async {
        let began = Instant::now();
        sleep(ms(3)).await;
        assert!(began.elapsed() >= ms(3));
        sleep_until(began + ms(5)).await;
        assert!(began.elapsed() >= ms(5));
        let attempts = [HOUR, ms(2), HOUR].map(sleep);
        let won = Race::of(ms(1), attempts).first().await.unwrap();
        assert_eq!(won.place, 1);
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
        // The first is only in the way; it starts the timer.
        let first = futures::future::pending().left_future();
        let race = Race::of(ms(1), [first, attempt.right_future()]);
        assert_eq!(race.first().await.unwrap().place, 1);
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
            // Nor do they wake anything that is gone.
            kept
        });
        let race = Race::of(Duration::ZERO, attempts);
        let kept: Vec<_> = race.map(|(_, waker)| waker.unwrap()).collect().await;
        assert_eq!(kept.len(), 100);
        kept.into_iter().for_each(Waker::wake);
    });
}

#[test]
fn a_clone_of_its_waker_does_for_a_timer_and_costs_no_registration() {
    let probe = Probe::new();
    let deadline = now() + HOUR;
    let mut timer = arm(deadline, &waker(&probe));
    for _ in 0..100 {
        assert!(poll(&mut timer, deadline, &waker(&probe)).is_pending());
        assert_eq!(Arc::strong_count(&probe), 2, "this one and the thread's");
    }
}

#[test]
fn waking_many_times_is_as_good_as_once() {
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
    assert_eq!(won.unwrap().place, 0);
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
fn a_sleep_counts_from_its_making_and_is_ready_at_its_first_poll() {
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
            assert_eq!(Arc::strong_count(&probe), 1, "the waker is gone with it");
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
    assert_eq!(Arc::strong_count(&probe), 2, "only this test's");
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
            // Lives in the attempt itself, across its awaits.
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

/// Panics when it is woken, with what panics when it is dropped. Both without a message.
struct Panics(AtomicUsize);

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        struct Again;
        impl Drop for Again {
            fn drop(&mut self) {
                resume_unwind(Box::new(()));
            }
        }
        self.0.fetch_add(1, SeqCst);
        resume_unwind(Box::new(Again));
    }
}

#[test]
fn a_waker_that_panics_harms_no_other_timer() {
    in_time(|deadline| {
        let panics = Arc::new(Panics(AtomicUsize::new(0)));
        let probes = [(); 3].map(|()| Probe::new());
        let timers: Vec<_> = probes
            .iter()
            .flat_map(|probe| [waker(probe), waker(&panics)])
            .map(|waker| arm(deadline, &waker))
            .collect();
        Box::new(move || {
            for probe in &probes {
                probe.wait(1);
            }
            pass(deadline);
            assert_eq!(panics.0.load(SeqCst), 3);
            drop(timers);
        })
    });
}

/// Arms and drops timers when it is woken, and when it is dropped.
struct Busy(Arc<Probe>);

impl Busy {
    fn work(&self) {
        let probe = waker(&self.0);
        let mut timer = arm(now() + HOUR, &probe);
        let _ = poll(&mut timer, now() + HOUR / 2, Waker::noop());
        drop(arm(now() + HOUR, &probe));
        drop(timer);
    }
}

impl Wake for Busy {
    fn wake(self: Arc<Self>) {
        self.work();
        waker(&self.0).wake();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.work();
        waker(&self.0).wake();
    }
}

#[test]
fn wakers_are_woken_and_dropped_outside_the_lock() {
    let probe = Probe::new();
    let (done, is_done) = mpsc::channel();
    let own = Arc::clone(&probe);
    thread::spawn(move || {
        let busy = || Waker::from(Arc::new(Busy(Arc::clone(&own))));
        // Woken, and dropped by the thread.
        let woken = arm(now() + ms(5), &busy());
        own.wait(1);
        // Dropped with their timer, and as another takes their place.
        drop(arm(now() + HOUR, &busy()));
        let deadline = now() + HOUR;
        let mut timer = arm(deadline, &busy());
        assert!(poll(&mut timer, deadline, &busy()).is_pending());
        assert!(poll(&mut timer, deadline, Waker::noop()).is_pending());
        Pin::new(&mut timer).disarm();
        drop(woken);
        done.send(()).unwrap();
    });
    is_done
        .recv_timeout(WATCHDOG)
        .expect("somebody waits for a lock that it holds");
    probe.wait(5);
}

#[test]
fn the_latest_waker_is_woken_and_the_old_one_is_not_needed() {
    in_time(|deadline| {
        let [old, new] = [(); 2].map(|()| Probe::new());
        let mut timer = arm(deadline, &waker(&old));
        let _ = poll(&mut timer, deadline, &waker(&new));
        Box::new(move || {
            assert_eq!(Arc::strong_count(&old), 1, "nobody keeps it");
            new.wait(1);
            assert_eq!((old.wakes(), new.wakes()), (0, 1));
            drop(timer);
        })
    });
}

#[test]
fn a_future_may_move_from_one_task_to_another() {
    let old = Probe::new();
    let mut slept = Box::pin(sleep(ms(10)));
    let _ = slept.as_mut().poll(&mut Context::from_waker(&waker(&old)));
    let moved = thread::spawn(move || by_hand(slept));
    let ((), polls) = moved.join().unwrap();
    assert!(polls <= 2, "{polls} polls");
}

#[test]
fn a_deadline_that_moves_earlier_wakes_then() {
    let probe = Probe::new();
    let mut timer = arm(now() + HOUR, &waker(&probe));
    let deadline = now() + ms(5);
    if poll(&mut timer, deadline, &waker(&probe)).is_pending() {
        probe.wait(1);
    }
    assert!(now() >= deadline);
    assert!(poll(&mut timer, deadline, Waker::noop()).is_ready());
}

#[test]
fn a_deadline_that_moves_later_does_not_wake_before() {
    in_time(|deadline| {
        let probe = Probe::new();
        let mut timer = arm(deadline, &waker(&probe));
        let later = deadline + ms(20);
        let _ = poll(&mut timer, later, &waker(&probe));
        Box::new(move || {
            probe.wait(1);
            assert!(now() >= later);
            assert_eq!(probe.wakes(), 1);
            assert!(poll(&mut timer, later, Waker::noop()).is_ready());
        })
    });
}

#[test]
fn a_deadline_that_moves_to_never_does_not_wake() {
    in_time(|deadline| {
        let probe = Probe::new();
        let mut timer = arm(deadline, &waker(&probe));
        assert!(poll(&mut timer, Moment::NEVER, &waker(&probe)).is_pending());
        Box::new(move || {
            pass(deadline);
            assert_eq!((probe.wakes(), Arc::strong_count(&probe)), (0, 1));
            drop(timer);
        })
    });
}
