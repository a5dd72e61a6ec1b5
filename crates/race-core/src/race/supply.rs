//! The candidates of a race: its source, and at most one that is drawn ahead.

use core::{
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    attempts::{AttemptSet, Side},
    source::{Source, SourceTypes},
};

/// A source, and the next candidate if it was drawn and has to wait.
pub(super) struct Supply<S: SourceTypes> {
    pub(super) source: S,
    candidate: Option<S::Candidate>,
    /// The source has no more candidates, or has panicked.
    is_over: bool,
    /// A candidate was drawn. One that was taken back before anything started does not count.
    had_candidate: bool,
    pace: Pace,
    /// The start of the candidate in hand is due and waits for what the source reserves for it.
    is_reserving: bool,
}

/// How a source delivers.
#[derive(Clone, Copy, PartialEq)]
enum Pace {
    /// It has never been pending and needs no waker of its own.
    Prompt,
    /// It has been pending.
    Slow,
    /// It is pending and wakes its own waker.
    Waiting,
}

impl<S: SourceTypes> Supply<S> {
    pub(super) fn new(source: S) -> Self {
        Self {
            source,
            candidate: None,
            is_over: false,
            had_candidate: false,
            pace: Pace::Prompt,
            is_reserving: false,
        }
    }

    /// Replaces the source with one of the same candidates.
    #[cfg(feature = "tracing")]
    pub(super) fn map<S2: SourceTypes<Candidate = S::Candidate>>(
        self,
        source: impl FnOnce(S) -> S2,
    ) -> Supply<S2> {
        Supply {
            source: source(self.source),
            candidate: self.candidate,
            is_over: self.is_over,
            had_candidate: self.had_candidate,
            pace: self.pace,
            is_reserving: self.is_reserving,
        }
    }

    /// Whether a candidate is in hand.
    #[inline]
    pub(super) fn is_in_hand(&self) -> bool {
        self.candidate.is_some()
    }

    /// Whether the source has no more candidates.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether a candidate was drawn.
    pub(super) fn had_candidate(&self) -> bool {
        self.had_candidate
    }

    /// Whether there is a candidate, or there may be one.
    #[inline]
    pub(super) fn may_start(&self) -> bool {
        self.candidate.is_some() || !self.is_over
    }

    /// Whether a candidate may still be drawn, and none is in hand.
    #[inline]
    pub(super) fn may_draw(&self) -> bool {
        self.candidate.is_none() && !self.is_over
    }

    /// Whether the start that is due waits for what the source reserves.
    #[cfg(feature = "alloc")]
    pub(super) fn is_reserving(&self) -> bool {
        self.is_reserving
    }

    /// Draws no more candidates.
    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// Draws candidates again.
    pub(super) fn resume(&mut self) {
        self.is_over = false;
    }
}

impl<S: Source> Supply<S> {
    /// Returns how many candidates are left at most, the one in hand included.
    pub(super) fn at_most(&self) -> Option<usize> {
        let in_source = match self.is_over {
            true => Some(0),
            false => self.source.size_hint().1,
        };
        in_source.and_then(|count| count.checked_add(usize::from(self.is_in_hand())))
    }

    /// Takes care that a candidate is in hand. Returns `false` if there is none.
    #[inline]
    pub(super) fn poll_candidate<A>(&mut self, set: Pin<&mut A>, cx: &mut Context<'_>) -> Poll<bool>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        if self.candidate.is_some() || self.is_over {
            return Poll::Ready(self.candidate.is_some());
        }
        if self.pace == Pace::Prompt && self.draw(cx).is_ready() {
            return Poll::Ready(self.candidate.is_some());
        }
        self.poll_slowly(set, cx, Self::draw)
            .map(|()| self.candidate.is_some())
    }

    fn draw(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let was_over = mem::replace(&mut self.is_over, true); // and stays so after a panic
        debug_assert!(!was_over, "a source is not polled after its end");
        let drawn = self.source.poll_candidate(cx);
        self.is_over = matches!(drawn, Poll::Ready(None));
        drawn.map(|candidate| {
            if candidate.is_some() {
                self.had_candidate = true;
                self.candidate = candidate;
            }
        })
    }

    /// Asks the source to reserve what the attempt of the candidate in hand needs. Returns `false`
    /// if the source takes the candidate back.
    #[inline]
    pub(super) fn poll_reserve<A>(&mut self, set: Pin<&mut A>, cx: &mut Context<'_>) -> Poll<bool>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        if !self.is_reserving {
            let polled = self.reserve(cx);
            if polled.is_ready() {
                return polled;
            }
        }
        self.poll_reserve_slowly(set, cx)
    }

    #[cold]
    #[inline(never)]
    fn poll_reserve_slowly<A>(&mut self, set: Pin<&mut A>, cx: &mut Context<'_>) -> Poll<bool>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        self.is_reserving = true;
        let polled = self.poll_slowly(set, cx, Self::reserve);
        self.is_reserving = polled.is_pending();
        polled
    }

    #[inline]
    fn reserve(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        match &mut self.candidate {
            Some(candidate) => self.source.poll_reserve(candidate, cx),
            None => Poll::Ready(true), // `take` panics, and a check here would cost every start
        }
    }

    /// Polls a source that has been pending, with a waker of its own.
    #[inline(never)]
    fn poll_slowly<A, R>(
        &mut self,
        set: Pin<&mut A>,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Self, &mut Context<'_>) -> Poll<R>,
    ) -> Poll<R>
    where
        A: AttemptSet<S::Attempt, (S::Arg, usize)>,
    {
        match set.side_waker(Side::Source, cx.waker()) {
            Some((_, false)) if self.pace == Pace::Waiting => Poll::Pending,
            Some((waker, _)) => {
                let polled = poll(self, &mut Context::from_waker(&waker));
                self.pace = match polled {
                    Poll::Ready(_) => Pace::Slow,
                    Poll::Pending => Pace::Waiting,
                };
                polled
            }
            None => poll(self, cx),
        }
    }

    /// Ends the wait for what is reserved, because the start is not due any more.
    #[inline]
    pub(super) fn end_reserving(&mut self) {
        if self.is_reserving {
            self.put_back();
        }
    }

    /// Gives back what was reserved for the candidate in hand.
    #[cold]
    #[inline(never)]
    pub(super) fn put_back(&mut self) {
        self.is_reserving = false;
        if self.pace == Pace::Waiting {
            self.pace = Pace::Slow; // the next question is a new one
        }
        if let Some(candidate) = &mut self.candidate {
            self.source.put_back(candidate);
        }
    }

    /// Takes the candidate in hand, whose attempt starts.
    #[inline]
    pub(super) fn take(&mut self) -> S::Candidate {
        self.candidate.take().expect("a candidate is in hand")
    }

    /// Drops the candidate that the source has taken back. It counts as one that was drawn if the
    /// race `has_started`.
    pub(super) fn take_back(&mut self, has_started: bool) {
        self.candidate = None;
        self.had_candidate = has_started;
    }

    /// Draws no more candidates, and drops the one in hand.
    pub(super) fn stop(&mut self) {
        if self.is_in_hand() {
            self.put_back(); // a gate that panicked may have left it reserved
        }
        self.is_over = true;
        self.candidate = None;
    }
}
