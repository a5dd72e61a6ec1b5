use core::{fmt, time::Duration};

use super::{attach::SharedAdaptive, plan::Plan, samples::Sample};
use crate::{
    Moment,
    observe::{Event, EventKind, Observer},
};

/// Records the attempts of one race in an [`Adaptive`](super::Adaptive), and how long the race takes
/// if something was drawn for it.
///
/// Races are compared by what was drawn, and not by what became of it: whether a hedge that was
/// drawn starts depends on the budget, the gates, the timer and the number of candidates. Races that
/// lost the draw are not selected by any of these.
pub struct Watch<A: SharedAdaptive> {
    adaptive: A,
    /// `None`: nothing was drawn, or the race has been recorded.
    drawn: Option<Drawn>,
}

#[derive(Debug)]
struct Drawn {
    plan: Plan,
    /// `None` before the first attempt starts. In a race that resumes one it never does.
    began: Option<Moment>,
    /// The time of the latest event.
    last: Moment,
}

impl<A: SharedAdaptive> Watch<A> {
    pub(super) fn new(adaptive: A, plan: Option<Plan>) -> Self {
        let drawn = plan.map(|plan| Drawn {
            plan,
            began: None,
            last: Moment::ZERO,
        });
        Self { adaptive, drawn }
    }

    /// The race has an answer, or ends without one.
    fn end(&mut self, sample: fn(Duration) -> Sample) {
        let Some(Drawn { plan, began, last }) = self.drawn.take() else {
            return;
        };
        if let Some(began) = began {
            self.adaptive.record_race(plan, sample(last.since(began)));
        }
    }
}

impl<A: SharedAdaptive> Observer for Watch<A> {
    fn observe(&mut self, event: Event) {
        self.adaptive.observe(event);
        let Some(drawn) = &mut self.drawn else {
            return;
        };
        drawn.last = event.at;
        match event.kind {
            EventKind::Started if event.index == 0 => drawn.began = Some(event.at),
            EventKind::Won | EventKind::Finished | EventKind::Committed => self.end(Sample::Exact),
            _ => {}
        }
    }
}

/// A race without an answer would have taken longer than it ran. One that has not begun says
/// nothing.
impl<A: SharedAdaptive> Drop for Watch<A> {
    fn drop(&mut self) {
        self.end(Sample::Censored);
    }
}

impl<A: SharedAdaptive> fmt::Debug for Watch<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("drawn", &self.drawn)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
