//! The operations, and the requests of the protocol that they are.

use axum::routing::MethodFilter;

use super::query::{Parameter, ParameterKind};
use hyper_delay_protocol::RequestKind;

/// An operation: a method on a path.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// The kind of the request.
    pub(super) kind: &'static str,
    pub(super) query: &'static [Parameter],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Post,
    Delete,
}

impl Operation {
    pub(super) const fn filter(&self) -> MethodFilter {
        match self.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Delete => MethodFilter::DELETE,
        }
    }

    /// Whether it changes something.
    pub(super) const fn is_change(&self) -> bool {
        !matches!(self.method, Method::Get)
    }

    /// The parameters that are parts of its path.
    pub(super) fn path_parameters(&self) -> impl Iterator<Item = Parameter> {
        let parts = self.path.split('/');
        let names = parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        names.map(path_parameter)
    }

    /// The parameters that its query may have: its own, and each name that is part of its path.
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let named = self.path_parameters();
        let named = named.filter(|part| part.kind == ParameterKind::Text);
        self.query.iter().copied().chain(named).collect()
    }

    /// The fields that its body may have: those of the request that are not in its path. The token
    /// is in a header.
    pub(super) fn body_fields(&self) -> Vec<&'static str> {
        if !self.has_body() {
            return Vec::new();
        }
        let kind = RequestKind::named(self.kind).expect("an operation is a request");
        let is_elsewhere = |field: &&str| {
            *field == "token" || self.path_parameters().any(|part| part.field == *field)
        };
        kind.fields().filter(|field| !is_elsewhere(field)).collect()
    }

    /// Whether it has a body.
    pub(super) const fn has_body(&self) -> bool {
        matches!(self.method, Method::Post)
    }
}

const fn get(path: &'static str, kind: &'static str, query: &'static [Parameter]) -> Operation {
    Operation {
        method: Method::Get,
        path,
        kind,
        query,
    }
}

const fn post(path: &'static str, kind: &'static str) -> Operation {
    Operation {
        method: Method::Post,
        path,
        kind,
        query: &[],
    }
}

const fn delete(path: &'static str, kind: &'static str) -> Operation {
    Operation {
        method: Method::Delete,
        path,
        kind,
        query: &[],
    }
}

pub(super) const fn text(name: &'static str, field: &'static str) -> Parameter {
    let kind = ParameterKind::Text;
    Parameter { name, field, kind }
}

const fn number(name: &'static str) -> Parameter {
    let (field, kind) = (name, ParameterKind::Number);
    Parameter { name, field, kind }
}

const fn flag(name: &'static str) -> Parameter {
    let (field, kind) = (name, ParameterKind::Flag);
    Parameter { name, field, kind }
}

const AFTER: Parameter = text("after", "after");
const BEFORE: Parameter = number("before");
const FROM: Parameter = number("from");
const LIMIT: Parameter = number("limit");
const PAYLOAD: Parameter = flag("payload");
const REASON: Parameter = text("reason", "reason");
const ROUTE: Parameter = text("route", "route_key");
const STATE: Parameter = text("state", "state");
const UNTIL: Parameter = number("until");

/// The part of a path whose value is in the query. Clients take the parts `.` and `..` out of a
/// path, however they are encoded, so routes and ids of these names cannot be in it.
pub(super) const IN_QUERY: &str = "-";

/// The field that a part of a path becomes.
pub(super) const fn path_parameter(name: &str) -> Parameter {
    match name.as_bytes() {
        b"route" => ROUTE,
        b"job" => number("job"),
        _ => text("id", "id"),
    }
}

/// All operations whose answers are replies of the protocol.
pub(super) static OPERATIONS: &[Operation] = &[
    post("/v1/tasks", "schedule"),
    get(
        "/v1/tasks",
        "list",
        &[ROUTE, STATE, REASON, FROM, UNTIL, LIMIT, AFTER, PAYLOAD],
    ),
    get("/v1/tasks/{route}/{id}", "get", &[PAYLOAD]),
    delete("/v1/tasks/{route}/{id}", "cancel"),
    get(
        "/v1/dead/{route}",
        "dead",
        &[REASON, FROM, UNTIL, LIMIT, AFTER, PAYLOAD],
    ),
    // Clients take a part `.` out of a path before they send it. These paths are their own, so that
    // the path of one dead letter with the id `.` does not become that of all.
    post("/v1/bulk/{route}/kick", "kick_all"),
    post("/v1/bulk/{route}/delete", "delete_all"),
    post("/v1/dead/{route}/{id}/kick", "kick"),
    post("/v1/dead/{route}/{id}/delete", "delete"),
    get("/v1/reasons", "reasons", &[ROUTE, STATE, AFTER]),
    get("/v1/routes", "stats", &[ROUTE, AFTER]),
    post("/v1/routes/{route}/pause", "pause"),
    post("/v1/routes/{route}/resume", "resume"),
    post("/v1/routes/{route}/purge", "purge"),
    get("/v1/future", "future", &[]),
    get("/v1/jobs", "jobs", &[]),
    post("/v1/jobs/{job}/stop", "stop"),
    get("/v1/audit", "audit", &[BEFORE, LIMIT]),
    // At the end: the corpus of the fuzz target names operations by their number.
    post("/v1/tasks/{route}/{id}/run_now", "run_now"),
    post("/v1/tasks/{route}/{id}/reschedule", "reschedule"),
    post("/v1/bulk/{route}/run_now", "run_now_all"),
    post("/v1/bulk/{route}/reschedule", "reschedule_all"),
];
