//! The requests of the protocol over HTTP, for clients without a library for the protocol.
//!
//! Each operation of the [table](operation) becomes a line of the protocol. The line is parsed,
//! checked and answered as one that came over TCP, and the body of the answer is the reply's line.
//! `openapi.json` describes the operations.

mod caller;
mod handler;
mod line_builder;
mod operation;
mod query;
mod search;
mod summary;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{Method, Uri, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
    routing::{get, on},
};

use super::{
    problem::{Problem, code},
    state,
};
pub(super) use caller::identify;
use operation::OPERATIONS;
#[cfg(any(test, feature = "test-util"))]
pub use search::search_all;
pub(super) use search::{SearchQuery, SearchResults, search};

/// The description of the operations.
const OPENAPI: &str = include_str!("../../../openapi.json");

/// Whether a path is of this part of the listener.
pub(super) fn is_v1_path(path: &str) -> bool {
    path == "/v1" || path.starts_with("/v1/")
}

/// Adds the operations.
pub(super) fn add_routes(
    mut router: Router<Arc<state::HttpState>>,
) -> Router<Arc<state::HttpState>> {
    for operation in OPERATIONS {
        let handler = move |state: State<Arc<state::HttpState>>, info, params, request: Request| {
            handler::handle(operation, state, info, params, request)
        };
        router = router.route(operation.path, on(operation.filter(), handler));
    }
    router
        .route("/v1/access", get(summary::access))
        .route("/v1/summary", get(summary::summary))
        .route("/v1/search", get(summary::search))
        .route("/v1/openapi.json", get(openapi))
}

/// Reads a request as the handler of an operation does, for the fuzz target. The operation is
/// chosen by a number, and `name` is each part of its path.
#[cfg(feature = "internals")]
#[must_use]
pub fn read(
    choice: usize,
    name: &str,
    query: &str,
    body: &[u8],
) -> Option<(&'static str, hyper_delay_protocol::Line)> {
    let operation = OPERATIONS.get(choice % OPERATIONS.len())?;
    let parts = operation.path.split('/');
    let names = parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let params = names.map(|part| (part, name));
    let line = handler::build_line(operation, params, Some(query), body).ok()?;
    Some((operation.path, line))
}

async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

/// Answers a request for a path that does not exist.
pub(super) fn unknown(uri: &Uri) -> Response {
    let path = uri.path();
    let text = format!("{path:?} does not exist: /v1/openapi.json has all paths");
    Problem::new(code::NOT_FOUND, text).json()
}

/// Answers a request whose method its path does not have.
pub(super) fn not_allowed(method: &Method) -> Response {
    let text = format!("the method is {method}: use one that the header Allow names");
    Problem::new(code::METHOD, text).json()
}

#[cfg(test)]
mod tests;
