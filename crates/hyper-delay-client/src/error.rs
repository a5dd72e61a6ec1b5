use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::Refusal;

/// Why there is no connection.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address has no server, or cannot be found, or the connection broke.
    #[error("cannot connect to {address}")]
    #[non_exhaustive]
    Io {
        /// The address as it was given.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// The server closed the connection before it had answered a ping.
    #[error("{address} closed the connection at once; is this host among its `allowed_hosts`?")]
    #[non_exhaustive]
    Closed {
        /// The address as it was given.
        address: String,
    },
    /// The server did not answer a ping in time.
    #[error("{address} did not answer within {limit:?}; is it a hyper-delay server?")]
    #[non_exhaustive]
    TimedOut {
        /// The address as it was given.
        address: String,
        /// The limit: [`connect_timeout`](crate::Builder::connect_timeout).
        limit: Duration,
    },
    /// The server said why not.
    #[error("{address} does not take the connection")]
    #[non_exhaustive]
    Refused {
        /// The address as it was given.
        address: String,
        /// What it said.
        source: Refusal,
    },
}

/// Why a request has no answer, or not the one that was hoped for.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The server refused it, and has changed nothing.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The client is closed, or was closed before the answer came. If the request had been sent,
    /// it may have been done.
    #[error("the client is closed; connect another")]
    Closed,
    /// No answer came in time. The request may have been done.
    #[error(
        "no answer came within {limit:?}; is the server up, and `request_timeout` long enough?"
    )]
    #[non_exhaustive]
    TimedOut {
        /// The limit: [`request_timeout`](crate::Builder::request_timeout).
        limit: Duration,
    },
    /// The connection was lost before the answer came, and to ask again might do more than was
    /// asked. The request may have been done.
    #[error("the connection was lost before the answer; it may have been done or not")]
    Disconnected,
    /// The line would be longer than allowed. Nothing was sent.
    #[error(
        "the request would be a line of {bytes} bytes, and {limit} are allowed; send less, or raise `max_line_bytes` here and at the server"
    )]
    #[non_exhaustive]
    TooLong {
        /// The length of the line, its end not counted.
        bytes: usize,
        /// The limit: [`max_line_bytes`](crate::Builder::max_line_bytes).
        limit: usize,
    },
    /// The answer makes no sense to this client.
    #[error("the answer {answer:?} is not understood; is the server of a later version?")]
    #[non_exhaustive]
    Garbled {
        /// The line, or the beginning of it.
        answer: String,
        /// What is wrong with it, if it is not just of an unexpected kind.
        source: Option<serde_json::Error>,
    },
}

/// Why a route is not, or no longer, listened to.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    /// This client listens to the route already.
    #[error("this client listens to route {route:?} already; end that first, or connect another")]
    #[non_exhaustive]
    AlreadyListening {
        /// The route.
        route: String,
    },
    /// The route could not be registered.
    #[error("cannot register route {route:?}")]
    #[non_exhaustive]
    Register {
        /// The route.
        route: String,
        /// Why not.
        source: RequestError,
    },
    /// Another consumer has taken the route.
    #[error("route {route:?} was taken by another consumer")]
    #[non_exhaustive]
    Replaced {
        /// The route.
        route: String,
    },
    /// The server has taken the route away, for a reason that a newer server knows.
    #[error("route {route:?} was unregistered: {reason}")]
    #[non_exhaustive]
    Unregistered {
        /// The route.
        route: String,
        /// The server's word for why.
        reason: String,
    },
}

/// Why [`close`](crate::Client::close) could not end in peace. The client is closed all the same.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CloseError {
    /// Something was still open when the time was up.
    #[error(
        "closed after {limit:?} with {requests} requests and {deliveries} deliveries unanswered; let them end before, or raise `close_timeout`"
    )]
    #[non_exhaustive]
    TimedOut {
        /// The limit: [`close_timeout`](crate::Builder::close_timeout).
        limit: Duration,
        /// Requests that the server had not answered: they may have been done.
        requests: usize,
        /// Deliveries that had been neither acknowledged nor given back: they will come again.
        deliveries: usize,
    },
}
