//! Parses a line of a client.

use std::sync::Arc;

use super::{
    Code, Compression, Line, Mode, Named, Refusal, Request, Schedule,
    field::{EXACT, Fault, Field, clipped},
    fields::Fields,
    payload,
};

/// The default `limit` of `dead`.
const LIMIT: u64 = 100;

/// Times that are taken for Unix seconds: 1973 to 5138 in seconds, the first three years after 1970
/// in milliseconds.
const SECONDS: std::ops::RangeInclusive<u64> = 100_000_000..=99_999_999_999;

/// Parses a line without its end.
///
/// Ignores fields that the request does not have, whatever their values; a field that is `null` is
/// absent.
///
/// # Errors
///
/// A [`Refusal`] that names the cure, with those of id, route and tag that can be read.
pub fn parse(line: &[u8]) -> Result<Line, Refusal> {
    let fields = Fields::read(line).map_err(|fault| Refusal::new(fault.code, fault.message))?;
    read(&fields).map_err(|fault| refused(&fields, fault))
}

fn read(fields: &Fields<'_>) -> Result<Line, Fault> {
    Ok(Line {
        tag: fields.tag().tag()?,
        request: request(fields)?,
    })
}

fn request(fields: &Fields<'_>) -> Result<Request, Fault> {
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
        "schedule" => Request::Schedule(schedule(fields)?),
        "ack" => Request::Ack {
            delivery: named(fields)?,
            confirm: fields.confirm().flag()?,
        },
        "nack" => Request::Nack {
            delivery: named(fields)?,
            delay_ms: fields.delay_ms().number("milliseconds", 0..=EXACT)?,
        },
        "register" => Request::Register {
            route: name(fields.route_key())?,
            credit: small(fields.credit().number("deliveries", 1..=u16::MAX.into())?),
            mode: fields
                .mode()
                .one_of(&[Mode::Shared, Mode::Exclusive], Mode::as_str)?
                .unwrap_or_default(),
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
            limit: {
                let limit = fields.limit().number("a number of tasks", 1..=1_000)?;
                small(limit.or(Some(LIMIT))).expect("the limit has a default")
            },
        },
        "kick" => Request::Kick {
            route: name(fields.route_key())?,
            id: name(fields.id())?,
        },
        other => return Err(unknown(other)),
    })
}

fn schedule(fields: &Fields<'_>) -> Result<Schedule, Fault> {
    let fire_at = fire_at(fields.fire_at())?;
    Ok(Schedule {
        id: fields.id().name()?,
        route: fields.route_key().name()?,
        fire_at,
        compression: fields
            .compression()
            .one_of(
                &[Compression::None, Compression::Lz4, Compression::Zstd],
                Compression::as_str,
            )?
            .unwrap_or_default(),
        replace: fields.replace().flag()?,
        payload: match fields.payload_base64().text()? {
            Some(text) => payload::decode(&text).map_err(|error| bad_base64(&text, &error))?,
            None => Box::default(),
        },
    })
}

fn fire_at(field: Field<'_>) -> Result<u64, Fault> {
    let what = "Unix milliseconds";
    let millis = field.required(field.number_or_text(what, 0..=EXACT)?, what)?;
    if SECONDS.contains(&millis) {
        let cure = "this looks like Unix seconds; multiply it by 1000 to give Unix milliseconds";
        return Err(field.bad(&millis.to_string(), cure));
    }
    Ok(millis)
}

fn named(fields: &Fields<'_>) -> Result<Named, Fault> {
    let attempt = fields
        .attempt()
        .number("the attempt of the delivery", 1..=u32::MAX.into())?;
    Ok(Named {
        id: name(fields.id())?,
        route: fields.route_key().name()?,
        attempt: attempt.map(|attempt| u32::try_from(attempt).expect("the range fits")),
    })
}

fn name(field: Field<'_>) -> Result<Arc<str>, Fault> {
    field.required(field.name()?, "a string of 1 to 128 bytes")
}

fn small(number: Option<u64>) -> Option<u16> {
    number.map(|number| u16::try_from(number).expect("the range fits"))
}

fn bad_base64(text: &str, error: &str) -> Fault {
    Fault {
        code: Code::BadBase64,
        message: format!(
            "payload_base64 is \"{}\", {error}: give base64 with the standard alphabet",
            clipped(text)
        ),
    }
}

fn unknown(kind: &str) -> Fault {
    Fault {
        code: Code::UnknownKind,
        message: format!(
            "kind is \"{}\": give hello, register, unregister, schedule, ack, nack, cancel, ping, stats, dead or kick",
            clipped(kind)
        ),
    }
}

/// Adds the names that can be read to the error. Reads the fields again: errors are rare.
fn refused(fields: &Fields<'_>, fault: Fault) -> Refusal {
    let Fault { code, message } = fault;
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
