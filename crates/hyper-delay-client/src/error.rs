use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::{Code, Refusal, TokenError};

/// Why a client has no connection.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address cannot be resolved or connected to, or the connection broke.
    #[error("cannot connect to {address}")]
    #[non_exhaustive]
    Io {
        /// The address as configured.
        address: String,
        /// The error of the system.
        source: io::Error,
    },
    /// There is no TLS connection.
    #[cfg(feature = "tls")]
    #[error("no TLS with {address}")]
    #[non_exhaustive]
    Tls {
        /// The address as configured.
        address: String,
        /// The cause.
        source: crate::TlsError,
    },
    /// The server closed the connection before it replied to `hello`.
    #[error("{address} closed the connection at once; is this host in its `allowed_hosts`?")]
    #[non_exhaustive]
    Closed {
        /// The address as configured.
        address: String,
    },
    /// The server did not reply to `hello` in time.
    #[error("{address} did not answer within {limit:?}; is it a hyper-delay server?")]
    #[non_exhaustive]
    TimedOut {
        /// The address as configured.
        address: String,
        /// The limit: [`connect_timeout`](crate::Builder::connect_timeout).
        limit: Duration,
    },
    /// There is no token to show.
    #[error("no token for {address}")]
    #[non_exhaustive]
    Token {
        /// The address as configured.
        address: String,
        /// The cause.
        source: TokenError,
    },
    /// The server refused the token.
    #[error("{address} refused the token")]
    #[non_exhaustive]
    Forbidden {
        /// The address as configured.
        address: String,
        /// The error of the server.
        source: Refusal,
    },
    /// The server refused the connection.
    #[error("{address} refused the connection")]
    #[non_exhaustive]
    Refused {
        /// The address as configured.
        address: String,
        /// The error of the server.
        source: Refusal,
    },
}

impl ConnectError {
    /// The error of a connection that broke.
    pub(crate) fn of(address: String, source: io::Error) -> Self {
        #[cfg(feature = "tls")]
        if crate::TlsError::is_in(&source) {
            let source = source.into();
            return Self::Tls { address, source };
        }
        Self::Io { address, source }
    }
}

impl RequestError {
    /// Returns whether the client has no right to send the request, or its token was refused.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == Code::Forbidden)
    }
}

/// Why a request failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The server refused the request, which has changed nothing.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The client was closed before the request or before its reply. If the request had been sent,
    /// it may have taken effect.
    #[error("the client is closed; connect another")]
    Closed,
    /// There was no reply in time. The request may have taken effect.
    #[error("no reply within {limit:?}; is the server up, and `request_timeout` long enough?")]
    #[non_exhaustive]
    TimedOut {
        /// The limit: [`request_timeout`](crate::Builder::request_timeout).
        limit: Duration,
    },
    /// The connection was lost before the reply, and the request is not safe to repeat. It may have
    /// taken effect.
    #[error("the connection was lost before the reply; the request may have taken effect")]
    Disconnected,
    /// The line would be longer than allowed. It was not sent.
    #[error(
        "the request would be a line of {bytes} bytes, and {limit} are allowed; send less, or raise `max_line_bytes` here and at the server"
    )]
    #[non_exhaustive]
    TooLong {
        /// The length of the line without its end.
        bytes: usize,
        /// The limit: [`max_line_bytes`](crate::Builder::max_line_bytes).
        limit: usize,
    },
    /// The client does not understand the reply.
    #[error("the reply {answer:?} cannot be understood; is the server newer than this client?")]
    #[non_exhaustive]
    Garbled {
        /// The start of the line.
        answer: String,
        /// The error in the line; `None` if its kind is unexpected.
        source: Option<serde_json::Error>,
    },
}

/// Why a client does not listen to a route, or has stopped.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    /// This client already listens to the route.
    #[error("this client already listens to route {route:?}; end that first, or connect another")]
    #[non_exhaustive]
    AlreadyListening {
        /// The route.
        route: String,
    },
    /// The name of the route ends with `*`. Nothing was sent.
    #[error(
        "route {route:?} ends with *, which is a prefix only in tokens and in the configuration of \
         the server; register each route by its whole name"
    )]
    #[non_exhaustive]
    Wildcard {
        /// The route.
        route: String,
    },
    /// The route could not be registered.
    #[error("cannot register route {route:?}")]
    #[non_exhaustive]
    Register {
        /// The route.
        route: String,
        /// The cause.
        source: RequestError,
    },
    /// Another consumer took the route.
    #[error("route {route:?} was taken by another consumer")]
    #[non_exhaustive]
    Replaced {
        /// The route.
        route: String,
    },
    /// The server unregistered the route for a reason of a newer server.
    #[error("route {route:?} was unregistered: {reason}")]
    #[non_exhaustive]
    Unregistered {
        /// The route.
        route: String,
        /// The reason on the wire.
        reason: String,
    },
}

/// Why [`close`](crate::Client::close) was incomplete. The client is closed in any case.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CloseError {
    /// Something was still open at the timeout.
    #[error(
        "closed after {limit:?} with {requests} requests and {deliveries} deliveries unanswered; let them end before, or raise `close_timeout`"
    )]
    #[non_exhaustive]
    TimedOut {
        /// The limit: [`close_timeout`](crate::Builder::close_timeout).
        limit: Duration,
        /// Requests without a reply. They may have taken effect.
        requests: usize,
        /// Deliveries without an answer. The server delivers their tasks again.
        deliveries: usize,
    },
}
