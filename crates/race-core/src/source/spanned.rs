use core::{
    task::{Context, Poll},
    time::Duration,
};

use tracing::{Span, instrument::Instrumented};

use super::{Source, SourceTypes};
use crate::source::Handles;

/// A source whose attempts are polled in spans, made by
/// [`poll_in_spans`](crate::GenericRace::poll_in_spans).
#[derive(Debug)]
pub struct Spanned<S>(S);

impl<S> Spanned<S> {
    pub(crate) fn new(source: S) -> Self {
        Self(source)
    }
}

impl<S: SourceTypes> SourceTypes for Spanned<S> {
    type Candidate = S::Candidate;
    type Arg = S::Arg;
    type Attempt = Instrumented<S::Attempt>;
}

impl<S: Source> Source for Spanned<S> {
    type Output = S::Output;

    fn poll_candidate(&mut self, cx: &mut Context<'_>) -> Poll<Option<S::Candidate>> {
        self.0.poll_candidate(cx)
    }

    fn poll_reserve(&mut self, candidate: &mut S::Candidate, cx: &mut Context<'_>) -> Poll<bool> {
        self.0.poll_reserve(candidate, cx)
    }

    fn put_back(&mut self, candidate: &mut S::Candidate) {
        self.0.put_back(candidate);
    }

    fn attempt(&mut self, candidate: S::Candidate) -> (S::Arg, Self::Attempt) {
        let (arg, attempt) = self.0.attempt(candidate);
        (arg, tracing::Instrument::instrument(attempt, Span::none()))
    }

    fn begin_attempt(&mut self, time_left: impl FnOnce() -> Option<Duration>) {
        self.0.begin_attempt(time_left);
    }

    fn handles(&mut self) -> Option<&mut Handles> {
        self.0.handles()
    }

    fn instrument(attempt: &mut Self::Attempt, span: impl FnOnce() -> Option<Span>) {
        if let Some(span) = span() {
            *attempt.span_mut() = span;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}
