//! What the tests here have in common: a task that counts its wakes, and futures that are opened.

use std::{
    panic,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures::Stream;
use proptest::test_runner::Config;
use race::Attempts;

/// As many cases as `PROPTEST_CASES` says, or else so many.
pub(crate) fn cases(number: u32) -> Config {
    let mut config = Config::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = number;
    }
    config.failure_persistence = None;
    config
}

/// Panics without a message.
pub(crate) fn throw(payload: usize) -> ! {
    panic::resume_unwind(Box::new(payload))
}

/// What was thrown while this ran.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, usize> {
    panic::catch_unwind(panic::AssertUnwindSafe(run)).map_err(|payload| {
        match payload.downcast::<usize>() {
            Ok(payload) => *payload,
            Err(other) => panic::resume_unwind(other),
        }
    })
}

/// The task that polls the set: counts how often it is woken.
#[derive(Default)]
pub(crate) struct Parent(AtomicUsize);

impl Parent {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn wakes(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Wake for Parent {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Polls the set once, for a task.
pub(crate) fn poll<F: Future, A>(
    set: &mut Attempts<F, A>,
    parent: &Arc<Parent>,
) -> Poll<Option<(A, F::Output)>> {
    let waker = Waker::from(parent.clone());
    Pin::new(set).poll_next(&mut Context::from_waker(&waker))
}

/// What a set has to give until it is pending or empty.
pub(crate) fn drain<F: Future, A>(set: &mut Attempts<F, A>, parent: &Arc<Parent>) -> Vec<A> {
    let mut out = Vec::new();
    while let Poll::Ready(Some((arg, _))) = poll(set, parent) {
        out.push(arg);
    }
    out
}

/// Makes a future ready, and counts its polls and drops.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<State>);

#[derive(Default)]
struct State {
    open: AtomicBool,
    polls: AtomicUsize,
    drops: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

impl Gate {
    pub(crate) fn future(&self) -> Gated {
        Gated(self.clone())
    }

    /// A set of so many, each with its place, and their gates.
    pub(crate) fn set(count: usize) -> (Attempts<Gated, usize>, Vec<Self>) {
        let mut set = Attempts::new();
        let gates: Vec<_> = (0..count).map(|_| Self::default()).collect();
        for (place, gate) in gates.iter().enumerate() {
            set.push(place, gate.future());
        }
        (set, gates)
    }

    pub(crate) fn open(&self) {
        self.0.open.store(true, SeqCst);
        self.wake();
    }

    /// Wakes it, ready or not, alive or not.
    pub(crate) fn wake(&self) {
        let waker = self.0.waker.lock().unwrap().clone();
        waker.iter().for_each(Waker::wake_by_ref);
    }

    /// The waker that it was polled with last.
    pub(crate) fn waker(&self) -> Waker {
        self.0.waker.lock().unwrap().clone().unwrap()
    }

    /// Lets go of the waker.
    pub(crate) fn take_waker(&self) -> Waker {
        self.0.waker.lock().unwrap().take().unwrap()
    }

    pub(crate) fn polls(&self) -> usize {
        self.0.polls.load(SeqCst)
    }

    pub(crate) fn drops(&self) -> usize {
        self.0.drops.load(SeqCst)
    }
}

pub(crate) struct Gated(Gate);

impl Future for Gated {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let state = &self.0.0;
        state.polls.fetch_add(1, SeqCst);
        *state.waker.lock().unwrap() = Some(cx.waker().clone());
        match state.open.load(SeqCst) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Drop for Gated {
    fn drop(&mut self) {
        self.0.0.drops.fetch_add(1, SeqCst);
    }
}
