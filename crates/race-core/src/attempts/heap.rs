use alloc::boxed::Box;
use core::{
    fmt,
    mem::{self, ManuallyDrop},
    pin::Pin,
    ptr,
    task::{Context, Poll, Waker},
};

use futures_core::{FusedStream, Stream};

use super::{AttemptSet, Side, crowd::Crowd, rest::Rest, slots::Slots};

/// A set of running futures that polls only those that were woken.
///
/// It is what a [`Race`](crate::Race) keeps its attempts in, and is of use alone, much as
/// `FuturesUnordered` is: push futures, and take the outputs as they come, in any order. Beside its
/// output each gives back what was pushed with it.
///
/// - While there is one, it is polled in place with the waker of whoever polls the set, and there is
///   nothing else.
/// - From the second on, each has a waker of its own. Waking one costs an atomic operation, or two if
///   it is beyond the first 61, and so does finding it; how many others there are makes no difference.
/// - Futures live in blocks that double and never move. Nothing is allocated for each future, and slots
///   are used again.
/// - A poll goes one round: every future that was woken before it is polled once, in the order in which
///   they were pushed. (Beyond the first 61 a future takes the place of one that has finished.) One that
///   is ready ends the poll; the next first goes on with that round, and then begins another.
/// - If 64 rounds of several have gone by and none has finished, they take turns in being first until one
///   does. The one that always was may use up what its task is allowed to do at a time, such as tokio's
///   cooperative budget, and leave nothing for the others.
///
/// A future that was pushed does nothing until the set is polled.
///
/// # Panics
///
/// Polling it panics when a future does, in being polled or dropped. That future is gone then, and
/// the others stay.
///
/// # Cancel safety
///
/// A future stays in the set until its output is handed out.
///
/// ```
/// use race_core::Attempts;
///
/// # futures::executor::block_on(async {
/// let mut attempts = Attempts::new();
/// for number in 1..=3 {
///     attempts.push(number, async move { number * number });
/// }
/// while let Some((number, square)) = attempts.next().await {
///     assert_eq!(number * number, square);
/// }
/// # });
/// ```
pub struct Attempts<F, A = ()> {
    slots: Slots<Attempt<F, A>>,
    len: usize,
    /// There is one, in slot 0, which is polled with the parent's waker. The crowd does not count it.
    alone: bool,
    /// A round has ended early, since one was ready.
    amid_round: bool,
    /// Made when there are two for the first time, or when a race has to wait for its timer or source.
    pub(super) crowd: Option<Box<Crowd>>,
}

/// In the order of dropping: the future may use what its argument keeps alive.
struct Attempt<F, A> {
    future: F,
    arg: A,
}

