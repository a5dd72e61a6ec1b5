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
    pub(crate) fn called(service: &mut S, request: Req) -> Self {
        Self::Called {
            response: service.call(request),
        }
    }

    pub(crate) fn waiting(service: S, request: Req) -> Self {
        Self::Waiting {
            service,
            request: Some(request),
        }
    }
}

impl<S: Service<Req>, Req> Future for Attempt<S, Req> {
    type Output = Result<S::Response, S::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let response = match self.as_mut().project() {
                AttemptProject::Called { response } => return response.poll(cx),
                AttemptProject::Waiting { service, request } => {
                    ready!(service.poll_ready(cx))?;
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
