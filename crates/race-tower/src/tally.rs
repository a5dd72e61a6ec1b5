use race_core::observe::{Cause, Event, EventKind, Refusal};

/// What is counted of the events of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Started(Cause),
    /// The index of the attempt.
    Won(usize),
    /// The request was answered before it was hedged.
    Saved,
    Failed,
    TimedOut,
    Cancelled,
    Refused(Refusal),
}

/// The attempts of one request that have started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    started: usize,
}

impl Tally {
    /// Tells `count` what to count of an event.
    pub(crate) fn observe(&mut self, event: Event, mut count: impl FnMut(Counted)) {
        match event.kind {
            EventKind::Started => {
                self.started = event.index + 1; // from 1 again in the next request
                count(Counted::Started(event.cause));
            }
            EventKind::Won => {
                count(Counted::Won(event.index));
                if self.started == 1 {
                    count(Counted::Saved);
                }
            }
            EventKind::Failed => count(Counted::Failed),
            EventKind::TimedOut => count(Counted::TimedOut),
            EventKind::Cancelled => count(Counted::Cancelled),
            EventKind::Refused(refusal) => count(Counted::Refused(refusal)),
            _ => {}
        }
    }
}
