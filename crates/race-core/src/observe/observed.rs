use alloc::collections::VecDeque;
use core::fmt;

use crate::{
    Moment,
    observe::{Cause, Clock, Event, EventKind, Observer, Refusal},
};

/// An observer attached to a race, as `Race::observer` makes it.
///
/// Each event costs one read of the clock. The race keeps a list of its running attempts.
pub struct Observed<O: Observer, C: Clock> {
    observer: O,
    clock: C,
    /// Ordered by index.
    running: VecDeque<Running>,
    /// The latest refusal, which is reported once.
    refused: Option<(usize, Refusal)>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    index: usize,
    cause: Cause,
    since: Moment,
    committed: bool,
}

impl<O: Observer, C: Clock> Observed<O, C> {
    pub(crate) fn new(clock: C, observer: O) -> Self {
        Self {
            observer,
            clock,
            running: VecDeque::new(),
            refused: None,
        }
    }

    pub(crate) fn started(&mut self, index: usize, cause: Cause) {
        if !self.observer.is_active() {
            return;
        }
        let since = self.clock.read();
        let running = Running {
            index,
            cause,
            since,
            committed: false,
        };
        self.running.push_back(running);
        self.tell(running, since, EventKind::Started);
    }

    #[cfg(feature = "tracing")]
    pub(crate) fn span(&self, index: usize) -> Option<tracing::Span> {
        self.observer.span(index)
    }

    pub(crate) fn committed(&mut self, index: usize) {
        let Ok(position) = self.running.binary_search_by_key(&index, |it| it.index) else {
            return;
        };
        self.running[position].committed = true;
        let running = self.running[position];
        let at = self.clock.read();
        self.tell(running, at, EventKind::Committed);
    }

    pub(crate) fn refused(&mut self, index: usize, cause: Cause, refusal: Refusal) {
        let is_known = self.refused.replace((index, refusal)) == Some((index, refusal));
        if is_known || !self.observer.is_active() {
            return;
        }
        let at = self.clock.read();
        let not_running = Running {
            index,
            cause,
            since: at,
            committed: false,
        };
        self.tell(not_running, at, EventKind::Refused(refusal));
    }

    pub(crate) fn ended(&mut self, index: usize, kind: EventKind) {
        // An attempt that is not listed started before the observer was added.
        if let Ok(position) = self.running.binary_search_by_key(&index, |it| it.index) {
            let Some(ended) = self.running.remove(position) else {
                return;
            };
            let at = self.clock.read();
            self.tell(ended, at, kind);
        }
    }

    pub(crate) fn retain(&mut self, is_running: &mut dyn FnMut(usize) -> bool) {
        let mut position = 0;
        while let Some(&Running { index, .. }) = self.running.get(position) {
            match is_running(index) {
                true => position += 1,
                false => self.ended(index, EventKind::Cancelled),
            }
        }
    }

    fn tell(&mut self, running: Running, at: Moment, kind: EventKind) {
        let Running {
            index,
            cause,
            since,
            committed,
        } = running;
        let mut event = Event::new(index, cause, at, at.since(since), kind);
        event.committed = committed;
        self.observer.observe(event);
    }
}

/// Reports the attempts that still run as cancelled.
impl<O: Observer, C: Clock> Drop for Observed<O, C> {
    fn drop(&mut self) {
        while let Some(&Running { index, .. }) = self.running.front() {
            self.ended(index, EventKind::Cancelled);
        }
    }
}

impl<O: Observer, C: Clock> fmt::Debug for Observed<O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed")
            .field("running", &self.running)
            .finish_non_exhaustive()
    }
}
