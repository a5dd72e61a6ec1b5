use std::{
    fmt, mem,
    task::{Context, Poll, ready},
    time::Duration,
};

use race_core::source::{Source, SourceTypes};
use tower_service::Service;

use crate::{Backends, Beginning, Rules, attempt::Attempt, end::Running};

/// The attempts of one request.
///
/// The service of an attempt must be ready before the attempt starts, so that no budget is charged
/// and no observer notified for an attempt that is never sent. It is polled from the moment a start
/// is due, and dropped if the attempt does not start then, because a service that is ready, or
/// waits to be, holds a place that others may need.
pub(crate) struct Requests<B: Backends<Req>, Req, R> {
    backends: B,
    rules: R,
    service: Next<B::Service, Req>,
    /// The request of the next attempt.
    request: Option<Req>,
    /// The request of the attempt that starts now.
    starting: Option<Starting<Req>>,
    /// How many more attempts may start.
    left: usize,
}

struct Starting<Req> {
    request: Req,
    running: Option<Running>,
}

/// The service of the next attempt.
enum Next<S: Service<Req>, Req> {
    /// It is chosen when the start is due.
    Unknown,
    /// The start is due, and it is not ready.
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
            starting: None,
            left: max_attempts.max(1),
        }
    }

    /// Polls the service of the next attempt until it is ready or has failed.
    fn poll_service(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut service = match mem::replace(&mut self.service, Next::Unknown) {
            Next::Unknown => self.backends.another(),
            Next::Awaited(service) => service,
            settled => {
                self.service = settled;
                return Poll::Ready(());
            }
        };
        self.service = match service.poll_ready(cx) {
            Poll::Pending => {
                self.service = Next::Awaited(service);
                return Poll::Pending;
            }
            Poll::Ready(Ok(())) => Next::Ready(service),
            Poll::Ready(Err(error)) => Next::Failed(error),
        };
        Poll::Ready(())
    }
}

/// The time that is left, asked for once.
enum TimeLeft<F> {
    Unknown(F),
    Known(Option<Duration>),
}

impl<F: FnOnce() -> Option<Duration>> TimeLeft<F> {
    fn get(&mut self) -> Option<Duration> {
        let known = match mem::replace(self, Self::Known(None)) {
            Self::Unknown(time_left) => time_left(),
            Self::Known(known) => known,
        };
        *self = Self::Known(known);
        known
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

    fn poll_candidate(&mut self, _: &mut Context<'_>) -> Poll<Option<()>> {
        Poll::Ready(self.request.as_ref().map(|_| ()))
    }

    /// The request comes first: no service keeps a place while a request cannot be sent.
    fn poll_reserve(&mut self, (): &mut (), cx: &mut Context<'_>) -> Poll<bool> {
        let Some(request) = &mut self.request else {
            return Poll::Ready(false);
        };
        if !ready!(self.rules.poll_repeat(request, cx)) {
            self.request = None;
            return Poll::Ready(false);
        }
        self.poll_service(cx).map(|()| true)
    }

    fn put_back(&mut self, (): &mut ()) {
        self.service = Next::Unknown;
    }

    fn begin_attempt(&mut self, time_left: impl FnOnce() -> Option<Duration>) {
        self.left -= 1;
        let mut request = self.request.take().expect("a candidate has a request");
        if self.left > 0 {
            self.request = self.rules.repeat(&request);
        }
        let mut time_left = TimeLeft::Unknown(time_left);
        let mut time_left = || time_left.get();
        let mut beginning = Beginning::new(&mut time_left);
        self.rules.begin(&mut request, &mut beginning);
        let running = beginning.into_running();
        self.starting = Some(Starting { request, running });
    }

    fn attempt(&mut self, (): ()) -> ((), Self::Attempt) {
        let starting = self.starting.take();
        let Starting { request, running } = starting.expect("an attempt has begun");
        let attempt = match mem::replace(&mut self.service, Next::Unknown) {
            Next::Ready(service) => {
                self.backends.starts(&service);
                Attempt::of_ready(service, request, running)
            }
            Next::Failed(error) => Attempt::failed(error, running),
            Next::Unknown | Next::Awaited(_) => unreachable!("the service was reserved before"),
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
