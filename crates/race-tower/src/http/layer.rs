use std::task::{Context, Poll};

use http::Request;
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

use super::ReplayBody;

/// Wraps the bodies of requests in [`ReplayBody`], so that [`HttpRules`](super::HttpRules) can send
/// them again. It belongs outside the layer that hedges.
///
/// A body is recorded only while the rules have another attempt for its request. See [`ReplayBody`]
/// for when it can be sent again.
#[derive(Clone, Copy, Debug)]
pub struct ReplayLayer {
    limit: usize,
}

/// The service of a [`ReplayLayer`].
#[derive(Clone, Copy, Debug)]
pub struct Replay<S> {
    inner: S,
    limit: usize,
}

impl ReplayLayer {
    /// Records up to 64 KiB of each body.
    #[must_use]
    pub const fn new() -> Self {
        Self { limit: 64 * 1024 }
    }

    /// Sets how many bytes of a body are recorded, its trailers included. Default: 65,536. A
    /// request with a longer body is not sent again. With 0, only requests without a body are.
    #[must_use]
    pub const fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }
}

impl Default for ReplayLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for ReplayLayer {
    type Service = Replay<S>;

    fn layer(&self, inner: S) -> Replay<S> {
        let limit = self.limit;
        Replay { inner, limit }
    }
}

impl<B, S> Service<Request<B>> for Replay<S>
where
    B: Body,
    S: Service<Request<ReplayBody<B>>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> S::Future {
        let limit = self.limit;
        let request = request.map(|body| ReplayBody::new(body, limit));
        self.inner.call(request)
    }
}
