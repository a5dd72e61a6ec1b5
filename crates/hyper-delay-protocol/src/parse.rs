//! Parses a line of a client.

use std::sync::Arc;

use super::{
    Accept, BulkAct, BulkRequest, Code, Compression, Credential, DeliverySelector, Filter, Headers,
    Line, ListRequest, Refusal, RegisterMode, Request, Schedule, Terms,
    field::{EXACT, Field, FieldError, clipped},
    operator_requests, payload,
    request_fields::RequestFields,
    task_queries,
    terms::DAY_MS,
    unix_time::fire_at,
};

/// The longest reason of a nack, in bytes.
const REASON: usize = 256;

/// Parses a line without its end.
///
/// Ignores fields that the request does not have, whatever their values; a field that is `null` is
/// absent.
///
/// # Errors
///
/// A [`Refusal`] that names the cure, with those of id, route and tag that can be read.
pub fn parse(line: &[u8]) -> Result<Line, Refusal> {
    let fields =
        RequestFields::read(line).map_err(|fault| Refusal::new(fault.code, fault.message))?;
    read(&fields).map_err(|fault| into_refusal(&fields, fault))
}

fn read(fields: &RequestFields<'_>) -> Result<Line, FieldError> {
    let tag = fields.tag().tag()?;
    let request = request(fields)?;
    Ok(Line {
        tag,
        token: token(fields, &request)?,
        request,
    })
}

fn token(
    fields: &RequestFields<'_>,
    request: &Request,
) -> Result<Option<Box<Credential>>, FieldError> {
    let field = fields.token();
    match request {
        Request::Auth => {
            let token = field.credential()?;
            field.required(token, "a token").map(Some)
        }
        Request::Register { .. } | Request::Schedule(_) => field.credential(),
        _ => Ok(None),
    }
}

fn request(fields: &RequestFields<'_>) -> Result<Request, FieldError> {
    let kind = fields.kind().text()?;
    let kind = fields
        .kind()
        .required(kind, "the name of a request, such as \"schedule\"")?;
    Ok(match &*kind {
        "hello" => Request::Hello {
            protocol: {
                let what = "a protocol version";
                let protocol = fields.protocol().number(what, 1..=EXACT)?;
                fields.protocol().required(protocol, what)?
            },
        },
        "auth" => Request::Auth,
        "schedule" => Request::Schedule(schedule(fields)?),
        "ack" => Request::Ack {
            delivery: delivery(fields)?,
            confirm: fields.confirm().flag()?,
        },
        "nack" => Request::Nack {
            delivery: delivery(fields)?,
            delay_ms: fields.delay_ms().number("milliseconds", 0..=EXACT)?,
            reason: reason(fields.reason())?,
            failed: fields.failed().flag_or(true)?,
        },
        "touch" => Request::Touch {
            delivery: delivery(fields)?,
            extend_ms: fields.extend_ms().number("milliseconds", 1..=DAY_MS)?,
        },
        "register" => Request::Register {
            route: name(fields.route_key())?,
            credit: to_u16(fields.credit().number("deliveries", 1..=u16::MAX.into())?),
            mode: fields
                .mode()
                .one_of(
                    &[RegisterMode::Shared, RegisterMode::Exclusive],
                    RegisterMode::as_str,
                )?
                .unwrap_or_default(),
            accept: fields
                .accept()
                .list_of(&Compression::ALL, Compression::as_str)?
                .map(|listed| Accept::only(&listed)),
        },
        "unregister" => Request::Unregister {
            route: name(fields.route_key())?,
        },
        "cancel" => Request::Cancel {
            route: name(fields.route_key())?,
            id: name(fields.id())?,
        },
        "ping" => Request::Ping,
        "stats" => Request::Stats {
            route: fields.route_key().name()?,
            after: fields.after().name()?,
        },
        "dead" => Request::Dead {
            route: name(fields.route_key())?,
            after: fields.after().name()?,
            limit: task_queries::limit(fields)?,
            filter: Box::new(Filter::read(fields)?),
            payload: fields.payload().flag()?,
        },
        "get" => Request::Get {
            route: name(fields.route_key())?,
            id: name(fields.id())?,
            payload: fields.payload().flag()?,
        },
        "list" => Request::List(Box::new(ListRequest::read(fields)?)),
        "future" => Request::Future,
        "kick" => Request::Kick {
            route: name(fields.route_key())?,
            id: name(fields.id())?,
        },
        "delete" => Request::Delete {
            route: name(fields.route_key())?,
            id: name(fields.id())?,
        },
        "kick_all" => bulk(BulkAct::Kick, fields)?,
        "delete_all" => bulk(BulkAct::Delete, fields)?,
        "purge" => bulk(BulkAct::Purge, fields)?,
        "pause" => Request::Pause {
            route: name(fields.route_key())?,
        },
        "resume" => Request::Resume {
            route: name(fields.route_key())?,
        },
        "jobs" => Request::Jobs,
        "stop" => Request::Stop {
            job: operator_requests::job(fields)?,
        },
        "audit" => Request::Audit {
            before: fields.before().number("the number of a line", 1..=EXACT)?,
            limit: task_queries::limit(fields)?,
        },
        "reasons" => Request::Reasons {
            route: fields.route_key().name()?,
            after: task_queries::cursor(fields)?,
        },
        "backup" => Request::Backup {
            offset: fields
                .offset()
                .number("a position in the backup", 0..=EXACT)?
                .unwrap_or_default(),
        },
        other => return Err(unknown_kind(other)),
    })
}

