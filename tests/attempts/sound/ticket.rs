//! Futures that have themselves woken by other threads.

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

/// Has its waker woken by other threads, so many times, one wake after another.
pub(crate) struct Ticket {
    /// How often it was, how often it has asked to be, and how often it wants to be.
    woken: Arc<AtomicUsize>,
    asked: usize,
    times: usize,
    desk: Sender<Request>,
}

/// A count of wakes and a waker, of one who asks to be woken.
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
            self.desk.send(request).expect("the desk is open");
        }
        Poll::Pending
    }
}

/// Wakes whoever asks, in one of several ways, and wakes those who asked before in vain.
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
