mod attempt_set;
mod poll;

use alloc::boxed::Box;
use core::{
    fmt,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use futures_core::{FusedStream, Stream};

use super::{drop_all::DropAll, ready_set::ReadySet, storage::Storage};

/// A set of running futures that polls only those that were woken.
///
/// A [`Race`](crate::Race) runs its attempts in this set. It is also usable alone, like
/// `FuturesUnordered`: push futures, and await their outputs in the order in which they finish. An
/// output comes with the argument that was pushed with its future.
///
/// # Polling
///
/// - A future does nothing until the set is polled.
/// - The set polls in rounds. A round polls once each future that was pushed or woken before the
///   round began, in the order of the pushes. Futures beyond the first 61 follow; each of these
///   takes the position of a future that has finished, if there is one.
/// - A future that finishes ends the poll. The next poll continues the round, then begins another.
/// - After 64 rounds in which several futures were polled and none finished, the starting position
///   rotates until one finishes. Otherwise a future that exhausts the task's cooperative budget
///   (as in tokio) in each round could starve the others.
///
/// # Costs
///
/// - The set does not allocate for each future. It stores futures in blocks that double in size,
///   never moves them, and reuses their memory. It never shrinks.
/// - A single future is polled with the waker of the task, without further cost.
/// - Two or more futures have a waker each. A wake takes one atomic operation, or two beyond the
///   first 61 futures, and so does finding the woken future. The number of other futures does not
///   matter.
/// - A waker that outlives the set keeps up to 128 bytes of shared state alive, but no future.
///
/// # Panics
///
/// Polling the set panics if a future panics while it is polled or dropped. The set then drops this
/// future and its argument, keeps all others, and can be polled again. If the drop of a finished
/// future panics, its output is dropped too.
///
/// Dropping the set drops every future and argument, even if one of them panics. As in a `Vec`, a
/// second panic aborts the process.
///
/// If the task's waker panics when it is cloned, woken or dropped, no wake is lost: the next poll
/// of the set handles it.
///
/// # Cancel safety
///
/// A future stays in the set until its output is returned. [`next`](Self::next) is cancel safe.
///
/// # Examples
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
    storage: Storage<F, A>,
    len: usize,
    /// The set holds one future, in slot 0, which is polled with the parent's waker. `ready` does
    /// not count it.
    is_alone: bool,
    /// Whether a finished or panicked future ended the last poll before the round was complete.
    round_interrupted: bool,
    /// Created for the second future, or when a race waits for its timer or source.
    pub(super) ready: Option<Box<ReadySet>>,
}

impl<F, A> Attempts<F, A> {
    /// Creates an empty set. Does not allocate.
    ///
    /// ```
    /// use core::future::Ready;
    /// use race_core::Attempts;
    ///
    /// let attempts: Attempts<Ready<()>, &str> = Attempts::new();
    /// assert!(attempts.is_empty());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self {
            storage: Storage::new(),
            len: 0,
            is_alone: false,
            round_interrupted: false,
            ready: None,
        }
    }

    /// Returns the number of futures in the set.
    ///
    /// ```
    /// use core::future::ready;
    /// use race_core::Attempts;
    ///
    /// let mut attempts = Attempts::new();
    /// attempts.push("a", ready(1));
    /// attempts.push("b", ready(2));
    /// assert_eq!(attempts.len(), 2);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if the set holds no future.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<F: Future, A> Attempts<F, A> {
    /// Adds a future, and an argument that is returned with its output.
    ///
    /// The future is first polled when the set is polled next. `push` does not wake the task.
    ///
    /// ```
    /// use race_core::Attempts;
    ///
    /// # futures::executor::block_on(async {
    /// let mut attempts = Attempts::new();
    /// attempts.push("mirror", async { 200 });
    /// assert_eq!(attempts.next().await, Some(("mirror", 200)));
    /// # });
    /// ```
    #[inline]
    pub fn push(&mut self, arg: A, future: F) {
        let (slot, _) = self.insert(arg, future, None);
        if !self.is_alone {
            self.ready_mut().schedule(slot);
        }
    }

    /// Returns the next output with its argument, or `None` if the set is empty.
    ///
    /// # Panics
    ///
    /// Panics if a future panics while it is polled or dropped; see the [type](Self#panics).
    ///
    /// # Cancel safety
    ///
    /// Dropping the returned future loses no output.
    ///
    /// ```
    /// use core::future::{pending, ready};
    /// use futures::future::Either;
    /// use race_core::Attempts;
    ///
    /// # futures::executor::block_on(async {
    /// let mut attempts = Attempts::new();
    /// attempts.push("slow", Either::Left(pending::<u16>()));
    /// attempts.push("fast", Either::Right(ready(200)));
    /// assert_eq!(attempts.next().await, Some(("fast", 200)));
    /// assert_eq!(attempts.len(), 1);
    /// # });
    /// ```
    #[expect(
        clippy::should_implement_trait,
        reason = "the name of `StreamExt::next`"
    )]
    pub fn next(&mut self) -> impl Future<Output = Option<(A, F::Output)>> {
        poll_fn(|cx| self.poll_one(cx))
    }
}

