//! Encodes requests like a client.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper_delay::{
    access::Secret,
    protocol::{
        Accept, AdminRequest, BulkAct, BulkRequest, Compression, Due, Filter, Line, MoveTo, Named,
        ReadRequest, Request, Schedule, SessionRequest, State, TaskRequest,
    },
};
use serde_json::{Value, json};

/// Returns the line without its end. An absent field is null.
pub(crate) fn encode(of: &Line) -> Vec<u8> {
    let mut object = match &of.request {
        Request::Session(request) => session(request),
        Request::Task(request) => task(request),
        Request::Read(request) => read(request),
        Request::Admin(request) => admin(request),
    };
    object["tag"] = json!(of.tag.as_deref());
    if let Some(token) = &of.token {
        let text = token.secret().map(Secret::reveal);
        object["token"] = json!(text.unwrap_or_default());
    }
    let mut line = object.to_string();
    if let Request::Task(TaskRequest::Schedule(task)) = &of.request
        && !task.headers.text().is_empty()
    {
        // In their order, which an object of this library does not keep.
        line.insert_str(1, &format!("\"headers\":{},", task.headers.text()));
    }
    line.into_bytes()
}

fn session(request: &SessionRequest) -> Value {
    match request {
        SessionRequest::Auth => json!({ "kind": "auth" }),
        SessionRequest::Hello { protocol, strict } => {
            json!({ "kind": "hello", "protocol": protocol, "strict": strict })
        }
    }
}

fn task(request: &TaskRequest) -> Value {
    match request {
        TaskRequest::Register {
            route,
            credit,
            mode,
            accept,
        } => json!({
            "kind": "register",
            "route_key": &**route,
            "credit": credit,
            "mode": mode.as_str(),
            "accept": accept.map(accepted),
        }),
        TaskRequest::Unregister { route } => json!({ "kind": "unregister", "route_key": &**route }),
        TaskRequest::Schedule(task) => schedule(task),
        TaskRequest::Ack { delivery, confirm } => named("ack", delivery, "confirm", json!(confirm)),
        TaskRequest::Nack {
            delivery,
            delay_ms,
            reason,
            failed,
        } => {
            let mut nack = named("nack", delivery, "delay_ms", json!(delay_ms));
            nack["reason"] = json!(reason.as_deref());
            nack["failed"] = json!(failed);
            nack
        }
        TaskRequest::Touch {
            delivery,
            extend_ms,
        } => named("touch", delivery, "extend_ms", json!(extend_ms)),
        TaskRequest::Cancel { route, id } => {
            json!({ "kind": "cancel", "route_key": &**route, "id": &**id })
        }
        TaskRequest::Move { route, id, to } => match to {
            MoveTo::Now => json!({ "kind": "run_now", "route_key": &**route, "id": &**id }),
            MoveTo::At(due) => json!({
                "kind": "reschedule",
                "route_key": &**route,
                "id": &**id,
                "due": due,
            }),
        },
        TaskRequest::Ping => json!({ "kind": "ping" }),
    }
}

fn read(request: &ReadRequest) -> Value {
    match request {
        ReadRequest::Stats { route, after } => {
            json!({ "kind": "stats", "route_key": route.as_deref(), "after": after.as_deref() })
        }
        ReadRequest::Dead {
            route,
            after,
            limit,
            filter,
            payload,
        } => with_filter(
            json!({
                "kind": "dead",
                "route_key": &**route,
                "after": after.as_deref(),
                "limit": limit,
                "payload": payload,
            }),
            filter,
        ),
        ReadRequest::Get { route, id, payload } => {
            json!({ "kind": "get", "route_key": &**route, "id": &**id, "payload": payload })
        }
        ReadRequest::List(list) => with_filter(
            json!({
                "kind": "list",
                "route_key": list.route.as_deref(),
                "state": list.state.map(State::as_str),
                "after": list.after.as_deref(),
                "limit": list.limit,
                "payload": list.payload,
            }),
            &list.filter,
        ),
        ReadRequest::Future => json!({ "kind": "future" }),
        ReadRequest::Jobs => json!({ "kind": "jobs" }),
        ReadRequest::Audit { before, limit } => {
            json!({ "kind": "audit", "before": before, "limit": limit })
        }
        ReadRequest::Reasons {
            route,
            state,
            after,
        } => json!({
            "kind": "reasons",
            "route_key": route.as_deref(),
            "state": state.as_str(),
            "after": after.as_deref(),
        }),
        ReadRequest::Count(of) => bulk(of, true),
        ReadRequest::Backup { offset } => json!({ "kind": "backup", "offset": offset }),
    }
}

fn admin(request: &AdminRequest) -> Value {
    match request {
        AdminRequest::Kick { route, id } => {
            json!({ "kind": "kick", "route_key": &**route, "id": &**id })
        }
        AdminRequest::Delete { route, id } => {
            json!({ "kind": "delete", "route_key": &**route, "id": &**id })
        }
        AdminRequest::Bulk(of) => bulk(of, false),
        AdminRequest::Pause { route } => json!({ "kind": "pause", "route_key": &**route }),
        AdminRequest::Resume { route } => json!({ "kind": "resume", "route_key": &**route }),
        AdminRequest::Stop { job } => json!({ "kind": "stop", "job": job }),
    }
}

fn bulk(bulk: &BulkRequest, dry_run: bool) -> Value {
    let mut object = json!({
        "kind": bulk.act.as_str(),
        "route_key": &*bulk.route,
        "dry_run": dry_run,
    });
    if bulk.act == BulkAct::Purge {
        object["in_flight"] = json!(bulk.in_flight);
        return object;
    }
    if let Some(moves) = bulk.act.task_move() {
        object["state"] = json!(moves.state.map(State::as_str));
        if bulk.act.as_str() == "reschedule_all" {
            object["due"] = json!(moves.due());
            object["shift_ms"] = json!(moves.shift_ms());
        }
    }
    with_filter(object, &bulk.filter)
}

fn with_filter(mut object: Value, filter: &Filter) -> Value {
    object["reason"] = json!(filter.reason.as_deref());
    object["from"] = json!(filter.from);
    object["until"] = json!(filter.until);
    object
}

fn accepted(accept: Accept) -> Vec<&'static str> {
    let all = Compression::ALL.into_iter();
    let listed = all.filter(|compression| accept.takes(*compression));
    listed.map(Compression::as_str).collect()
}

fn schedule(task: &Schedule) -> Value {
    let terms = task.terms.as_deref().copied().unwrap_or_default();
    json!({
        "kind": "schedule",
        "id": task.id.as_deref(),
        "route_key": task.route.as_deref(),
        "fire_at": match task.due {
            Due::At(fire_at) => Some(fire_at),
            Due::After(_) => None,
        },
        "delay_ms": task.due.delay_ms(),
        "compression": task.compression.as_str(),
        "payload_base64": STANDARD.encode(&task.payload),
        "replace": task.replace,
        "expires_at": terms.expires_at,
        "ack_timeout_ms": terms.ack_timeout_ms,
        "max_attempts": terms.max_attempts,
        "retry_delay_ms": terms.retry_delay_ms,
        "max_retry_delay_ms": terms.max_retry_delay_ms,
    })
}

fn named(kind: &str, delivery: &Named, field: &str, value: Value) -> Value {
    json!({
        "kind": kind,
        "id": &*delivery.id,
        "route_key": delivery.route.as_deref(),
        "attempt": delivery.attempt,
        field: value,
    })
}
