//! What the page shows beyond the replies of the protocol.

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
    access::{self, Caller},
    operation::text,
    query,
    search::Wanted,
};
use crate::http::{
    listener::Ends,
    problem::{Problem, code},
    state,
};
use hyper_delay_engine::metrics;

/// The longest id, and the longest route, in bytes.
const LONGEST_NAME: usize = 128;

/// The numbers of what the sender may look into, and what it may do.
pub(super) async fn summary(
    State(state): State<Arc<state::State>>,
    Extension(ends): Extension<Ends>,
    request: Request,
) -> Response {
    answer(numbers(&state, ends, request).await)
}

/// What the sender may do.
pub(super) async fn access(
    State(state): State<Arc<state::State>>,
    Extension(ends): Extension<Ends>,
    request: Request,
) -> Response {
    answer(own_rights(&state, ends, request).await)
}

/// Answers with the tasks that have an id, on any route.
pub(super) async fn search(
    State(state): State<Arc<state::State>>,
    Extension(ends): Extension<Ends>,
    request: Request,
) -> Response {
    answer(found(&state, ends, request).await)
}

fn answer(body: Result<Value, Problem>) -> Response {
    match body {
        Ok(body) => ([(CONTENT_TYPE, "application/json")], body.to_string()).into_response(),
        Err(problem) => problem.json(),
    }
}

async fn numbers(state: &state::State, ends: Ends, request: Request) -> Result<Value, Problem> {
    let serving = state.serving()?;
    let caller = access::caller(&serving, ends, request.headers()).await?;
    caller.may_see_numbers()?;
    query::read(request.uri().query(), &[])?;
    let counted = serving.metrics.clone();
    let gauges = state.page_gauges(serving).await;
    let gauges = gauges.map_err(|reason| Problem::new(code::UNAVAILABLE, reason))?;
    let sees = |route: &str| caller.sees(route);
    let mut summary = metrics::summary(&counted, &gauges, sees, caller.sees_all());
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    summary["now"] = json!(now.map_or(0, |now| now.as_millis() as u64));
    summary["access"] = rights(&caller);
    Ok(summary)
}

async fn own_rights(state: &state::State, ends: Ends, request: Request) -> Result<Value, Problem> {
    let serving = state.serving()?;
    let caller = access::caller(&serving, ends, request.headers()).await?;
    // The holder of a token may know what it gives.
    if caller.grant().is_none() {
        caller.may_see_numbers()?;
    }
    query::read(request.uri().query(), &[])?;
    Ok(rights(&caller))
}

/// What the sender may do, so that the page need not try.
fn rights(caller: &Caller) -> Value {
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

async fn found(state: &state::State, ends: Ends, request: Request) -> Result<Value, Problem> {
    let serving = state.serving()?;
    let caller = access::caller(&serving, ends, request.headers()).await?;
    caller.may_see_tasks()?;
    let known = [text("id", "id"), text("after", "after")];
    let mut wanted = Wanted {
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
            "after" => wanted.after = value.into_owned(),
            _ => wanted.id = value.into_owned(),
        }
    }
    if wanted.id.is_empty() {
        return Err(Problem::bad_field("id is missing: give ?id="));
    }
    let id = wanted.id.clone();
    let sees = move |route: &str| caller.sees(route);
    let found = state.search(serving, wanted, sees).await;
    let found = found.map_err(|reason| Problem::new(code::UNAVAILABLE, reason))?;
    Ok(found.json(&id))
}
