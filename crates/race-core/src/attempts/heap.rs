mod attempt_set;
mod collect;
mod poll;
mod state;

use core::{
    fmt,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::{FusedStream, Stream};

use self::state::State;
use super::{drop_all::DropAll, ready_set::ReadySet, storage::Storage};

/// A set of running futures that polls only those that were woken.
///
/// A [`Race`](crate::Race) runs its attempts in this set. It is also usable alone, like
/// `FuturesUnordered`: push futures, and await their outputs in the order in which they finish. An
/// output comes with the argument that was pushed with its future. Futures and pairs of an argument
/// and a future can be collected into a set, too.
///
/// # Polling
///
/// - A future does nothing until the set is polled.
/// - The set polls in rounds. A round polls once each future that was pushed or woken before the
///   round began. The set has 64 first places (32 on 32-bit targets), and a pushed future takes one
///   of these if one is free. The futures in them are polled in the order of the pushes; the others
///   follow, in the order of their places.
/// - A poll makes one round, and returns `Pending` after it if none finished. A future that
///   finishes ends the poll. The next poll continues the round, then begins another.
/// - After 64 rounds in which several futures were polled and none finished, the starting position
///   rotates until one finishes. Otherwise a future that exhausts the task's cooperative budget
///   (as in tokio) in each round could starve the others.
///
/// # Costs
///
/// - The set does not allocate for each future. It stores futures in blocks that double in size,
///   never moves them, and reuses their memory. It never shrinks.
/// - A single future is polled with the waker of the task, without further cost.
/// - Two or more futures have a waker each. The first wake after a poll takes one atomic operation,
///   and so does finding the woken future. A further wake before the next poll takes at most two,
///   and one more per 64 futures finds them. The number of other futures does not matter.
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
///     attempts.push_with(number, async move { number * number });
/// }
/// while let Some((number, square)) = attempts.next().await {
///     assert_eq!(number * number, square);
/// }
/// # });
/// ```
pub struct Attempts<F, A = ()> {
    storage: Storage<F, A>,
    state: State,
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
            state: State::Empty,
        }
    }

    /// Creates an empty set with room for `capacity` futures, rounded up to a power of two.
    ///
    /// Their memory is allocated here, in a single block. A set that outgrows it continues as one
    /// made by [`new`](Self::new) does: with further blocks, without moving a future. The shared
    /// state of the wakers, which is small, is allocated with the second future and with every 64th
    /// further one. With 0 nothing is allocated here, as with [`new`](Self::new).
    ///
    /// # Panics
    ///
    /// Panics if the block would exceed `isize::MAX` bytes.
    ///
    /// ```
    /// use core::future::ready;
    /// use race_core::Attempts;
    ///
    /// let mut attempts = Attempts::with_capacity(100);
    /// for number in 0..200 {
    ///     attempts.push(ready(number));
    /// }
    /// assert_eq!(attempts.len(), 200);
    /// ```
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            storage: Storage::with_capacity(capacity),
            state: State::Empty,
        }
    }

    /// Returns the number of futures in the set.
    ///
    /// ```
    /// use core::future::ready;
    /// use race_core::Attempts;
    ///
    /// let mut attempts = Attempts::new();
    /// attempts.push(ready(1));
    /// attempts.push(ready(2));
    /// assert_eq!(attempts.len(), 2);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.storage.len()
    }

    /// Returns `true` if the set holds no future.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.storage.len() == 0
    }
}

impl<F: Future> Attempts<F> {
    /// Adds a future. Its argument is `()`; [`push_with`](Self::push_with) adds one with another.
    ///
    /// The future is first polled when the set is polled next. `push` does not wake the task.
    ///
    /// ```
    /// use race_core::Attempts;
    ///
    /// # futures::executor::block_on(async {
    /// let mut attempts = Attempts::new();
    /// attempts.push(async { 200 });
    /// while let Some(((), status)) = attempts.next().await {
    ///     assert_eq!(status, 200);
    /// }
    /// # });
    /// ```
    #[inline]
    pub fn push(&mut self, future: F) {
        self.push_with((), future);
    }
}

impl<F: Future, A> Attempts<F, A> {
    /// Adds a future, and an argument that is returned with its output.
    ///
    /// The future is first polled when the set is polled next. `push_with` does not wake the task.
    ///
    /// ```
    /// use race_core::Attempts;
    ///
    /// # futures::executor::block_on(async {
    /// let mut attempts = Attempts::new();
    /// attempts.push_with("mirror", async { 200 });
    /// assert_eq!(attempts.next().await, Some(("mirror", 200)));
    /// # });
    /// ```
    #[inline]
    pub fn push_with(&mut self, arg: A, future: F) {
        if self.is_empty() {
            return self.push_single(arg, future);
        }
        let slot = self.reserve_slot().push();
        self.fill(slot, arg, future);
    }

