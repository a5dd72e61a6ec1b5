use alloc::{sync::Arc, vec::Vec};
use core::{fmt, task::Waker};

use super::{
    AttemptHandle,
    signals::{Shared, Signals},
};

/// Makes the handles of the attempts of one race, and hears what they say.
///
/// A [`Source`](crate::source::Source) whose attempts commit owns one, returns it from
/// [`handles`](crate::source::Source::handles), and gives each attempt the
/// [`handle`](Self::handle) that is current when the race calls
/// [`attempt`](crate::source::Source::attempt). See [`committing`](crate::GenericRace::committing)
/// for a source that is ready-made.
pub struct Handles {
    shared: Arc<Shared>,
    /// The running attempts, ordered by index. Attempts that panicked stay until there are many.
    running: Vec<Running>,
    /// How many attempts may commit in total.
    needed: usize,
    /// A panic interrupted the removal of losers.
    interrupted: bool,
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
            interrupted: false,
        }
    }

    /// Returns the handle of the attempt that is about to start.
    pub fn handle(&mut self) -> AttemptHandle {
        let signals = match self.running.last() {
            Some(latest) => latest.signals.clone(),
            None => self.push(0), // no race asks for it
        };
        AttemptHandle { signals }
    }

    /// Makes the handle of the attempt that is about to start.
    pub(crate) fn begin(&mut self, index: usize) {
        // An attempt that panicked before it ran has left its entry, and may have a slot.
        while self
            .running
            .last()
            .is_some_and(|it| it.signals.index >= index)
        {
            if self.running.pop().is_some_and(|lost| lost.signals.close()) {
                self.shared.add_free(1);
            }
        }
        self.push(index);
    }

    fn push(&mut self, index: usize) -> Arc<Signals> {
        let signals = Arc::new(Signals::new(index, self.shared.clone()));
        self.running.push(Running {
            signals: signals.clone(),
            reported: false,
        });
        signals
    }

    /// Whether so many entries are kept that some may belong to attempts that panicked.
    pub(crate) fn is_crowded(&self, running: usize) -> bool {
        self.running.len() > 2 * running + 8
    }

    pub(crate) fn retain(&mut self, mut is_running: impl FnMut(usize) -> bool) {
        self.running
            .retain(|it| is_running(it.signals.index) || it.signals.close());
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
        self.interrupted |= ended.signals.is_held(); // a hold ends with its attempt
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
        self.shared.has_changed() || self.interrupted
    }

    /// Returns whether something has changed since the last call.
    #[inline]
    pub(crate) fn take_changed(&mut self) -> bool {
        self.shared.take_changed() | core::mem::take(&mut self.interrupted)
    }

    /// Makes the next `take_changed` return `true`, or not.
    pub(crate) fn interrupt(&mut self, interrupted: bool) {
        self.interrupted = interrupted;
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
        self.interrupted |= claimed && self.is_decided(); // the others have lost
        claimed
    }

    /// After the decision, returns whether an attempt must end. If losers `run_on`, only those that
    /// tried to commit must.
    pub(crate) fn has_lost(&self, index: usize, run_on: bool) -> bool {
        self.signals(index).is_some_and(|signals| match run_on {
            true => signals.has_lost(),
            false => signals.may_lose(),
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
