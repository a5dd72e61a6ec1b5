use std::{
    fmt,
    task::{Context, Poll},
};

use race_core::source::{Source, SourceTypes};
use tower_service::Service;

use crate::{Backends, Rules, attempt::Attempt};

/// The attempts of one request.
pub(crate) struct Requests<B: Backends<Req>, Req, R> {
    backends: B,
    rules: R,
    /// The service that is ready for the first attempt.
    ready: Option<B::Service>,
    /// The request of the next attempt.
    request: Option<Req>,
    /// How many more attempts may start.
    left: usize,
}

impl<B: Backends<Req>, Req, R> Requests<B, Req, R> {
    pub(crate) fn new(
        ready: B::Service,
        backends: B,
        rules: R,
        request: Req,
        max_attempts: usize,
    ) -> Self {
        Self {
            backends,
            rules,
            ready: Some(ready),
            request: Some(request),
            left: max_attempts.max(1),
        }
    }
}

impl<B: Backends<Req>, Req, R> SourceTypes for Requests<B, Req, R> {
    type Candidate = Req;
    type Arg = ();
    type Attempt = Attempt<B::Service, Req>;
}

impl<B, Req, R> Source for Requests<B, Req, R>
where
    B: Backends<Req>,
    R: Rules<Req, <B::Service as Service<Req>>::Response, <B::Service as Service<Req>>::Error>,
{
    type Output =
        Result<<B::Service as Service<Req>>::Response, <B::Service as Service<Req>>::Error>;

    fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<Req>> {
        Poll::Ready(self.request.take())
    }

    fn attempt(&mut self, request: Req) -> ((), Self::Attempt) {
        self.left -= 1;
        if self.left > 0 {
            self.request = self.rules.repeat(&request);
        }
        let attempt = match self.ready.take() {
            Some(ready) => Attempt::of_ready(ready, request),
            None => Attempt::of(self.backends.another(), request),
        };
        ((), attempt)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match self.request {
            Some(_) => self.left,
            None => 0,
        };
        (left.min(1), Some(left))
    }
}

impl<B: Backends<Req>, Req, R> fmt::Debug for Requests<B, Req, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}
