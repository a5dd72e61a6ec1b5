use std::sync::{Arc, atomic::Ordering};

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
};

use super::{listener::Ends, problem::Problem, state, v1::caller};
use hyper_delay_engine::metrics::{self, Connections};

/// The metrics, for programs on this machine and holders of the right `admin` on every route.
pub(super) async fn metrics(
    State(state): State<Arc<state::State>>,
    Extension(ends): Extension<Ends>,
    headers: HeaderMap,
) -> Response {
    if !ends.peer.is_loopback()
        && let Err(problem) = may_see_all(&state, ends, &headers).await
    {
        return problem.text();
    }
    match text(&state).await {
        Ok(text) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}

async fn may_see_all(state: &state::State, ends: Ends, headers: &HeaderMap) -> Result<(), Problem> {
    let serving = state.serving()?;
    caller(&serving, ends, headers).await?.may_see_all()
}

async fn text(state: &state::State) -> Result<String, String> {
    let serving = state.serving()?;
    let counted = serving.metrics.clone();
    let gauges = state.gauges(serving).await?;
    let connections = Connections(state.connections.load(Ordering::Relaxed));
    metrics::text(counted, gauges, connections)
        .map_err(|_| "the metrics could not be written".to_owned())
}
