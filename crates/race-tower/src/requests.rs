use std::{
    fmt,
    task::{Context, Poll, Waker},
};

use race_core::source::{Source, SourceTypes};
use tower_service::Service;

use crate::{Backends, Rules, attempt::Attempt};

/// The attempts of one request.
///
/// The service of an attempt must be ready before the attempt starts, so that neither a budget is
/// charged nor an observer told of an attempt that is never sent. When a start is due, a service is
/// asked ([`reconsider`](Source::reconsider)). If it is not ready, the candidate is taken back, and
/// the next one is there when the service is ready.
pub(crate) struct Requests<B: Backends<Req>, Req, R> {
    backends: B,
    rules: R,
    service: Next<B::Service, Req>,
    /// The request of the next attempt.
    request: Option<Req>,
    /// How many more attempts may start.
    left: usize,
}

/// The service of the next attempt.
enum Next<S: Service<Req>, Req> {
    /// It is chosen when the start is due.
    Unknown,
    /// It was due and not ready.
    Awaited(S),
    Ready(S),
    Failed(S::Error),
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
            service: Next::Ready(ready),
            request: Some(request),
            left: max_attempts.max(1),
        }
    }

    /// Polls a service until it is ready or has failed.
    fn poll_service(&mut self, mut service: B::Service, cx: &mut Context<'_>) -> Poll<()> {
        let polled = service.poll_ready(cx);
        self.service = match polled {
            Poll::Pending => Next::Awaited(service),
            Poll::Ready(Ok(())) => Next::Ready(service),
            Poll::Ready(Err(error)) => Next::Failed(error),
        };
        match self.service {
            Next::Awaited(_) => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }
}

impl<B: Backends<Req>, Req, R> SourceTypes for Requests<B, Req, R> {
    type Candidate = ();
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

    fn poll_candidate(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        if self.request.is_none() {
            return Poll::Ready(None);
        }
        match std::mem::replace(&mut self.service, Next::Unknown) {
            Next::Awaited(service) => self.poll_service(service, cx).map(Some),
            other => {
                self.service = other;
                Poll::Ready(Some(()))
            }
        }
    }

    fn reconsider(&mut self, (): &mut ()) -> bool {
        match self.service {
            Next::Ready(_) | Next::Failed(_) => true,
            // The race draws the next candidate at once, which registers its waker.
            Next::Unknown | Next::Awaited(_) => {
                let service = self.backends.another();
                let mut cx = Context::from_waker(Waker::noop());
                self.poll_service(service, &mut cx).is_ready()
            }
        }
    }

    fn attempt(&mut self, (): ()) -> ((), Self::Attempt) {
        self.left -= 1;
        let request = self.request.take().expect("a candidate has a request");
        if self.left > 0 {
            self.request = self.rules.repeat(&request);
        }
        let attempt = match std::mem::replace(&mut self.service, Next::Unknown) {
            Next::Ready(service) => Attempt::of_ready(service, request),
            Next::Failed(error) => Attempt::failed(error),
            Next::Unknown | Next::Awaited(_) => unreachable!("the service was asked before"),
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
