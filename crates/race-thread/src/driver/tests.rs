//! The rounds of the thread, counted, each test on a driver of its own. Deadlines that must not
//! pass are an hour away; those that pass are milliseconds away.

use std::{
    sync::{Arc, atomic::AtomicUsize, atomic::Ordering::SeqCst},
    task::{Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use race_core::Moment;

use super::{Driver, KEPT, LOOKED_AT, TAKEN, now};

const HOUR: Duration = Duration::from_secs(3_600);

/// Counts its wakes, and those before its deadline.
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

    /// Waits until the thread sleeps until `moment`. Returns the rounds and the calls.
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
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "no progress in 30 seconds"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn thread_sleeps_while_nothing_is_armed() {
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
fn timers_with_one_deadline_are_woken_in_one_round() {
    // A slow machine gets more time to arm them.
    for millis in [20, 200, 2_000, 20_000] {
        let driver = Driver::leaked();
        // Not a multiple of the resolution, so that the thread sleeps until a later moment.
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
        // One round that sleeps, one that wakes them, one that finds nothing. The system may wake
        // the thread spuriously.
        assert!(rounds <= 4, "{rounds} rounds");
        return assert_eq!(calls, 0);
    }
    panic!("20 seconds did not suffice");
}

#[test]
fn future_that_is_not_polled_starts_no_thread_and_registers_nothing() {
    // The driver of the process, which no other test in this binary uses.
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
fn only_an_earlier_deadline_wakes_the_thread() {
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
fn thread_is_called_once_per_sleep() {
    let driver = Driver::leaked();
    let deadline = now() + HOUR;
    driver.arm(&Probe::new(deadline));
    driver.asleep_until(deadline);
    // Each is earlier than the one before, and most are registered before the thread wakes up.
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
fn no_registration_of_eight_threads_is_lost_or_early() {
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
            assert_eq!(probe.early.load(SeqCst), 0, "early");
        }
        // A cancelled timer may have been due already.
        assert!(kept.iter().all(|probe| probe.wakes() == 1), "lost");
        assert!(rest.iter().all(|probe| probe.wakes() <= 1));
    }
    deadlines.sort_unstable();
    deadlines.dedup();
    // A deadline costs at most two rounds: one that wakes and one that finds nothing. A round that
    // reaches the limit has looked at that many timers, and each is looked at a few times at most.
    let limited = 8 * 8 * EACH / LOOKED_AT;
    let bound = (2 * deadlines.len() + limited) as u64 + calls + 2;
    assert!(rounds <= bound, "{rounds} rounds, at most {bound}");
}

/// A driver without a thread, with timers that are due. The test runs the rounds.
fn with_due_timers(count: usize) -> (&'static Driver, Vec<Arc<Probe>>) {
    let driver = Driver::leaked();
    // As if the thread were awake.
    driver.lock().looks_at = Some(Moment::ZERO);
    let deadline = now() + Duration::from_millis(1);
    let probes: Vec<_> = (0..count).map(|_| Probe::new(deadline)).collect();
    probes.iter().for_each(|probe| _ = driver.arm(probe));
    let due = super::round_up(deadline);
    eventually(|| now() >= due);
    (driver, probes)
}

#[test]
fn each_round_wakes_or_moves_a_bounded_number_of_timers() {
    const CROWD: usize = 20_000;
    let (driver, probes) = with_due_timers(CROWD);
    let (mut due, mut moving, mut woken) = (Vec::new(), 0, 0);
    while woken < CROWD {
        drop(driver.go_round(driver.lock_again(), &mut due));
        let before = woken;
        woken = CROWD - driver.lock().wheel.len();
        assert!(woken - before <= TAKEN);
        moving += usize::from(woken == before);
    }
    // The wheel may exceed the limit by one chunk of 256.
    let rounds = CROWD / (LOOKED_AT + 256);
    assert!(moving >= rounds, "moved down in {moving} rounds");
    assert!(probes.iter().all(|probe| probe.wakes() == 1));
}

#[test]
fn a_blocked_caller_takes_the_lock_between_two_rounds() {
    let (driver, _probes) = with_due_timers(20_000);
    let mut due = Vec::new();
    let state = driver.go_round(driver.lock_again(), &mut due);
    assert_eq!(
        (due.len(), state.wheel.len()),
        (0, 20_000),
        "the bucket is open"
    );
    thread::scope(|scope| {
        let later = Probe::new(now() + HOUR);
        let caller = scope.spawn(move || driver.arm(&later));
        eventually(|| driver.blocked.load(SeqCst) == 1);
        let state = driver.stand_aside(state);
        assert_eq!(state.wheel.len(), 20_001);
        assert_eq!(driver.blocked.load(SeqCst), 0);
        // Without blocked callers the thread goes on.
        let state = driver.stand_aside(state);
        assert!(!state.stands_aside);
        assert!(state.wheel.get(caller.join().unwrap()).is_some());
    });
}

#[test]
fn memory_is_released_after_a_burst() {
    let driver = Driver::leaked();
    let deadline = now() + Duration::from_millis(20);
    let probes: Vec<_> = (0..2 * KEPT).map(|_| Probe::new(deadline)).collect();
    probes.iter().for_each(|probe| _ = driver.arm(probe));
    eventually(|| probes.iter().all(|probe| probe.wakes() == 1));
    driver.asleep_until(Moment::NEVER);
    assert!(driver.lock().wheel.capacity() <= KEPT);
}
