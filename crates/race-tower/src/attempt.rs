use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;
use tower_service::Service;

pin_project! {
    /// One attempt. It calls its service in the first poll, which is within its span.
    #[project = AttemptProject]
    #[must_use = "futures do nothing unless polled"]
    pub(crate) enum Attempt<S, Req>
    where
        S: Service<Req>,
    {
        Ready {
            // `None` once the service was called, if that panicked.
            call: Option<(S, Req)>,
        },
        Called {
            #[pin]
            response: S::Future,
        },
        // The service failed to become ready. `None` once that was returned.
        Failed { error: Option<S::Error> },
    }
}

impl<S: Service<Req>, Req> Attempt<S, Req> {
    pub(crate) fn of_ready(service: S, request: Req) -> Self {
        let call = Some((service, request));
        Self::Ready { call }
    }

    pub(crate) fn failed(error: S::Error) -> Self {
        let error = Some(error);
        Self::Failed { error }
    }
}

impl<S: Service<Req>, Req> Future for Attempt<S, Req> {
    type Output = Result<S::Response, S::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let response = match self.as_mut().project() {
                AttemptProject::Called { response } => return response.poll(cx),
                AttemptProject::Failed { error } => {
                    let error = error
                        .take()
                        .expect("a race polls no attempt that has finished");
                    return Poll::Ready(Err(error));
                }
                AttemptProject::Ready { call } => {
                    let call = call.take();
                    let (mut service, request) = call.expect("the service is called once");
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
            Self::Ready { .. } => "Attempt::Ready",
            Self::Called { .. } => "Attempt::Called",
            Self::Failed { .. } => "Attempt::Failed",
        })
    }
}
