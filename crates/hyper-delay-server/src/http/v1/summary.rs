//! Answers for the page that are not replies of the protocol: numbers, rights and searches.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Extension,
    extract::{Request, State},
    http::header::CONTENT_TYPE,
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};

use super::{
    caller::{self, Caller},
    operation::text,
    query,
    search::SearchQuery,
};
use crate::http::{
    listener::ConnectionInfo,
    problem::{Problem, code},
    state,
};
use hyper_delay_engine::metrics;

/// The longest id, and the longest route, in bytes.
const LONGEST_NAME: usize = 128;

/// Answers with the numbers of the routes that the sender may see, and with its rights.
pub(super) async fn summary(
    State(state): State<Arc<state::HttpState>>,
    Extension(info): Extension<ConnectionInfo>,
    request: Request,
) -> Response {
    answer(summary_json(&state, info, request).await)
}

/// Answers with the rights of the sender.
pub(super) async fn access(
    State(state): State<Arc<state::HttpState>>,
    Extension(info): Extension<ConnectionInfo>,
    request: Request,
) -> Response {
    answer(access_json(&state, info, request).await)
}

/// Answers with the tasks that have an id, on any route.
pub(super) async fn search(
    State(state): State<Arc<state::HttpState>>,
    Extension(info): Extension<ConnectionInfo>,
    request: Request,
) -> Response {
    answer(search_json(&state, info, request).await)
}

fn answer(body: Result<Value, Problem>) -> Response {
    match body {
        Ok(body) => ([(CONTENT_TYPE, "application/json")], body.to_string()).into_response(),
        Err(problem) => problem.json(),
    }
}

async fn summary_json(
    state: &state::HttpState,
    info: ConnectionInfo,
    request: Request,
) -> Result<Value, Problem> {
    let backend = state.backend()?;
    let caller = caller::identify(&backend, info, request.headers()).await?;
    caller.may_see_numbers()?;
    query::read(request.uri().query(), &[])?;
    let counted = backend.metrics.clone();
    let gauges = state.page_gauges(backend).await;
    let gauges = gauges.map_err(|reason| Problem::new(code::UNAVAILABLE, reason))?;
    let is_visible = |route: &str| caller.can_see(route);
    let mut summary = metrics::summary(&counted, &gauges, is_visible, caller.can_see_all());
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    summary["now"] = json!(now.map_or(0, |now| now.as_millis() as u64));
    summary["access"] = rights_json(&caller);
    Ok(summary)
}

async fn access_json(
    state: &state::HttpState,
    info: ConnectionInfo,
    request: Request,
) -> Result<Value, Problem> {
    let backend = state.backend()?;
    let caller = caller::identify(&backend, info, request.headers()).await?;
    // The holder of a token may know what it gives.
    if caller.grant().is_none() {
        caller.may_see_numbers()?;
    }
    query::read(request.uri().query(), &[])?;
    Ok(rights_json(&caller))
}

/// Returns the rights of the sender, so that the page need not try.
fn rights_json(caller: &Caller) -> Value {
    match caller.grant() {
        Some(grant) => json!({
            "needs_token": true,
            "name": grant.name,
            "rights": grant.rights,
            "routes": grant.routes,
        }),
        None => json!({"needs_token": caller.needs_token(), "rights": []}),
    }
}

async fn search_json(
    state: &state::HttpState,
    info: ConnectionInfo,
    request: Request,
) -> Result<Value, Problem> {
    let backend = state.backend()?;
    let caller = caller::identify(&backend, info, request.headers()).await?;
    caller.may_see_tasks()?;
    let known = [text("id", "id"), text("after", "after")];
    let mut query = SearchQuery {
        id: String::new(),
        after: String::new(),
    };
    for (parameter, value) in query::read(request.uri().query(), &known)? {
        let name = parameter.name;
        if !(1..=LONGEST_NAME).contains(&value.len()) {
            let text = format!("{name} has {} bytes: give 1 to {LONGEST_NAME}", value.len());
            return Err(Problem::bad_field(text));
        }
        match name {
            "after" => query.after = value.into_owned(),
            _ => query.id = value.into_owned(),
        }
    }
    if query.id.is_empty() {
        return Err(Problem::bad_field("id is missing: give ?id="));
    }
    let id = query.id.clone();
    let is_visible = move |route: &str| caller.can_see(route);
    let found = state.search(backend, query, is_visible).await;
    let found = found.map_err(|reason| Problem::new(code::UNAVAILABLE, reason))?;
    Ok(found.json(&id))
}
