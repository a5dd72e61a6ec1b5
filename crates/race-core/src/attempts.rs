use alloc::vec::Vec;
use core::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream as _;
use futures_util::stream::FuturesUnordered;
use pin_project_lite::pin_project;

/// An attempt that has run to its end.
#[derive(Debug)]
pub(crate) struct Finished<A, O> {
    pub(crate) place: usize,
    pub(crate) arg: A,
    pub(crate) output: O,
}

/// The attempts that run, polled only when they were woken.
///
/// Those that a poll finds ready together come out by place.
pub(crate) struct Attempts<A, F: Future> {
    running: FuturesUnordered<Attempt<A, F>>,
    /// Found ready, not handed out yet; the lowest place is last.
    finished: Vec<Finished<A, F::Output>>,
}

impl<A, F: Future> Attempts<A, F> {
    pub(crate) fn new() -> Self {
        Self {
            running: FuturesUnordered::new(),
            finished: Vec::new(),
        }
    }

    /// How many were pushed and have not come out.
    pub(crate) fn len(&self) -> usize {
        self.running.len() + self.finished.len()
    }

    /// Adds an attempt, to be polled by the next [`poll_next`](Self::poll_next).
    pub(crate) fn push(&mut self, place: usize, arg: A, future: F) {
        self.running.push(Attempt {
            future,
            arg: Some(arg),
            place,
        });
    }

    /// One that has finished; `Ready(None)` if there are no attempts.
    ///
    /// If an attempt panics it is dropped, and the others stay.
    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Finished<A, F::Output>>> {
        if self.finished.is_empty() {
            while let Poll::Ready(Some(done)) = Pin::new(&mut self.running).poll_next(cx) {
                let index = self.finished.partition_point(|it| it.place > done.place);
                self.finished.insert(index, done);
            }
        }
        match self.finished.pop() {
            Some(done) => Poll::Ready(Some(done)),
            None if self.running.is_empty() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

pin_project! {
    /// Declared in the order of dropping: the future may borrow what the argument keeps alive.
    struct Attempt<A, F> {
        #[pin]
        future: F,
        // Taken when the future is ready.
        arg: Option<A>,
        place: usize,
    }
}

impl<A, F: Future> Future for Attempt<A, F> {
    type Output = Finished<A, F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let output = ready!(this.future.poll(cx));
        Poll::Ready(Finished {
            place: *this.place,
            arg: this.arg.take().expect("an attempt is ready once"),
            output,
        })
    }
}