impl<F, A> Attempts<F, A> {
    fn ready_mut(&mut self) -> &mut ReadySet {
        let ready = self.ready.as_deref_mut();
        ready.expect("a set of two or more futures has a ready set")
    }

    /// Moves a future into a slot. Returns the slot, and whether slot 0 stopped being alone.
    ///
    /// With a `waker`, the caller polls the future at once; without, it schedules the slot.
    #[inline]
    fn insert(&mut self, arg: A, future: F, waker: Option<&Waker>) -> (usize, bool) {
        // The lowest free slot is at most `len`. The allocation comes first: if it fails, nothing
        // has changed.
        self.storage.reserve(self.len);
        let was_alone = self.len == 1 && self.is_alone;
        let slot = if self.len == 0 {
            self.is_alone = true;
            0
        } else {
            let ready = self.ready.get_or_insert_with(|| Box::new(ReadySet::new()));
            if was_alone {
                let first = ready.occupy(None);
                debug_assert_eq!(first, 0, "the lowest slot of an empty set is 0");
                ready.schedule(first);
                self.is_alone = false;
            }
            ready.occupy(waker)
        };
        self.storage.insert(slot, arg, future);
        self.len += 1;
        (slot, was_alone)
    }

    /// Frees an occupied slot: drops its future and returns its argument.
    #[inline(always)]
    fn take(&mut self, slot: usize) -> A {
        self.free(slot); // first, because dropping the future may panic
        // SAFETY: the slot was occupied until now and is free from here on.
        unsafe { self.storage.remove(slot) }
    }

    /// Marks an occupied slot as free.
    fn free(&mut self, slot: usize) {
        self.len -= 1;
        match &mut self.ready {
            Some(ready) if !self.is_alone => ready.free(slot),
            _ => self.is_alone = false,
        }
    }

    /// Returns the occupied slots and their arguments.
    fn occupied(&self) -> impl Iterator<Item = (usize, &A)> {
        let alone = self.is_alone.then_some(0);
        let ready = self.ready.iter().filter(|_| !self.is_alone);
        let slots = alone
            .into_iter()
            .chain(ready.flat_map(|ready| ready.occupied()));
        // SAFETY: these slots are occupied.
        slots.map(|slot| (slot, unsafe { self.storage.arg(slot) }))
    }
}

impl<F, A> Drop for Attempts<F, A> {
    fn drop(&mut self) {
        if self.is_alone {
            // SAFETY: slot 0 is occupied, and the set is not used again.
            unsafe { self.storage.drop_in_place(0) };
        } else if let Some(ready) = &self.ready {
            // SAFETY: these slots are occupied, and the set is not used again.
            let mut all = unsafe { DropAll::new(&self.storage, ready.occupied()) };
            ready.close(); // may panic; `all` then drops the attempts during unwinding
            all.run();
        }
    }
}

/// The futures are pinned on the heap, so the set itself may move.
impl<F, A> Unpin for Attempts<F, A> {}

impl<F, A> Default for Attempts<F, A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Future, A> Stream for Attempts<F, A> {
    type Item = (A, F::Output);

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_one(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

/// Terminated while the set is empty. A push resumes the stream.
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

#[cfg(all(test, not(loom)))]
mod tests;
