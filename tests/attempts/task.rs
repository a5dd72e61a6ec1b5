use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures::Stream;
use race::Attempts;

/// A task that polls a set and counts how often it is woken.
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

/// Polls the set once for a task.
pub(crate) fn poll<F: Future, A>(
    set: &mut Attempts<F, A>,
    parent: &Arc<Parent>,
) -> Poll<Option<(A, F::Output)>> {
    let waker = Waker::from(parent.clone());
    Pin::new(set).poll_next(&mut Context::from_waker(&waker))
}

/// Polls the set until it is pending or empty. Returns the arguments of the finished futures.
pub(crate) fn drain<F: Future, A>(set: &mut Attempts<F, A>, parent: &Arc<Parent>) -> Vec<A> {
    let mut out = Vec::new();
    while let Poll::Ready(Some((arg, _))) = poll(set, parent) {
        out.push(arg);
    }
    out
}
