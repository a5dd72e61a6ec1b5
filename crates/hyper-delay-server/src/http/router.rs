use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{Method, Uri},
    middleware::from_fn_with_state,
    response::Response,
    routing::get,
};

use super::{
    health, host_check, metrics, page,
    problem::{
        Problem,
        code::{METHOD, NOT_FOUND},
    },
    state::HttpState,
    v1,
};

/// Returns the answers to all requests.
pub(super) fn router(state: Arc<HttpState>) -> Router {
    let router = Router::new()
        .route("/", get(page::page))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::metrics));
    v1::add_routes(router)
        .fallback(unknown)
        .method_not_allowed_fallback(not_allowed)
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(state.clone(), host_check::check_request))
        .with_state(state)
}

async fn unknown(uri: Uri) -> Response {
    let path = uri.path();
    if v1::is_v1_path(path) {
        return v1::unknown(&uri);
    }
    let text = format!("{path:?} does not exist: ask for /, /healthz, /readyz, /metrics or /v1");
    Problem::new(NOT_FOUND, text).text()
}

async fn not_allowed(method: Method, uri: Uri) -> Response {
    if v1::is_v1_path(uri.path()) {
        return v1::not_allowed(&method);
    }
    let text = format!("the method is {method}: use GET or HEAD");
    Problem::new(METHOD, text).text()
}
