use std::time::Duration;

use race_core::Moment;

use crate::Ejection;

/// Whether an endpoint may get requests. A pure state machine: time is an argument.
///
/// ```text
///               failures in a row                  time passes
/// in rotation ────────────────────▶ ejected ───────────────────▶ on trial
///      ▲                                ▲                           │  │
///      │                                └────── trial fails ────────┘  │
///      └──────────────────────── trial succeeds ───────────────────────┘
/// ```
///
/// A pushback is apart from this: an endpoint that asked for a pause has not failed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Health {
    /// Failures in a row.
    failures: u32,
    /// Ejections in a row.
    ejections: u32,
    /// The end of the ejection. From then on, until a success, the endpoint is on trial.
    ejected_until: Option<Moment>,
    /// An attempt has the trial place.
    is_tried: bool,
    /// An attempt had it since the ejection ended.
    was_tried: bool,
    pushed_back_until: Option<Moment>,
    /// Grows with each ejection and pushback.
    revision: Revision,
}

/// What an endpoint had gone through when an attempt began. The outcome of an attempt from before an
/// ejection says nothing about the endpoint since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Revision {
    ejections: u32,
    pushbacks: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    InRotation,
    /// The ejection has ended, and nothing was tried since. The next request is the trial.
    Due,
    /// A trial was cancelled, and another one may start.
    OnTrial,
    /// Ejected, or another request is the trial.
    Ejected,
    PushedBack(Moment),
}

impl Health {
    pub(crate) fn standing(&self, now: Moment) -> Standing {
        if let Some(until) = self.pushed_back_until(now) {
            return Standing::PushedBack(until);
        }
        match self.ejected_until {
            None => Standing::InRotation,
            Some(until) if now < until || self.is_tried => Standing::Ejected,
            Some(_) if self.was_tried => Standing::OnTrial,
            Some(_) => Standing::Due,
        }
    }

    /// Returns whether the endpoint was ejected, and has not succeeded since.
    pub(crate) fn is_failing(&self) -> bool {
        self.ejected_until.is_some()
    }

    /// Returns the end of the pushback, if it has not passed.
    pub(crate) fn pushed_back_until(&self, now: Moment) -> Option<Moment> {
        self.pushed_back_until.filter(|until| now < *until)
    }

    pub(crate) fn has_pushback(&self) -> bool {
        self.pushed_back_until.is_some()
    }

    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// Takes the trial place. Returns whether it was free.
    pub(crate) fn begin_trial(&mut self, now: Moment) -> bool {
        let is_free = matches!(self.standing(now), Standing::Due | Standing::OnTrial);
        if is_free {
            (self.is_tried, self.was_tried) = (true, true);
        }
        is_free
    }

    /// Gives the trial place back.
    pub(crate) fn end_trial(&mut self) {
        self.is_tried = false;
    }

    /// Records that an attempt that began at this revision has succeeded. Returns whether it ended
    /// an ejection.
    pub(crate) fn succeeded(&mut self, began: Revision) -> bool {
        if began.pushbacks == self.revision.pushbacks {
            self.pushed_back_until = None;
        }
        if began.ejections != self.revision.ejections {
            return false;
        }
        (self.failures, self.ejections) = (0, 0);
        self.ejected_until.take().is_some()
    }

    /// Records that an attempt that began at this revision has failed. Only a trial makes another
    /// ejection follow: while all endpoints are used, failures say nothing about this one.
    pub(crate) fn failed(
        &mut self,
        began: Revision,
        is_trial: bool,
        now: Moment,
        ejection: &Ejection,
    ) {
        if began.ejections != self.revision.ejections {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        let is_due = match self.ejected_until {
            None => ejection.is_due(self.failures),
            Some(until) => is_trial && now >= until,
        };
        if is_due {
            self.ejections = self.ejections.saturating_add(1);
            self.ejected_until = Some(now + ejection.time(self.ejections));
            self.was_tried = false;
            self.revision.ejections = self.revision.ejections.wrapping_add(1);
        }
    }

    /// Keeps the endpoint out for this time.
    pub(crate) fn push_back(&mut self, now: Moment, time: Duration) {
        if time.is_zero() {
            return;
        }
        let until = now + time;
        self.pushed_back_until = self.pushed_back_until.max(Some(until));
        self.revision.pushbacks = self.revision.pushbacks.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests;
