use alloc::vec::Vec;
use core::{fmt, task::Waker, time::Duration};

use super::{
    AttemptHandle,
    signals::{Shared, Signals},
};
use crate::sync::Arc;

/// Makes the handles of the attempts of one race, and receives their signals.
///
/// A [`Source`](crate::source::Source) whose attempts commit owns one, returns it from
/// [`handles`](crate::source::Source::handles), and gives each attempt the
/// [`handle`](Self::handle) that is current when the race calls
/// [`attempt`](crate::source::Source::attempt). See [`committing`](crate::GenericRace::committing)
/// for a source that is ready-made.
pub struct Handles {
    shared: Arc<Shared>,
    /// The running attempts, ordered by index. Attempts that panicked stay until the next poll.
    running: Vec<Running>,
    /// How many attempts may commit in total.
    needed: usize,
    /// The race must look at the signals again: a hold has ended, or a panic interrupted it.
    must_recheck: bool,
    /// A race has called `begin`.
    is_in_race: bool,
    losers: Losers,
}

/// What happens to attempts that have lost because others committed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Losers {
    Cancel,
    /// They run on until they try to commit or finish; their outputs are dropped.
    RunOn,
    /// The race is kept after its decision: it delivers what they come to.
    Deliver,
}

struct Running {
    signals: Arc<Signals>,
    /// The observers know that it has committed.
    reported: bool,
}

impl Handles {
    /// Creates the handles of a race.
    #[must_use]
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared::new()),
            running: Vec::new(),
            needed: 1,
            must_recheck: false,
            is_in_race: false,
            losers: Losers::Cancel,
        }
    }

    /// Returns the handle of the attempt that is about to start.
    ///
    /// If no race asks for it, because a source that wraps this one does not forward
    /// [`handles`](crate::source::Source::handles), each call makes a handle for another attempt.
    /// At most one of them commits, and the race does not learn of it.
    pub fn handle(&mut self) -> AttemptHandle {
        let signals = match self.running.last() {
            Some(latest) if self.is_in_race => latest.signals.clone(),
            _ => self.push(self.running.len(), None),
        };
        AttemptHandle { signals }
    }

    /// Makes the handle of the attempt that is about to start.
    pub(crate) fn begin(&mut self, index: usize, time_left: Option<Duration>) {
        self.is_in_race = true;
        self.forget_from(index);
        self.push(index, time_left);
    }

    /// Forgets the attempts from `index` on, which have not started: the function that makes them
    /// panicked. Returns their slots.
    pub(crate) fn forget_from(&mut self, index: usize) {
        while self
            .running
            .last()
            .is_some_and(|it| it.signals.index >= index)
        {
            if self.running.pop().is_some_and(|lost| lost.signals.close()) {
                self.shared.add_free(1);
            }
        }
    }

    fn push(&mut self, index: usize, time_left: Option<Duration>) -> Arc<Signals> {
        let signals = Arc::new(Signals::new(index, time_left, self.shared.clone()));
        self.running.push(Running {
            signals: signals.clone(),
            reported: false,
        });
        signals
    }

    pub(crate) fn retain(&mut self, mut is_running: impl FnMut(usize) -> bool) {
        let must_recheck = &mut self.must_recheck;
        self.running.retain(|it| {
            let is_kept = is_running(it.signals.index);
            if !is_kept {
                *must_recheck |= it.signals.is_held();
                it.signals.close();
            }
            is_kept
        });
    }

    /// Sets how many attempts may commit.
    pub(crate) fn set_needed(&mut self, needed: usize) {
        let more = needed.saturating_sub(self.needed);
        self.needed += more;
        self.shared.add_free(more);
    }

    /// Forgets an attempt that has ended. Returns whether it had committed.
    pub(crate) fn end(&mut self, index: usize) -> bool {
        let Ok(position) = self.position(index) else {
            return false;
        };
        let ended = self.running.remove(position);
        self.must_recheck |= ended.signals.is_held(); // a hold ends with its attempt
        ended.signals.close()
    }

    fn position(&self, index: usize) -> Result<usize, usize> {
        self.running
            .binary_search_by_key(&index, |it| it.signals.index)
    }

    fn signals(&self, index: usize) -> Option<&Signals> {
        let position = self.position(index).ok()?;
        Some(&*self.running[position].signals)
    }

    /// Lets the handles wake nothing while the race is polled.
    pub(crate) fn begin_poll(&self) {
        self.shared.waker().take();
    }

    /// Registers the waker of the race. Returns whether something has changed meanwhile.
    pub(crate) fn register(&self, waker: &Waker) -> bool {
        self.shared.waker().register(waker);
        self.shared.has_changed() || self.must_recheck
    }

    /// Returns whether something has changed since the last call.
    #[inline]
    pub(crate) fn take_changed(&mut self) -> bool {
        self.shared.take_changed() | core::mem::take(&mut self.must_recheck)
    }

    /// Makes the next `take_changed` return `true`, or not.
    pub(crate) fn set_must_recheck(&mut self, must_recheck: bool) {
        self.must_recheck = must_recheck;
    }

    pub(crate) fn take_progressed(&mut self) -> bool {
        self.shared.take_progressed()
    }

    /// Returns an attempt that has committed, once.
    pub(crate) fn take_committed(&mut self) -> Option<usize> {
        let mut running = self.running.iter_mut();
        let new = running.find(|it| !it.reported && it.signals.has_committed())?;
        new.reported = true;
        Some(new.signals.index)
    }

    pub(crate) fn is_held(&self) -> bool {
        self.running.iter().any(|it| it.signals.is_held())
    }

    /// Returns whether no further attempt can win.
    #[inline]
    pub(crate) fn is_decided(&self) -> bool {
        self.shared.is_decided()
    }

    /// Claims the place of a winner for an attempt that finished. Returns `false` if others have
    /// them all.
    pub(crate) fn claim(&mut self, index: usize) -> bool {
        let claimed = self.signals(index).is_none_or(Signals::claim);
        self.must_recheck |= claimed && self.is_decided(); // the others have lost
        claimed
    }

    /// Lets any number of attempts commit, so that none of them decides the race. Does nothing if
    /// the race is decided.
    pub(crate) fn let_all_commit(&mut self) {
        if !self.is_decided() {
            self.set_needed(usize::MAX / 2);
        }
    }

    pub(crate) fn set_losers(&mut self, losers: Losers) {
        self.losers = losers;
    }

    /// Returns whether an attempt that finishes without a slot has lost, and its output is dropped.
    #[inline]
    pub(crate) fn drops_losers(&self) -> bool {
        self.is_decided() && self.losers != Losers::Deliver
    }

    /// After the decision, returns whether an attempt must end. Of losers that run on, only those
    /// that tried to commit must.
    pub(crate) fn must_end(&self, index: usize) -> bool {
        self.signals(index)
            .is_some_and(|signals| match self.losers {
                Losers::Cancel => signals.may_lose(),
                Losers::RunOn | Losers::Deliver => signals.has_lost(),
            })
    }
}

impl Default for Handles {
    fn default() -> Self {
        Self::new()
    }
}

/// Attempts of a race that is gone commit nothing.
impl Drop for Handles {
    fn drop(&mut self) {
        for attempt in &self.running {
            attempt.signals.close();
        }
    }
}

impl fmt::Debug for Handles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indices = self.running.iter().map(|it| it.signals.index);
        f.debug_tuple("Handles")
            .field(&indices.collect::<Vec<_>>())
            .finish()
    }
}