impl<F, A> Attempts<F, A> {
    /// An empty set. It allocates nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            slots: Slots::new(),
            len: 0,
            alone: false,
            amid_round: false,
            crowd: None,
        }
    }

    /// How many futures it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<F: Future, A> Attempts<F, A> {
    /// Adds a future, to be polled first when the set is polled next, and what shall come back with its
    /// output.
    #[inline]
    pub fn push(&mut self, arg: A, future: F) {
        let (slot, _) = self.insert(Attempt { future, arg }, None);
        if !self.alone {
            self.crowd_mut().mark(slot);
        }
    }

    /// The next output, with what was pushed with it. `None` if the set is empty.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    #[expect(
        clippy::should_implement_trait,
        reason = "a stream's `next`, as `StreamExt` has it"
    )]
    pub fn next(&mut self) -> impl Future<Output = Option<(A, F::Output)>> {
        core::future::poll_fn(|cx| self.poll_one_round(cx))
    }

    /// One round, or as much of it as it takes to find one that is ready.
    #[inline]
    fn poll_one_round(&mut self, cx: &mut Context<'_>) -> Poll<Option<(A, F::Output)>> {
        if self.alone {
            self.listen(cx.waker());
            return self.poll_slot(0, cx).map(Some);
        }
        if self.len == 0 {
            self.listen(cx.waker());
            return Poll::Ready(None);
        }
        self.poll_crowd(cx).map(Some)
    }

    /// While nobody has a waker of its own but the timer and the source.
    #[inline]
    fn listen(&mut self, parent: &Waker) {
        if let Some(crowd) = &mut self.crowd {
            crowd.begin(parent);
        }
    }

    fn poll_crowd(&mut self, cx: &mut Context<'_>) -> Poll<(A, F::Output)> {
        // Whatever an earlier poll has left over goes first, or it could be kept waiting for ever.
        if self.amid_round {
            if let Poll::Ready(finished) = self.poll_round() {
                return Poll::Ready(finished);
            }
        }
        self.crowd_mut().begin(cx.waker());
        self.poll_round()
    }

    fn crowd_mut(&mut self) -> &mut Crowd {
        self.crowd.as_deref_mut().expect("two make a crowd")
    }

    /// Puts an attempt in its slot. Also says whether it is the one that made the first one of many.
    #[inline]
    fn insert(&mut self, attempt: Attempt<F, A>, waker: Option<&Waker>) -> (usize, bool) {
        // The lowest free slot is no further than this. Memory first: if there is none, nothing has
        // changed.
        self.slots.reserve(self.len);
        let promoted = self.len == 1 && self.alone;
        let slot = if self.len == 0 {
            self.alone = true;
            0
        } else {
            let crowd = self.crowd.get_or_insert_with(|| Box::new(Crowd::new()));
            if promoted {
                let first = crowd.insert(None);
                debug_assert_eq!(first, 0, "an empty crowd gives its first slot");
                crowd.mark(first);
                self.alone = false;
            }
            crowd.insert(waker)
        };
        // SAFETY: the slot is free, so nothing is overwritten.
        unsafe { self.slots.get(slot).write(attempt) };
        self.len += 1;
        (slot, promoted)
    }

    /// Goes on with the round until one is ready.
    fn poll_round(&mut self) -> Poll<(A, F::Output)> {
        loop {
            let crowd = self.crowd_mut();
            let Some(slot) = crowd.next() else {
                self.amid_round = false;
                return Poll::Pending;
            };
            let waker = crowd.waker(slot);
            self.amid_round = true; // also if the attempt panics
            let polled = self.poll_slot(slot, &mut Context::from_waker(&waker));
            if polled.is_ready() {
                self.amid_round = self.crowd_mut().is_amid_round();
                return polled;
            }
        }
    }

    /// The first learns that it has a waker of its own now.
    #[cold]
    fn poll_first_again(&mut self, cx: &mut Context<'_>) -> Poll<(A, F::Output)> {
        let crowd = self.crowd_mut();
        crowd.begin(cx.waker());
        let waker = crowd.waker(0);
        let is_due = crowd.take_first(0);
        self.amid_round = crowd.is_amid_round();
        if self.amid_round {
            cx.waker().wake_by_ref(); // what else was woken has been polled in this poll
        }
        match is_due {
            true => self.poll_slot(0, &mut Context::from_waker(&waker)),
            false => Poll::Pending,
        }
    }

    /// Polls the attempt in a slot, which must be taken, and frees the slot if it is ready or panics.
    #[inline(always)]
    fn poll_slot(&mut self, slot: usize, cx: &mut Context<'_>) -> Poll<(A, F::Output)> {
        let attempt = self.slots.get(slot).as_ptr();
        let panicked = Panicked { set: self, slot };
        // SAFETY: a slot that is taken holds an attempt. It stays where it is until it is dropped in
        // place, here, by `Panicked`, or with the set; so its future is pinned.
        let future = unsafe { Pin::new_unchecked(&mut (*attempt).future) };
        let polled = future.poll(cx);
        mem::forget(panicked);
        let Poll::Ready(output) = polled else {
            return Poll::Pending;
        };
        Poll::Ready((self.take(slot), output))
    }
}

impl<F, A> Attempts<F, A> {
    /// Frees a slot, which must be taken: drops its future, and gives back the argument.
    #[inline(always)]
    fn take(&mut self, slot: usize) -> A {
        let attempt = self.slots.get(slot).as_ptr();
        self.vacate(slot); // first, as dropping the future may panic
        // SAFETY: the slot was taken until now, and is free from here on: its argument is moved out and
        // its future dropped, each once.
        unsafe {
            let arg = ptr::read(&raw const (*attempt).arg);
            ptr::drop_in_place(&raw mut (*attempt).future);
            arg
        }
    }

