//! Attempts of given latencies and results, and the race of them.

use core::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use pin_project_lite::pin_project;
use race_core::source::Of;

use crate::{Target, check::Check};

/// The race of most checks. They share one type, which keeps the program small.
pub(crate) type InlineRace<'a, X, P = Duration> =
    race_core::InlineRace<4, Of<Candidates<'a, X>, Attempt<'a, X>>, <X as Target>::Timer, P>;

/// The error of an attempt that fails: its latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) u64);

/// What an attempt does.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    /// In milliseconds. `None` is never.
    latency: Option<u64>,
    succeeds: bool,
}

/// An attempt that never ends.
pub(crate) const HANGS: Candidate = Candidate {
    latency: None,
    succeeds: false,
};

/// An attempt that succeeds after some milliseconds; with 0, in its first poll.
pub(crate) const fn ok(latency: u64) -> Candidate {
    Candidate {
        latency: Some(latency),
        succeeds: true,
    }
}

/// An attempt that fails after some milliseconds; with 0, in its first poll.
pub(crate) const fn fails(latency: u64) -> Candidate {
    Candidate {
        latency: Some(latency),
        succeeds: false,
    }
}

/// Attempts of a list of candidates.
pub(crate) struct Candidates<'a, X> {
    check: &'a Check<'a, X>,
    list: &'a [Candidate],
    next: usize,
    endless: bool,
}

impl<'a, X> Candidates<'a, X> {
    pub(crate) fn new(check: &'a Check<'a, X>, list: &'a [Candidate]) -> Self {
        Self {
            check,
            list,
            next: 0,
            endless: false,
        }
    }

    /// Repeats the last candidate without end.
    pub(crate) fn endless(self) -> Self {
        Self {
            endless: true,
            ..self
        }
    }
}

impl<'a, X: Target> Iterator for Candidates<'a, X> {
    type Item = Attempt<'a, X>;

    fn next(&mut self) -> Option<Attempt<'a, X>> {
        let last = self.list.last().filter(|_| self.endless);
        let candidate = *self.list.get(self.next).or(last)?;
        self.next += 1;
        Some(Attempt {
            candidate,
            presence: Presence {
                check: self.check,
                started: false,
            },
            sleep: None,
        })
    }
}

pin_project! {
    /// An attempt. Its latency counts from its first poll.
    pub(crate) struct Attempt<'a, X: Target> {
        candidate: Candidate,
        presence: Presence<'a, X>,
        #[pin]
        sleep: Option<X::Sleep>,
    }
}

/// Tells the check when an attempt starts and when it is dropped.
struct Presence<'a, X: Target> {
    check: &'a Check<'a, X>,
    started: bool,
}

impl<X: Target> Drop for Presence<'_, X> {
    fn drop(&mut self) {
        if self.started {
            self.check.end();
        }
    }
}

impl<X: Target> Future for Attempt<'_, X> {
    type Output = Result<u64, Refused>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let check = this.presence.check;
        check.poll();
        if !this.presence.started {
            this.presence.started = true;
            check.start();
            let millis = this.candidate.latency.filter(|latency| *latency > 0);
            this.sleep.set(millis.map(|millis| check.sleep(millis)));
        }
        let Some(latency) = this.candidate.latency else {
            return Poll::Pending;
        };
        if let Some(sleep) = this.sleep.as_pin_mut() {
            ready!(sleep.poll(cx));
        }
        Poll::Ready(match this.candidate.succeeds {
            true => Ok(latency),
            false => Err(Refused(latency)),
        })
    }
}
