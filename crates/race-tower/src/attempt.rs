use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;
use tower_service::Service;

use crate::end::Running;

pin_project! {
    /// One attempt. It calls its service in the first poll, which is within its span.
    #[must_use = "futures do nothing unless polled"]
    pub(crate) struct Attempt<S, Req>
    where
        S: Service<Req>,
    {
        #[pin]
        stage: Stage<S, Req>,
        // Dropped after the response, so that what belongs to the attempt is gone when it ends.
        running: Option<Running>,
    }
}

pin_project! {
    #[project = StageProject]
    enum Stage<S, Req>
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
    pub(crate) fn of_ready(service: S, request: Req, running: Option<Running>) -> Self {
        let call = Some((service, request));
        let stage = Stage::Ready { call };
        Self { stage, running }
    }

    pub(crate) fn failed(error: S::Error, running: Option<Running>) -> Self {
        let error = Some(error);
        let stage = Stage::Failed { error };
        Self { stage, running }
    }
}

impl<S: Service<Req>, Req> Future for Attempt<S, Req> {
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut stage = self.project().stage;
        loop {
            let response = match stage.as_mut().project() {
                StageProject::Called { response } => return response.poll(cx),
                StageProject::Failed { error } => {
                    let error = error
                        .take()
                        .expect("a race polls no attempt that has finished");
                    return Poll::Ready(Err(error));
                }
                StageProject::Ready { call } => {
                    let call = call.take();
                    let (mut service, request) = call.expect("the service is called once");
                    service.call(request)
                }
            };
            stage.set(Stage::Called { response });
        }
    }
}

impl<S: Service<Req>, Req> fmt::Debug for Attempt<S, Req> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.stage {
            Stage::Ready { .. } => "Attempt::Ready",
            Stage::Called { .. } => "Attempt::Called",
            Stage::Failed { .. } => "Attempt::Failed",
        })
    }
}
