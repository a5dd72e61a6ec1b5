//! When a task is due: at a time, or after a delay.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::{
    Code,
    field::{EXACT, FieldError},
    request_fields::RequestFields,
    rfc_3339::in_both_forms,
    unix_time::{millis, shown},
};

/// When a task is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Due {
    /// At this time in Unix milliseconds, at most 2^53.
    At(u64),
    /// This many milliseconds after the scheduler takes the request, at most 2^53.
    After(u64),
}

impl Due {
    /// Returns the time in Unix milliseconds if the scheduler takes the request at `now`.
    #[must_use]
    pub const fn at(self, now: u64) -> u64 {
        match self {
            Self::At(at) => at,
            Self::After(delay_ms) => now.saturating_add(delay_ms),
        }
    }

    /// Returns the delay in milliseconds, if it is one.
    #[must_use]
    pub const fn delay_ms(self) -> Option<u64> {
        match self {
            Self::At(_) => None,
            Self::After(delay_ms) => Some(delay_ms),
        }
    }

    /// Refuses a time that is more than `most` milliseconds ahead of `now`, in Unix milliseconds.
    ///
    /// # Errors
    ///
    /// The error names the field, the value and the highest one.
    pub fn check(self, now: u64, most: u64) -> Result<(), String> {
        let latest = now.saturating_add(most);
        match self {
            Self::At(at) if at > latest => Err(time_too_far_ahead("fire_at", at, latest)),
            Self::After(delay_ms) if delay_ms > most => {
                Err(too_far_ahead("delay_ms", delay_ms, most))
            }
            _ => Ok(()),
        }
    }

    /// Reads `fire_at` or `delay_ms`, exactly one of them.
    pub(super) fn read(fields: &RequestFields<'_>) -> Result<Self, FieldError> {
        let (at_field, delay) = (fields.fire_at(), fields.delay_ms());
        let delay_ms = delay.number("milliseconds", 0..=EXACT)?;
        match (millis(at_field)?, delay_ms) {
            (Some(at), None) => Ok(Self::At(at)),
            (None, Some(delay_ms)) => Ok(Self::After(delay_ms)),
            (Some(at), Some(delay_ms)) => {
                let at = shown(at_field, at);
                let wanted = format!("give it or fire_at, which is {at}, but not both");
                Err(delay.bad(&delay_ms.to_string(), &wanted))
            }
            (None, None) => Err(FieldError {
                code: Code::MissingField,
                message:
                    "fire_at is missing: give it in Unix milliseconds or RFC 3339, or delay_ms \
                          in milliseconds from now"
                        .to_owned(),
            }),
        }
    }
}

/// Returns the message about a time in Unix milliseconds that is beyond `max_delay_days`. `latest` is
/// the latest one.
pub(super) fn time_too_far_ahead(field: &str, time: u64, latest: u64) -> String {
    too_far_ahead(field, in_both_forms(time), in_both_forms(latest))
}

/// Returns the message about a value that is beyond `max_delay_days`. `most` is the highest one.
pub(super) fn too_far_ahead(field: &str, value: impl Display, most: impl Display) -> String {
    format!("{field} is {value}, more than max_delay_days ahead: give at most {most}")
}
