use std::{
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Waker},
};

use race::Attempts;

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

    /// Returns a set of `count` futures, with their indices as arguments, and their gates.
    pub(crate) fn set(count: usize) -> (Attempts<Gated, usize>, Vec<Self>) {
        let mut set = Attempts::new();
        let gates: Vec<_> = (0..count).map(|_| Self::default()).collect();
        for (index, gate) in gates.iter().enumerate() {
            set.push_with(index, gate.future());
        }
        (set, gates)
    }

    /// Makes the future ready and wakes it.
    pub(crate) fn open(&self) {
        self.0.open.store(true, SeqCst);
        self.wake();
    }

    /// Wakes the future without making it ready.
    pub(crate) fn wake(&self) {
        let waker = self.0.waker.lock().unwrap().clone();
        waker.iter().for_each(Waker::wake_by_ref);
    }

    /// Returns the waker of the last poll.
    pub(crate) fn waker(&self) -> Waker {
        self.0.waker.lock().unwrap().clone().unwrap()
    }

    /// Takes the waker of the last poll, so that the gate keeps none.
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

/// A future that is ready once its gate is open.
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
