use std::sync::{Arc, atomic::Ordering};

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
};

use super::{listener::ConnectionInfo, problem::Problem, state, v1::identify};
use hyper_delay_engine::metrics::{self, HttpConnections};

/// The metrics, for programs on this machine and holders of the right `admin` on every route.
pub(super) async fn metrics(
    State(state): State<Arc<state::HttpState>>,
    Extension(info): Extension<ConnectionInfo>,
    headers: HeaderMap,
) -> Response {
    if !info.peer.is_loopback()
        && let Err(problem) = may_see_all(&state, info, &headers).await
    {
        return problem.text();
    }
    match text(&state).await {
        Ok(text) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}

async fn may_see_all(
    state: &state::HttpState,
    info: ConnectionInfo,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let backend = state.backend()?;
    identify(&backend, info, headers).await?.may_see_all()
}

async fn text(state: &state::HttpState) -> Result<String, String> {
    let backend = state.backend()?;
    let counted = backend.metrics.clone();
    let gauges = state.gauges(backend).await?;
    let connections = HttpConnections(state.connections.load(Ordering::Relaxed));
    metrics::text(counted, gauges, connections)
        .map_err(|_| "the metrics could not be written".to_owned())
}
