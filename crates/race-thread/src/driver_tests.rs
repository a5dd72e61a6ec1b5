//! How often the thread goes round, on a driver of the test's own. Deadlines that must not come are an hour
//! off; those that come are milliseconds.

use std::{
    sync::{Arc, atomic::AtomicUsize, atomic::Ordering::SeqCst},
    task::{Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use race_core::Moment;

use super::{Driver, now};

const HOUR: Duration = Duration::from_secs(3_600);

/// How often it was woken, and how often before its time.
struct Probe {
    deadline: Moment,
    wakes: AtomicUsize,
    early: AtomicUsize,
}

impl Probe {
    fn new(deadline: Moment) -> Arc<Self> {
        let [wakes, early] = [0, 0].map(AtomicUsize::new);
        Arc::new(Self {
            deadline,
            wakes,
            early,
        })
    }

    fn wakes(&self) -> usize {
        self.wakes.load(SeqCst)
    }
}

impl Wake for Probe {
    fn wake(self: Arc<Self>) {
        self.early
            .fetch_add(usize::from(now() < self.deadline), SeqCst);
        self.wakes.fetch_add(1, SeqCst);
    }
}

impl Driver {
    fn leaked() -> &'static Self {
        Box::leak(Box::new(Self::new()))
    }

    fn arm(&'static self, probe: &Arc<Probe>) -> race_wheel::Key {
        self.register(probe.deadline, &Waker::from(Arc::clone(probe)))
    }

    /// Rounds and calls, once the thread sleeps until a moment.
    fn asleep_until(&self, moment: Moment) -> (u64, u64) {
        let mut counts = (0, 0);
        eventually(|| {
            let state = self.lock();
            counts = (state.rounds, state.calls);
            state.looks_at == Some(super::round_up(moment))
        });
        counts
    }
}

fn eventually(mut is: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < Duration::from_secs(30), "it never is");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn with_nothing_armed_the_thread_sleeps_for_good() {
    let driver = Driver::leaked();
    let probe = Probe::new(now());
    driver.arm(&probe);
    eventually(|| probe.wakes() == 1);
    let counts = driver.asleep_until(Moment::NEVER);
    thread::sleep(Duration::from_millis(50));
    assert_eq!(driver.asleep_until(Moment::NEVER), counts);
    assert_eq!(counts, (2, 0));
}

#[test]
fn a_hundred_timers_at_one_deadline_are_woken_in_one_round() {
    // On a slow machine again with more time to arm them in.
    for millis in [20, 200, 2_000, 20_000] {
        let driver = Driver::leaked();
        // Not a whole number of ticks: what the thread sleeps until is later.
        let deadline = now() + Duration::from_millis(millis);
        let deadline = Moment::from_nanos(deadline.as_nanos() / 1_000 * 1_000 + 1);
        let probes = [(); 100].map(|()| Probe::new(deadline));
        driver.arm(&probes[0]);
        while driver.lock().rounds == 0 && now() < deadline {
            thread::yield_now();
        }
        probes[1..].iter().for_each(|probe| _ = driver.arm(probe));
        if now() >= deadline {
            continue;
        }
        eventually(|| probes.iter().all(|probe| probe.wakes() == 1));
        let (rounds, calls) = driver.asleep_until(Moment::NEVER);
        // The one that goes to sleep, the one that wakes them, and one that finds nothing more. The
        // system may wake the thread once for nothing.
        assert!(rounds <= 4, "{rounds} rounds");
        return assert_eq!(calls, 0);
    }
    panic!("20 seconds were not enough");
}

#[test]
fn what_is_not_polled_starts_no_thread_and_registers_nothing() {
    // The process's own, which no other test here uses.
    let state = || {
        let state = super::DRIVER.lock();
        (state.looks_at, state.wheel.len())
    };
    let _timer = crate::ThreadTimer::new();
    let slept = crate::sleep(Duration::from_millis(1));
    let attempts = [(); 3].map(|()| crate::sleep(Duration::ZERO));
    let race = crate::Race::of(Duration::ZERO, attempts).first();
    assert_eq!(state(), (None, 0));
    drop((slept, race));
    assert_eq!(state(), (None, 0));
}

#[test]
fn later_deadlines_do_not_wake_the_thread_and_an_earlier_one_does_once() {
    let driver = Driver::leaked();
    let deadline = now() + HOUR;
    driver.arm(&Probe::new(deadline));
    let (before, _) = driver.asleep_until(deadline);
    for millis in 0..1_000 {
        driver.arm(&Probe::new(deadline + Duration::from_millis(millis)));
    }
    assert_eq!(driver.asleep_until(deadline), (before, 0));

    let earlier = now() + HOUR / 2;
    driver.arm(&Probe::new(earlier));
    assert_eq!(driver.asleep_until(earlier), (before + 1, 1));
}

#[test]
fn the_thread_is_called_once_though_it_takes_its_time() {
    let driver = Driver::leaked();
    let deadline = now() + HOUR;
    driver.arm(&Probe::new(deadline));
    driver.asleep_until(deadline);
    // Each is earlier than all before it; they come in a row, most before the thread is up.
    let probes: Vec<_> = (1..1_000)
        .map(|millis| {
            Probe::new(Moment::from_nanos(
                (deadline.as_nanos()) - millis * 1_000_000,
            ))
        })
        .collect();
    for probe in &probes {
        driver.arm(probe);
    }
    let (rounds, calls) = driver.asleep_until(probes[998].deadline);
    assert!(rounds <= 1 + 1 + calls, "{rounds} rounds, {calls} calls");
}

#[test]
fn cancelling_does_not_wake_the_thread() {
    let driver = Driver::leaked();
    let deadline = now() + HOUR;
    let keys: Vec<_> = (0..100)
        .map(|_| driver.arm(&Probe::new(deadline)))
        .collect();
    let counts = driver.asleep_until(deadline);
    for key in keys {
        driver.cancel(key);
    }
    assert_eq!(driver.asleep_until(deadline), counts);
}

#[test]
fn of_80_000_registrations_from_8_threads_none_is_lost_and_none_is_early() {
    const EACH: usize = 10_000;
    let driver = Driver::leaked();
    let register = |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut kept = Vec::new();
        let mut rest = Vec::new();
        for _ in 0..EACH {
            let mut soon = || Probe::new(now() + Duration::from_nanos(random.u64(..1_000_000_000)));
            let (probe, then) = (soon(), soon());
            let key = driver.arm(&probe);
            match random.u8(..4) {
                0 => {
                    driver.cancel(key);
                    rest.push(probe);
                }
                1 => {
                    driver.cancel(key);
                    rest.push(probe);
                    driver.arm(&then);
                    kept.push(then);
                }
                _ => kept.push(probe),
            }
        }
        (kept, rest)
    };
    let probes: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|seed| scope.spawn(move || register(seed)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    eventually(|| driver.lock().wheel.is_empty());
    let (rounds, calls) = driver.asleep_until(Moment::NEVER);

    let mut deadlines = Vec::new();
    for (kept, rest) in &probes {
        for probe in kept.iter().chain(rest) {
            deadlines.push(super::round_up(probe.deadline));
            assert_eq!(probe.early.load(SeqCst), 0, "none is early");
        }
        // What was cancelled may have been due already.
        assert!(kept.iter().all(|probe| probe.wakes() == 1), "none is lost");
        assert!(rest.iter().all(|probe| probe.wakes() <= 1));
    }
    deadlines.sort_unstable();
    deadlines.dedup();
    // A deadline costs two rounds at most: one that wakes, one that finds nothing more.
    let bound = 2 * deadlines.len() as u64 + calls + 2;
    assert!(rounds <= bound, "{rounds} rounds, at most {bound}");
    println!(
        "{rounds} rounds, {calls} calls, {} deadlines",
        deadlines.len()
    );
}
