//! Parses a line of a client.

mod admin;
mod read;
mod task;

use std::sync::Arc;

use super::{
    Credential, Line, Refusal, Request, SessionRequest, TaskRequest,
    field::{EXACT, Field, FieldError},
    request_fields::{OtherFields, RequestFields},
    request_kind::unknown_kind,
};

/// Parses a line without its end.
///
/// Ignores fields that the request does not have, whatever their values; a field that is `null` is
/// absent.
///
/// # Errors
///
/// A [`Refusal`] that names the cure, with those of id, route and tag that can be read.
pub fn parse(line: &[u8]) -> Result<Line, Refusal> {
    parse_with(line, OtherFields::Ignored)
}

/// Parses a line of a strict connection: like [`parse()`], but refuses fields that the request does
/// not have, even if they are `null`, and the registration of a route whose name ends with `*`.
///
/// # Errors
///
/// As [`parse()`].
pub fn parse_strict(line: &[u8]) -> Result<Line, Refusal> {
    parse_with(line, OtherFields::Refused)
}

fn parse_with(line: &[u8], other: OtherFields) -> Result<Line, Refusal> {
    let fields = RequestFields::read(line, other)
        .map_err(|fault| Refusal::new(fault.code, fault.message))?;
    read_line(&fields).map_err(|fault| into_refusal(&fields, fault))
}

fn read_line(fields: &RequestFields<'_>) -> Result<Line, FieldError> {
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
        Request::Session(SessionRequest::Auth) => {
            let token = field.credential()?;
            field.required(token, "a token").map(Some)
        }
        Request::Task(TaskRequest::Register { .. } | TaskRequest::Schedule(_)) => {
            field.credential()
        }
        _ => Ok(None),
    }
}

fn request(fields: &RequestFields<'_>) -> Result<Request, FieldError> {
    let kind = fields.kind().text()?;
    let kind = fields
        .kind()
        .required(kind, "the name of a request, such as \"schedule\"")?;
    fields.check_names(&kind)?;
    // The most frequent ones first.
    if let Some(request) = task::request(&kind, fields)? {
        return Ok(request.into());
    }
    if let Some(request) = read::request(&kind, fields)? {
        return Ok(request.into());
    }
    if let Some(request) = admin::request(&kind, fields)? {
        return Ok(request);
    }
    match &*kind {
        "hello" => {
            let what = "a protocol version";
            let protocol = fields.protocol().number(what, 1..=EXACT)?;
            let protocol = fields.protocol().required(protocol, what)?;
            let strict = fields.strict().flag()?;
            Ok(SessionRequest::Hello { protocol, strict }.into())
        }
        "auth" => Ok(SessionRequest::Auth.into()),
        other => Err(unknown_kind(other)),
    }
}

fn name(field: Field<'_>) -> Result<Arc<str>, FieldError> {
    field.required(field.name()?, "a string of 1 to 128 bytes")
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
