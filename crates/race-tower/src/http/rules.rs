use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use race_core::Verdict;

use super::{ReplayBody, grpc::Code, verdict};
use crate::{Beginning, Rules};

/// How long an attempt may take from its start on: until the deadline of the request or the attempt
/// timeout, whichever comes first. [`HttpRules`] add it to the
/// [extensions](http::Extensions) of the request of each attempt, if the layer has one of the two.
///
/// Send it to the server, for example in the header `grpc-timeout`, so that it stops when its
/// client no longer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLeft(pub Duration);

/// Rules for HTTP and gRPC. Clones share their settings.
///
/// # Which requests are sent again
///
/// | request | default | option |
/// | --- | --- | --- |
/// | GET, HEAD, OPTIONS | yes | |
/// | PUT, DELETE, others | no | [`repeat_method`](Self::repeat_method) |
/// | with the header `Idempotency-Key` | no | [`idempotency_keys`](Self::idempotency_keys) |
/// | gRPC | no | [`grpc_methods`](Self::grpc_methods) |
///
/// and only if its body can be: see [`ReplayBody`].
///
/// # Which answers are good
///
/// An answer is judged when its headers arrive; a body that fails later starts nothing.
///
/// | answer | verdict |
/// | --- | --- |
/// | an error of the service | `Retryable` |
/// | status 429, 502, 503, 504 ([`retry_statuses`](Self::retry_statuses)), and `Retry-After` in seconds | `NotBefore` |
/// | one of these without it, or with a date | `Retryable` |
/// | `grpc-status` in the headers: 14, UNAVAILABLE ([`retry_grpc_codes`](Self::retry_grpc_codes)) | `Retryable` |
/// | the same and `grpc-retry-pushback-ms` | `NotBefore`; negative or no number: `NoMoreStarts` |
/// | any other | `Accept` |
///
/// A gRPC status after a message arrives in the trailers, when the answer was accepted already. A
/// pause longer than the deadline ends the request with the answer; without a deadline, a server can
/// ask for a pause of any length. Over several servers, set `Balanced::rules` and `layer_rules` of
/// `race-balance`, by which another server need not wait for the pause of the first.
///
/// For other verdicts, write [`Rules`] that call these for the rest.
#[derive(Clone, Debug)]
pub struct HttpRules {
    settings: Arc<Settings>,
}

#[derive(Clone, Debug)]
struct Settings {
    methods: Vec<Method>,
    idempotency_keys: bool,
    grpc_methods: Vec<String>,
    statuses: Vec<StatusCode>,
    codes: Vec<Code>,
}

impl HttpRules {
    /// Creates rules with the defaults.
    #[must_use]
    pub fn new() -> Self {
        let settings = Settings {
            methods: vec![Method::GET, Method::HEAD, Method::OPTIONS],
            idempotency_keys: false,
            grpc_methods: Vec::new(),
            statuses: vec![
                StatusCode::TOO_MANY_REQUESTS,
                StatusCode::BAD_GATEWAY,
                StatusCode::SERVICE_UNAVAILABLE,
                StatusCode::GATEWAY_TIMEOUT,
            ],
            codes: vec![Code::UNAVAILABLE],
        };
        let settings = Arc::new(settings);
        Self { settings }
    }

    /// Sends requests with this method again, too.
    ///
    /// PUT and DELETE may be repeated, but a hedge runs beside the first attempt, and the loser may
    /// reach its server late: after the answer, and after a later request of yours, which it then
    /// overwrites. Hedge them only if the server rejects such a one, for example by `If-Match`.
    #[must_use]
    pub fn repeat_method(self, method: Method) -> Self {
        self.set(|it| it.methods.push(method))
    }

    /// Sends requests with the header `Idempotency-Key` again, whatever their method is: the server
    /// does the work of a key once.
    #[must_use]
    pub fn idempotency_keys(self) -> Self {
        self.set(|it| it.idempotency_keys = true)
    }

    /// Sends gRPC requests for these methods again, by their paths: `/package.Service/Method`, or
    /// `/package.Service/*` for all methods of a service.
    ///
    /// gRPC sends all requests by POST, and does not tell which may run twice.
    #[must_use]
    pub fn grpc_methods<P: Into<String>>(self, paths: impl IntoIterator<Item = P>) -> Self {
        let paths = paths.into_iter().map(P::into);
        self.set(|it| it.grpc_methods.extend(paths))
    }

    /// Sets the statuses after which another attempt may start. Default: 429, 502, 503 and 504.
    #[must_use]
    pub fn retry_statuses(self, statuses: impl IntoIterator<Item = StatusCode>) -> Self {
        self.set(|it| it.statuses = statuses.into_iter().collect())
    }

    /// Sets the codes of gRPC after which another attempt may start. Default: 14, UNAVAILABLE.
    #[must_use]
    pub fn retry_grpc_codes(self, codes: impl IntoIterator<Item = u32>) -> Self {
        self.set(|it| it.codes = codes.into_iter().map(Code).collect())
    }

    fn set(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(Arc::make_mut(&mut self.settings));
        self
    }
}

impl Settings {
    fn may_repeat<B>(&self, request: &Request<B>) -> bool {
        let is_keyed = || request.headers().contains_key("idempotency-key");
        self.methods.contains(request.method())
            || self.idempotency_keys && is_keyed()
            || self.is_listed(request.uri().path())
    }

    fn is_listed(&self, path: &str) -> bool {
        self.grpc_methods.iter().any(|listed| {
            match listed.strip_suffix('*').filter(|it| it.ends_with('/')) {
                Some(service) => path.strip_prefix(service).is_some_and(|it| !it.is_empty()),
                None => path == listed,
            }
        })
    }
}

impl Default for HttpRules {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: Body, B2, E> Rules<Request<ReplayBody<B>>, Response<B2>, E> for HttpRules {
    fn repeat(&self, request: &Request<ReplayBody<B>>) -> Option<Request<ReplayBody<B>>> {
        if !self.settings.may_repeat(request) {
            return None;
        }
        let mut copy = Request::new(request.body().again()?);
        *copy.method_mut() = request.method().clone();
        *copy.uri_mut() = request.uri().clone();
        *copy.version_mut() = request.version();
        *copy.headers_mut() = request.headers().clone();
        *copy.extensions_mut() = request.extensions().clone();
        Some(copy)
    }

    fn poll_repeat(
        &self,
        request: &mut Request<ReplayBody<B>>,
        cx: &mut Context<'_>,
    ) -> Poll<bool> {
        request.body_mut().poll_turn(cx)
    }

    fn begin(&self, request: &mut Request<ReplayBody<B>>, beginning: &mut Beginning<'_>) {
        if let Some(left) = beginning.time_left() {
            request.extensions_mut().insert(TimeLeft(left));
        }
        request.body_mut().begin(|| beginning.end());
    }

    fn judge(&self, answer: &Result<Response<B2>, E>) -> Verdict {
        let Ok(answer) = answer else {
            return Verdict::Retryable;
        };
        match Code::of(answer.headers()) {
            Some(code) if self.settings.codes.contains(&code) => {
                verdict::pushback(answer.headers())
            }
            Some(_) => Verdict::Accept,
            None if self.settings.statuses.contains(&answer.status()) => {
                verdict::retry_after(answer.headers())
            }
            None => Verdict::Accept,
        }
    }
}

#[cfg(test)]
mod tests;
