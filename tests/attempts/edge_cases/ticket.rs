//! A future that is woken by another thread a given number of times.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc::{Receiver, Sender},
    },
    task::{Context, Poll, Waker},
    thread,
};

/// Sends its waker to another thread and waits for the wake, `times` times.
pub(crate) struct Ticket {
    /// The number of wakes so far, incremented by the other thread.
    woken: Arc<AtomicUsize>,
    /// The number of requests so far.
    asked: usize,
    /// The number of wakes after which the future is ready.
    times: usize,
    desk: Sender<Request>,
}

/// A ticket's count of wakes, and the waker to wake.
pub(crate) type Request = (Arc<AtomicUsize>, Waker);

impl Ticket {
    pub(crate) fn new(times: usize, desk: Sender<Request>) -> Self {
        Self {
            woken: Arc::default(),
            asked: 0,
            times,
            desk,
        }
    }
}

impl Future for Ticket {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let woken = self.woken.load(SeqCst);
        if woken == self.times {
            return Poll::Ready(());
        }
        if woken == self.asked {
            self.asked += 1;
            let request = (self.woken.clone(), cx.waker().clone());
            self.desk.send(request).expect("the serving thread runs");
        }
        Poll::Pending
    }
}

/// Serves requests, in one of three ways of waking. Also wakes stale wakers of earlier requests.
pub(crate) fn serve(requests: &Receiver<Request>) {
    let mut stale: Vec<Waker> = Vec::new();
    for (count, (woken, waker)) in requests.iter().enumerate() {
        let copy = waker.clone();
        if count % 4 == 0 {
            thread::yield_now();
        }
        woken.fetch_add(1, SeqCst);
        match count % 3 {
            0 => waker.wake(),
            1 => waker.wake_by_ref(),
            _ => {
                drop(waker);
                copy.wake_by_ref();
            }
        }
        if stale.len() > 8 {
            stale.swap_remove(count % 8).wake();
        }
        stale.push(copy);
    }
}
