use std::sync::Arc;

use axum::{
    Extension,
    body::{Bytes, to_bytes},
    extract::{RawPathParams, Request, State, rejection::RawPathParamsRejection},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
};

use super::{
    caller,
    line_builder::LineBuilder,
    operation::{self, Operation},
    query,
};
use crate::connection::OneShotRequest;
use crate::http::{
    host_check::{single_header, too_long},
    listener::ConnectionInfo,
    problem::{Problem, code},
    state,
};
use hyper_delay_protocol::{
    Code, Encoder, Line, ReadRequest, Refusal, Reply, Request as ProtocolRequest, TaskRequest,
    Version, parse_strict,
};

type Params = Result<RawPathParams, RawPathParamsRejection>;

/// Answers a request for an operation.
pub(super) async fn handle(
    operation: &'static Operation,
    State(state): State<Arc<state::HttpState>>,
    Extension(info): Extension<ConnectionInfo>,
    params: Params,
    request: Request,
) -> Response {
    match answer(operation, &state, info, params, request).await {
        Ok(reply) => success(&reply),
        Err(problem) => problem.json(),
    }
}

async fn answer(
    operation: &'static Operation,
    state: &state::HttpState,
    info: ConnectionInfo,
    params: Params,
    request: Request,
) -> Result<Reply, Problem> {
    let backend = state.backend()?;
    let caller = caller::identify(&backend, info, request.headers()).await?;
    if operation.is_change() {
        caller.may_change()?;
    }
    let bad_path = |_| Problem::bad_field("the path is not UTF-8: encode its parts in UTF-8");
    let params = params.map_err(bad_path)?;
    let query = request.uri().query().map(str::to_owned);
    let body = match operation.has_body() {
        true => body(state, request).await?,
        false => Bytes::new(),
    };
    let line = build_line(operation, &params, query.as_deref(), &body)?;
    match &line.request {
        // As those of /metrics.
        ProtocolRequest::Read(ReadRequest::Future) => caller.may_see_numbers()?,
        _ => caller.may_read()?,
    }
    let request = OneShotRequest {
        line,
        address: info.address,
        grant: caller.grant().cloned(),
    };
    let reply = backend.request(request).await?;
    check_reply(reply)
}

/// A change needs this type: a page of another site cannot send it without being asked.
fn require_json(headers: &HeaderMap) -> Result<(), Problem> {
    let kind = single_header(headers, CONTENT_TYPE)?.unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    match essence.eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => {
            let text = format!("Content-Type is {kind:?}: send application/json");
            Err(Problem::new(code::MEDIA_TYPE, text))
        }
    }
}

async fn body(state: &state::HttpState, request: Request) -> Result<Bytes, Problem> {
    require_json(request.headers())?;
    let most = state.configs.borrow().max_line_bytes;
    let body = to_bytes(request.into_body(), most).await;
    body.map_err(|_| too_long(&format!("more than {most}"), most))
}

/// Returns the line of the protocol that a request is. It is read like a line of a strict connection.
pub(super) fn build_line<'p>(
    operation: &Operation,
    params: impl IntoIterator<Item = (&'p str, &'p str)>,
    query: Option<&str>,
    body: &[u8],
) -> Result<Line, Problem> {
    let mut line = LineBuilder::new(operation.kind);
    let query = query::read(query, &operation.parameters())?;
    for (name, value) in params {
        let part = operation::path_parameter(name);
        let is_in_query = query.iter().any(|(other, _)| other.name == part.name);
        match (is_in_query, value) {
            (false, _) => line.add(part, value),
            (true, operation::IN_QUERY) => {}
            (true, _) => {
                let text = format!("{name} is in the path and in the query: write - in the path");
                return Err(Problem::bad_field(text));
            }
        }
    }
    for (parameter, value) in query {
        line.add(parameter, &value);
    }
    line.add_body(body, &operation.body_fields())?;
    let line = parse_strict(line.finish().as_bytes())?;
    match &line.request {
        // Only a connection has a route of its own.
        ProtocolRequest::Task(TaskRequest::Schedule(schedule)) if schedule.route.is_none() => {
            Err(Problem::of(
                Code::MissingField,
                "route_key is missing: give a string of 1 to 128 bytes",
            ))
        }
        _ => Ok(line),
    }
}

/// Returns the problem that a reply tells.
fn check_reply(reply: Reply) -> Result<Reply, Problem> {
    let not_found = |what: &str, route: &str, id: &str| {
        let text = format!("the route {route:?} has no {what} {id:?} (any more): check both names");
        Err(Problem::new(code::NOT_FOUND, text))
    };
    match &reply {
        Reply::Error(refusal) => Err(Refusal::clone(refusal).into()),
        Reply::Cancelled {
            id,
            route,
            found: false,
            ..
        }
        | Reply::Moved {
            id,
            route,
            found: false,
            ..
        } => not_found("task", route, id),
        Reply::Task {
            route,
            id,
            task: None,
        } => not_found("task", route, id),
        Reply::Kicked {
            id,
            route,
            found: false,
        }
        | Reply::Deleted {
            id,
            route,
            found: false,
        } => not_found("dead letter", route, id),
        Reply::Stopped { job, found: false } => {
            let text = format!("no job {job} is running (any more): GET /v1/jobs lists them");
            Err(Problem::new(code::NOT_FOUND, text))
        }
        _ => Ok(reply),
    }
}

/// The answer is the line that the reply is over TCP.
fn success(reply: &Reply) -> Response {
    let mut encoder = Encoder::of(Version::LATEST);
    let mut line = Vec::new();
    encoder.encode(reply, None, &mut line);
    (StatusCode::OK, [(CONTENT_TYPE, "application/json")], line).into_response()
}
