//! Which services become ready, what they hold meanwhile, and how often they are polled.

use std::{
    cell::Cell,
    future::{Ready, ready},
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use race_balance::{Balance, Balanced, Slot};
use race_core::{Moment, observe::Clock, test::VirtualClock};
use race_tower::Backends;
use tokio::sync::Semaphore;
use tower::{Service, limit::ConcurrencyLimit, service_fn, util::ServiceFn};

type Echo = ServiceFn<fn(u32) -> Ready<Result<u32, ()>>>;
type Limited = Balanced<usize, ConcurrencyLimit<Echo>, VirtualClock>;

/// Returns balanced services with one permit each, and these permits.
fn limited<const N: usize>() -> (Limited, [Arc<Semaphore>; N]) {
    let permits: [_; N] = std::array::from_fn(|_| Arc::new(Semaphore::new(1)));
    let service = |number: usize| {
        let echo: Echo = service_fn(|request| ready(Ok(request)));
        let limited = ConcurrencyLimit::with_semaphore(echo, permits[number].clone());
        Slot::new(number, limited)
    };
    let balance = Balance::timed_by(VirtualClock::new(), (0..N).map(service)).seed(1);
    (Balanced::new(balance), permits)
}

fn poll<Req, B: Backends<Req>>(backends: &mut B) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    backends.poll_ready(&mut cx).is_ready()
}

#[test]
fn service_that_was_made_ready_and_is_not_called_gives_its_permit_back() {
    let (balanced, permits) = limited::<2>();
    let free = || permits.each_ref().map(|it| it.available_permits());
    let mut clone = balanced.clone();
    assert!(poll(&mut clone));
    assert_eq!(free().iter().sum::<usize>(), 1);
    drop(clone);
    assert_eq!(free(), [1, 1]);

    // So does one that was taken, for a first attempt or a later one.
    let mut clone = balanced.clone();
    assert!(poll(&mut clone));
    let first = clone.take_ready();
    let mut other = clone.another();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(other.poll_ready(&mut cx).is_ready());
    assert_eq!(free(), [0, 0]);
    drop((first, other));
    assert_eq!(free(), [1, 1]);
    drop(clone);
    assert_eq!(free(), [1, 1]);
}

#[test]
fn service_that_waits_for_a_permit_leaves_its_place_when_another_one_is_ready() {
    let (mut balanced, permits) = limited::<2>();
    let held = permits.each_ref().map(|it| it.try_acquire().unwrap());
    assert!(!poll(&mut balanced));
    let [one, other] = held;
    // The first permit makes its service ready. Nothing may wait for the other one then.
    drop(one);
    assert!(poll(&mut balanced));
    drop(other);
    let free = permits.each_ref().map(|it| it.available_permits());
    assert_eq!(free, [0, 1]);
}

#[test]
fn service_that_was_made_ready_for_a_trial_and_is_dropped_frees_the_trial() {
    let clock = VirtualClock::new();
    let echo = service_fn(async |request: u32| Ok::<_, ()>(request));
    let slots = (0..2).map(|number| Slot::new(number, echo));
    let balance = Balance::timed_by(clock.clone(), slots).seed(1);
    for _ in 0..5 {
        let targets = balance.targets();
        for lease in [targets.pick(), targets.pick()] {
            match lease.endpoint().key() {
                0 => lease.failed(),
                _ => lease.succeeded(),
            }
        }
    }
    clock.advance(Duration::from_secs(30));
    let first = || *balance.targets().pick().endpoint().key();
    let mut balanced = Balanced::new(balance.clone());
    assert!(poll(&mut balanced));
    assert_eq!(first(), 1);
    drop(balanced);
    let keys: Vec<_> = (0..20).map(|_| first()).collect();
    assert!(keys.contains(&0), "{keys:?}");
}

/// Counts how often it is read.
#[derive(Clone, Default)]
struct CountingClock(Rc<Cell<usize>>);

impl Clock for CountingClock {
    fn read(&self) -> Moment {
        self.0.set(self.0.get() + 1);
        Moment::ZERO
    }
}

/// A service that is never ready, and counts polls.
#[derive(Clone, Default)]
struct NeverReady(Rc<Cell<usize>>);

impl Service<()> for NeverReady {
    type Response = ();
    type Error = ();
    type Future = Ready<Result<(), ()>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        self.0.set(self.0.get() + 1);
        Poll::Pending
    }

    fn call(&mut self, (): ()) -> Self::Future {
        unreachable!("it is never ready")
    }
}

#[test]
fn each_poll_asks_each_service_once_and_the_clock_once() {
    let (clock, service) = (CountingClock::default(), NeverReady::default());
    let slots = (0..1_000).map(|number| Slot::new(number, service.clone()));
    let balance = Balance::timed_by(clock.clone(), slots);
    let mut balanced = Balanced::new(balance);
    for polls in 1..=3 {
        assert!(!poll(&mut balanced));
        assert_eq!((service.0.get(), clock.0.get()), (polls * 1_000, polls));
    }
}