    /// The slots that are taken, and their arguments.
    fn taken(&self) -> impl Iterator<Item = (usize, &A)> {
        let crowd = self.crowd.iter().filter(|_| !self.alone);
        let alone = self.alone.then_some(0);
        let taken = alone.into_iter().chain(crowd.flat_map(|it| it.slots()));
        // SAFETY: a slot that is taken holds an attempt, and nobody changes its argument.
        taken.map(|slot| (slot, unsafe { &(*self.slots.get(slot).as_ptr()).arg }))
    }
}

impl<F: Future, A> AttemptSet<F, A> for Attempts<F, A> {
    fn len(&self) -> usize {
        self.len
    }

    fn is_full(&self) -> bool {
        false
    }

    #[inline]
    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<(A, F::Output)>> {
        self.poll_one_round(cx)
    }

    fn push_and_poll(
        mut self: Pin<&mut Self>,
        arg: A,
        future: F,
        cx: &mut Context<'_>,
    ) -> Poll<(A, F::Output)> {
        let (slot, promoted) = self.insert(Attempt { future, arg }, Some(cx.waker()));
        if self.alone {
            return self.poll_slot(0, cx);
        }
        let waker = self.crowd_mut().waker(slot);
        let polled = self.poll_slot(slot, &mut Context::from_waker(&waker));
        if polled.is_pending() && promoted {
            return self.poll_first_again(cx);
        }
        polled
    }

    fn for_each(&self, mut f: impl FnMut(&A)) {
        self.taken().for_each(|(_, arg)| f(arg));
    }

    fn remove(mut self: Pin<&mut Self>, is_it: impl Fn(&A) -> bool) -> Option<A> {
        let (slot, _) = self.taken().find(|(_, arg)| is_it(arg))?;
        if !self.alone {
            let crowd = self.crowd_mut();
            crowd.forget(slot);
            self.amid_round = crowd.is_amid_round();
        }
        Some(self.take(slot))
    }

    fn side_waker(
        mut self: Pin<&mut Self>,
        side: Side,
        parent: &Waker,
    ) -> Option<(ManuallyDrop<Waker>, bool)> {
        let crowd = self.crowd.get_or_insert_with(|| {
            let mut crowd = Box::new(Crowd::new());
            crowd.begin(parent);
            crowd
        });
        Some(crowd.side_waker(side))
    }
}

impl<F, A> Attempts<F, A> {
    /// Notes that a slot is free.
    fn vacate(&mut self, slot: usize) {
        self.len -= 1;
        match &mut self.crowd {
            Some(crowd) if !self.alone => crowd.remove(slot),
            _ => self.alone = false,
        }
    }
}

/// Drops an attempt that panics in being polled.
struct Panicked<'a, F, A> {
    set: &'a mut Attempts<F, A>,
    slot: usize,
}

impl<F, A> Drop for Panicked<'_, F, A> {
    fn drop(&mut self) {
        let attempt = self.set.slots.get(self.slot);
        self.set.vacate(self.slot);
        // SAFETY: the slot was taken until now, and is free from here on.
        unsafe { attempt.drop_in_place() };
    }
}

impl<F, A> Drop for Attempts<F, A> {
    fn drop(&mut self) {
        if self.alone {
            // SAFETY: slot 0 is taken, and the set is not used again.
            unsafe { self.slots.get(0).drop_in_place() };
        } else if let Some(crowd) = &self.crowd {
            // SAFETY: these are the slots that are taken, and the set is not used again.
            let mut rest = unsafe { Rest::new(&self.slots, crowd.slots()) };
            crowd.close(); // user code; if it panics, `rest` drops them all the same
            rest.drop_all();
        }
    }
}

impl<F, A> Default for Attempts<F, A> {
    fn default() -> Self {
        Self::new()
    }
}

/// What is pinned, the futures, does not move with the set.
impl<F, A> Unpin for Attempts<F, A> {}

impl<F: Future, A> Stream for Attempts<F, A> {
    type Item = (A, F::Output);

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_one_round(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

/// Is terminated while it is empty; a push begins it anew.
impl<F: Future, A> FusedStream for Attempts<F, A> {
    fn is_terminated(&self) -> bool {
        self.len == 0
    }
}

impl<F, A> fmt::Debug for Attempts<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempts").field("len", &self.len).finish()
    }
}
