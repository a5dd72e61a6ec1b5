//! Parses the requests that the scheduler takes.

use std::sync::Arc;

use super::name;
use crate::{
    Accept, Code, Compression, DeliverySelector, Due, Headers, MoveTo, RegisterMode, Schedule,
    TaskRequest, Terms,
    field::{EXACT, Field, FieldError},
    payload,
    request_fields::RequestFields,
    terms::DAY_MS,
    unix_time::due_time,
};

/// The longest reason of a nack, in bytes.
const REASON: usize = 256;

/// Reads a request of this kind. Returns `None` if the kind is another one.
pub(super) fn request(
    kind: &str,
    fields: &RequestFields<'_>,
) -> Result<Option<TaskRequest>, FieldError> {
    Ok(Some(match kind {
        "schedule" => TaskRequest::Schedule(schedule(fields)?),
        "ack" => TaskRequest::Ack {
            delivery: delivery(fields)?,
            confirm: fields.confirm().flag()?,
        },
        "nack" => TaskRequest::Nack {
            delivery: delivery(fields)?,
            delay_ms: fields.delay_ms().number("milliseconds", 0..=EXACT)?,
            reason: reason(fields.reason())?,
            failed: fields.failed().flag_or(true)?,
        },
        "touch" => TaskRequest::Touch {
            delivery: delivery(fields)?,
            extend_ms: fields.extend_ms().number("milliseconds", 1..=DAY_MS)?,
        },
        "register" => TaskRequest::Register {
            route: registered_route(fields)?,
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
        "unregister" => TaskRequest::Unregister {
            route: name(fields.route_key())?,
        },
        "cancel" => TaskRequest::Cancel {
            route: name(fields.route_key())?,
            id: name(fields.id())?,
        },
        "run_now" => TaskRequest::Move {
            route: name(fields.route_key())?,
            id: name(fields.id())?,
            to: MoveTo::Now,
        },
        "reschedule" => TaskRequest::Move {
            route: name(fields.route_key())?,
            id: name(fields.id())?,
            to: MoveTo::At(due_time(fields.due())?),
        },
        "ping" => TaskRequest::Ping,
        _ => return Ok(None),
    }))
}

/// Reads the route of a registration. A `*` at its end is part of its name. A strict connection is
/// refused instead, as most people mean a prefix.
fn registered_route(fields: &RequestFields<'_>) -> Result<Arc<str>, FieldError> {
    let route = name(fields.route_key())?;
    match fields.is_strict() && route.ends_with('*') {
        true => Err(fields.route_key().bad(
            &format!("{route:?}"),
            "* is a prefix only in tokens and in the configuration; register each route by its \
             whole name",
        )),
        false => Ok(route),
    }
}

fn schedule(fields: &RequestFields<'_>) -> Result<Schedule, FieldError> {
    let due = Due::read(fields)?;
    Ok(Schedule {
        id: fields.id().name()?,
        route: fields.route_key().name()?,
        due,
        compression: fields
            .compression()
            .one_of(&Compression::ALL, Compression::as_str)?
            .unwrap_or_default(),
        replace: fields.replace().flag()?,
        headers: Headers::read(fields.headers())?,
        terms: Terms::read(fields, due)?,
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
