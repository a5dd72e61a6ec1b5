//! Times in Unix milliseconds or RFC 3339. A client that gives seconds instead gets a refusal.

use serde_json::value::RawValue;

use crate::{
    field::{EXACT, Field, FieldError, clipped, number, text},
    rfc_3339::{begins_with_year, parse_rfc_3339},
};

/// Times that are taken for Unix seconds: 1973 to 5138 in seconds, the first three years after 1970
/// in milliseconds.
const SECONDS: std::ops::RangeInclusive<u64> = 100_000_000..=99_999_999_999;

/// The forms of a time.
const FORMS: &str = "give Unix milliseconds from 0 to 2^53, as a whole number, or a time in RFC 3339 \
    such as \"2030-01-31T08:00:00Z\"";

/// Reads the time to which a task is moved.
pub(super) fn due_time(field: Field<'_>) -> Result<u64, FieldError> {
    let wanted = "Unix milliseconds, or a time in RFC 3339 such as \"2030-01-31T08:00:00Z\"";
    field.required(millis(field)?, wanted)
}

/// Reads a time of a task. Refuses what looks like Unix seconds.
pub(super) fn millis(field: Field<'_>) -> Result<Option<u64>, FieldError> {
    let millis = time(field)?;
    match millis.filter(|millis| SECONDS.contains(millis)) {
        Some(seconds) => Err(seconds_refused(field, seconds)),
        None => Ok(millis),
    }
}

/// Reads a time: a whole number or its digits in a string, or RFC 3339. Returns Unix milliseconds.
pub(super) fn time(field: Field<'_>) -> Result<Option<u64>, FieldError> {
    field.read(|raw| {
        let text = text(raw);
        let digits = text.as_deref().unwrap_or(raw);
        if let Some(millis) = number(digits, &(0..=EXACT)) {
            return Ok(millis);
        }
        match text.filter(|text| begins_with_year(text)) {
            Some(text) => parse_rfc_3339(&text).map_err(|error| field.bad(raw, &error.to_string())),
            None => Err(field.bad(raw, FORMS)),
        }
    })
}

/// Returns the value of a field that [`time`] has read, as an error message shows it: a time in
/// RFC 3339 as it was written.
pub(super) fn shown(field: Field<'_>, millis: u64) -> String {
    in_rfc_3339(field).map_or_else(|| millis.to_string(), |raw| clipped(raw).into_owned())
}

/// Returns the value of a field that is a time in RFC 3339.
fn in_rfc_3339(field: Field<'_>) -> Option<&str> {
    field.raw.map(RawValue::get).filter(|raw| raw.contains(':'))
}

fn seconds_refused(field: Field<'_>, millis: u64) -> FieldError {
    match in_rfc_3339(field) {
        // An export has it in milliseconds, which could not be scheduled again.
        Some(time) => field.bad(
            time,
            "give a time from 1973-03-03T09:46:40Z on, or 0 for now; the milliseconds of earlier \
             ones look like Unix seconds",
        ),
        None => field.bad(
            &millis.to_string(),
            "this looks like Unix seconds; multiply it by 1000 to give Unix milliseconds",
        ),
    }
}
