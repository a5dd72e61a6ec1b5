//! Encodes requests like a client.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper_delay::protocol::{Line, Named, Request, Schedule};
use serde_json::{Value, json};

/// Returns the line without its end. An absent field is null.
pub(crate) fn encode(line: &Line) -> Vec<u8> {
    let mut object = match &line.request {
        Request::Hello { protocol } => json!({ "kind": "hello", "protocol": protocol }),
        Request::Register {
            route,
            credit,
            mode,
        } => {
            json!({ "kind": "register", "route_key": &**route, "credit": credit, "mode": mode.as_str() })
        }
        Request::Unregister { route } => json!({ "kind": "unregister", "route_key": &**route }),
        Request::Schedule(task) => schedule(task),
        Request::Ack { delivery, confirm } => named("ack", delivery, "confirm", json!(confirm)),
        Request::Nack { delivery, delay_ms } => {
            named("nack", delivery, "delay_ms", json!(delay_ms))
        }
        Request::Cancel { route, id } => {
            json!({ "kind": "cancel", "route_key": &**route, "id": &**id })
        }
        Request::Ping => json!({ "kind": "ping" }),
        Request::Stats { route, after } => {
            json!({ "kind": "stats", "route_key": route.as_deref(), "after": after.as_deref() })
        }
        Request::Dead {
            route,
            after,
            limit,
        } => {
            json!({ "kind": "dead", "route_key": &**route, "after": after.as_deref(), "limit": limit })
        }
        Request::Kick { route, id } => {
            json!({ "kind": "kick", "route_key": &**route, "id": &**id })
        }
    };
    object["tag"] = json!(line.tag.as_deref());
    object.to_string().into_bytes()
}

fn schedule(task: &Schedule) -> Value {
    json!({
        "kind": "schedule",
        "id": task.id.as_deref(),
        "route_key": task.route.as_deref(),
        "fire_at": task.fire_at,
        "compression": task.compression.as_str(),
        "payload_base64": STANDARD.encode(&task.payload),
        "replace": task.replace,
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