fn bulk(act: BulkAct, fields: &RequestFields<'_>) -> Result<Request, FieldError> {
    let route = name(fields.route_key())?;
    let bulk = BulkRequest::read(act, route, fields)?;
    Ok(Request::Bulk(Box::new(bulk)))
}

fn schedule(fields: &RequestFields<'_>) -> Result<Schedule, FieldError> {
    let fire_at = fire_at(fields.fire_at())?;
    Ok(Schedule {
        id: fields.id().name()?,
        route: fields.route_key().name()?,
        fire_at,
        compression: fields
            .compression()
            .one_of(&Compression::ALL, Compression::as_str)?
            .unwrap_or_default(),
        replace: fields.replace().flag()?,
        headers: Headers::read(fields.headers())?,
        terms: Terms::read(fields, fire_at)?,
        payload: match fields.payload_base64().payload()? {
            Some(text) => payload::decode(&text).map_err(|error| bad_base64(&text, &error))?,
            None => Box::default(),
        },
    })
}

fn delivery(fields: &RequestFields<'_>) -> Result<DeliverySelector, FieldError> {
    let attempt = fields
        .attempt()
        .number("the attempt of the delivery", 1..=u32::MAX.into())?;
    Ok(DeliverySelector {
        id: name(fields.id())?,
        route: fields.route_key().name()?,
        attempt: attempt.map(|attempt| u32::try_from(attempt).expect("the range fits")),
    })
}

/// Reads why a delivery is given back. An empty reason is none.
fn reason(field: Field<'_>) -> Result<Option<Arc<str>>, FieldError> {
    let reason = field.text()?.filter(|reason| !reason.is_empty());
    if let Some(reason) = reason.as_ref().filter(|reason| reason.len() > REASON) {
        let wanted = format!("give a string of at most {REASON} bytes");
        return Err(field.bad(&format!("{reason:?}"), &wanted));
    }
    Ok(reason.map(Arc::from))
}

fn name(field: Field<'_>) -> Result<Arc<str>, FieldError> {
    field.required(field.name()?, "a string of 1 to 128 bytes")
}

fn to_u16(number: Option<u64>) -> Option<u16> {
    number.map(|number| u16::try_from(number).expect("the range fits"))
}

/// The error for a text that is no base64. It contains no more of the payload than a character.
fn bad_base64(text: &str, error: &str) -> FieldError {
    FieldError {
        code: Code::BadBase64,
        message: format!(
            "payload_base64 is a string of {} bytes, {error}: give base64 with the standard alphabet",
            text.len()
        ),
    }
}

fn unknown_kind(kind: &str) -> FieldError {
    FieldError {
        code: Code::UnknownKind,
        message: format!(
            "kind is \"{}\": give auth, hello, register, unregister, schedule, ack, nack, touch, \
             cancel, ping, stats, get, list, future, dead, reasons, kick, delete, kick_all, \
             delete_all, purge, pause, resume, jobs, stop, audit or backup",
            clipped(kind)
        ),
    }
}

/// Adds the names that can be read to the error. Reads the fields again: errors are rare.
fn into_refusal(fields: &RequestFields<'_>, fault: FieldError) -> Refusal {
    let FieldError { code, message } = fault;
    Refusal {
        code,
        message,
        id: fields.id().name().unwrap_or_default(),
        route: fields.route_key().name().unwrap_or_default(),
        tag: fields.tag().tag().unwrap_or_default(),
        line: None,
    }
}

#[cfg(test)]
mod tests;
