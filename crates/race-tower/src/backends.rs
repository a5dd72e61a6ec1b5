use std::{
    mem,
    task::{Context, Poll},
};

use tower_service::Service;

/// Where the attempts of a request go: to copies of one service, to [`Replicas`], to the `Balanced`
/// of `race-balance`, or where an implementation of your own sends them.
///
/// [`Replicas`]: crate::Replicas
pub trait Backends<Req>: Clone {
    /// The service of one attempt.
    type Service: Service<Req>;

    /// Polls until a service is ready for the first attempt.
    ///
    /// # Errors
    ///
    /// That of the service.
    fn poll_ready(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), <Self::Service as Service<Req>>::Error>>;

    /// Takes the service that is ready.
    ///
    /// # Panics
    ///
    /// May panic if `poll_ready` has not returned `Ready(Ok(()))` before, as the call of a service
    /// may.
    fn take_ready(&mut self) -> Self::Service;

    /// Returns a service for another attempt, which need not be ready. It is dropped, and asked for
    /// again later, if the attempt does not start when it is due.
    fn another(&mut self) -> Self::Service;

    /// An attempt starts on a service that [`another`](Self::another) returned, or
    /// [`take_ready`](Self::take_ready), and that is ready.
    ///
    /// Default: nothing.
    fn starts(&mut self, service: &Self::Service) {
        let _ = service;
    }
}

/// All attempts go to clones of one service.
#[derive(Clone, Debug)]
pub struct Copies<S>(S);

impl<S> Copies<S> {
    pub(crate) fn new(service: S) -> Self {
        Self(service)
    }
}

impl<Req, S: Service<Req> + Clone> Backends<Req> for Copies<S> {
    type Service = S;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    /// The service that answered `Ready` is called; its clone has to become ready again.
    fn take_ready(&mut self) -> S {
        let clone = self.0.clone();
        mem::replace(&mut self.0, clone)
    }

    fn another(&mut self) -> S {
        self.0.clone()
    }
}
