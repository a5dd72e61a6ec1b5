use crate::Request;

/// Answers requests: the latency of a request is the time until the future resolves.
///
/// An async closure is one; [`Hedged`](crate::Hedged) is one with a race.
pub trait Client {
    /// Answers a request by one or more attempts.
    fn answer(&self, request: Request) -> impl Future<Output = ()>;
}

impl<F: AsyncFn(Request)> Client for F {
    async fn answer(&self, request: Request) {
        self(request).await;
    }
}
