use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower_service::Service;

pin_project! {
    /// One attempt: waits until its service is ready, and calls it.
    #[project = AttemptProject]
    #[must_use = "futures do nothing unless polled"]
    pub(crate) enum Attempt<S, Req>
    where
        S: Service<Req>,
    {
        Waiting {
            service: S,
            is_ready: bool,
            // `None` once the service was called, if that panicked.
            request: Option<Req>,
        },
        Called {
            #[pin]
            response: S::Future,
        },
    }
}

impl<S: Service<Req>, Req> Attempt<S, Req> {
    /// Calls a service that is ready. It does so in its first poll, within its span.
    pub(crate) fn of_ready(service: S, request: Req) -> Self {
        Self::new(service, true, request)
    }

    /// Waits until a service is ready, and calls it.
    pub(crate) fn of(service: S, request: Req) -> Self {
        Self::new(service, false, request)
    }

    fn new(service: S, is_ready: bool, request: Req) -> Self {
        let request = Some(request);
        Self::Waiting {
            service,
            is_ready,
            request,
        }
    }
}

impl<S: Service<Req>, Req> Future for Attempt<S, Req> {
    type Output = Result<S::Response, S::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let response = match self.as_mut().project() {
                AttemptProject::Called { response } => return response.poll(cx),
                AttemptProject::Waiting {
                    service,
                    is_ready,
                    request,
                } => {
                    if !*is_ready {
                        ready!(service.poll_ready(cx))?;
                    }
                    let request = request.take().expect("the service is called once");
                    service.call(request)
                }
            };
            self.set(Self::Called { response });
        }
    }
}

impl<S: Service<Req>, Req> fmt::Debug for Attempt<S, Req> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting { .. } => "Attempt::Waiting",
            Self::Called { .. } => "Attempt::Called",
        })
    }
}