    /// Returns the next output with its argument, or `None` if the set is empty.
    ///
    /// In `futures::select!`, which needs a `FusedFuture`, use `select_next_some` of `StreamExt`
    /// instead.
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
    /// attempts.push_with("slow", Either::Left(pending::<u16>()));
    /// attempts.push_with("fast", Either::Right(ready(200)));
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
    /// Moves a future into slot 0 of the empty set.
    #[inline]
    fn push_single(&mut self, arg: A, future: F) {
        self.storage.reserve_first();
        // SAFETY: the slot is allocated, and free as the set is empty.
        unsafe { self.storage.fill(self.storage.first(), arg, future) };
        match &mut self.state {
            state @ State::Empty => *state = State::Single,
            state => state.add_single(),
        }
    }

    /// Allocates a slot for a further future. Returns the ready set, in which the caller occupies
    /// the slot.
    #[inline]
    fn reserve_slot(&mut self) -> &mut ReadySet {
        // A slot of the first group will be at most `len`. A further group is made when all others
        // are full, so that its first slot is `len`, and lies within one row: all of it is
        // allocated then. The allocation comes first: if it fails, nothing has changed.
        self.storage.reserve(self.storage.len());
        if !matches!(self.state, State::Several(_)) {
            self.give_single_a_waker();
        }
        match &mut self.state {
            State::Several(ready) => ready,
            _ => unreachable!("`give_single_a_waker` changes the state to `Several`"),
        }
    }

    /// Gives the single future a waker of its own, because a second one is being pushed.
    #[cold]
    fn give_single_a_waker(&mut self) {
        let mut ready = match &self.state {
            // Before the state is taken: if the allocation fails, nothing has changed.
            State::Empty | State::Single => ReadySet::boxed(),
            _ => self.state.take().expect("these states have a ready set"),
        };
        let first = ready.push();
        debug_assert_eq!(first, 0, "the lowest slot of an empty set is 0");
        self.state = State::Several(ready);
    }

    /// Moves a future into a slot that was occupied after `reserve_slot`.
    #[inline]
    fn fill(&mut self, slot: usize, arg: A, future: F) {
        // SAFETY: `reserve_slot` allocated the slot, and slot 1 because the set was not empty. The
        // slot was free.
        unsafe { self.storage.fill(self.storage.place(slot), arg, future) };
    }

    /// Returns the occupied slots and their arguments.
    fn occupied(&self) -> impl Iterator<Item = (usize, &A)> {
        let (is_alone, ready) = match &self.state {
            State::Empty => (false, None),
            State::Single | State::SingleWithReadySet(_) => (true, None),
            State::Several(ready) => (false, Some(ready)),
        };
        // SAFETY: slot 0 is occupied.
        let alone = is_alone.then(|| (0, unsafe { self.storage.first().arg() }));
        let slots = ready.into_iter().flat_map(|ready| ready.occupied_slots());
        // SAFETY: these slots are occupied, and slot 1 is allocated as there have been several.
        let several = slots.map(|slot| (slot, unsafe { self.storage.place(slot).arg() }));
        alone.into_iter().chain(several)
    }
}

impl<F, A> Drop for Attempts<F, A> {
    fn drop(&mut self) {
        match &self.state {
            State::Empty => {}
            // SAFETY: slot 0 is occupied, and the set is not used again.
            State::Single | State::SingleWithReadySet(_) => unsafe { self.storage.first().drop() },
            State::Several(_) if self.storage.len() == 0 => {}
            State::Several(ready) => {
                // SAFETY: these slots are occupied, and the set is not used again. Slot 1 is
                // allocated as there have been several.
                let mut all = unsafe { DropAll::new(&self.storage, ready.occupied_slots()) };
                ready.close(); // may panic; `all` then drops the attempts during unwinding
                all.run();
            }
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
        (self.storage.len(), Some(self.storage.len()))
    }
}

/// Terminated while the set is empty. A push resumes the stream.
impl<F: Future, A> FusedStream for Attempts<F, A> {
    fn is_terminated(&self) -> bool {
        self.storage.len() == 0
    }
}

impl<F, A> fmt::Debug for Attempts<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempts")
            .field("len", &self.storage.len())
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
