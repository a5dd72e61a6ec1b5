//! The kinds of requests, with the fields that each has.

use crate::{
    Code,
    field::{FieldError, clipped},
    field_name::{FieldName, FieldSet},
};

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestKind {
    name: &'static str,
    /// Its fields besides `kind` and `tag`, which every request can have.
    fields: &'static [FieldName],
    allowed: FieldSet,
}

/// The fields of every request.
const OF_ALL: FieldSet = FieldSet::of(&[FieldName::Kind, FieldName::Tag]);

const fn kind(name: &'static str, fields: &'static [FieldName]) -> RequestKind {
    let mut allowed = OF_ALL;
    let mut index = 0;
    while index < fields.len() {
        allowed = allowed.with(fields[index]);
        index += 1;
    }
    RequestKind {
        name,
        fields,
        allowed,
    }
}

impl RequestKind {
    /// Every kind, in the order of error messages.
    pub const ALL: &'static [Self] = &{
        use FieldName::*;
        [
            kind("auth", &[Token]),
            kind("hello", &[Protocol, Strict]),
            kind("register", &[RouteKey, Credit, Mode, Accept, Token]),
            kind("unregister", &[RouteKey]),
            kind(
                "schedule",
                &[
                    Id,
                    RouteKey,
                    FireAt,
                    DelayMs,
                    PayloadBase64,
                    Compression,
                    Replace,
                    Headers,
                    ExpiresAt,
                    AckTimeoutMs,
                    MaxAttempts,
                    RetryDelayMs,
                    MaxRetryDelayMs,
                    Token,
                ],
            ),
            kind("ack", &[Id, RouteKey, Attempt, Confirm]),
            kind("nack", &[Id, RouteKey, Attempt, DelayMs, Reason, Failed]),
            kind("touch", &[Id, RouteKey, Attempt, ExtendMs]),
            kind("cancel", &[Id, RouteKey]),
            kind("run_now", &[Id, RouteKey]),
            kind("reschedule", &[Id, RouteKey, Due]),
            kind("ping", &[]),
            kind("stats", &[RouteKey, After]),
            kind("get", &[Id, RouteKey, Payload]),
            kind(
                "list",
                &[RouteKey, State, Reason, From, Until, Limit, After, Payload],
            ),
            kind("future", &[]),
            kind(
                "dead",
                &[RouteKey, Reason, From, Until, Limit, After, Payload],
            ),
            kind("reasons", &[RouteKey, State, After]),
            kind("kick", &[Id, RouteKey]),
            kind("delete", &[Id, RouteKey]),
            kind("kick_all", &[RouteKey, Reason, From, Until, DryRun]),
            kind("delete_all", &[RouteKey, Reason, From, Until, DryRun]),
            kind("purge", &[RouteKey, InFlight, DryRun]),
            kind(
                "run_now_all",
                &[RouteKey, State, Reason, From, Until, DryRun],
            ),
            kind(
                "reschedule_all",
                &[RouteKey, Due, ShiftMs, State, Reason, From, Until, DryRun],
            ),
            kind("pause", &[RouteKey]),
            kind("resume", &[RouteKey]),
            kind("jobs", &[]),
            kind("stop", &[Job]),
            kind("audit", &[Before, Limit]),
            kind("backup", &[Offset]),
        ]
    };

    /// Returns the kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|kind| kind.name == name)
    }

    /// Returns its name on the wire.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the names of its fields, besides `kind` and `tag`, which every request can have.
    pub fn fields(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|field| field.as_str())
    }

    /// Checks that a request of this kind has no other fields.
    ///
    /// # Errors
    ///
    /// `bad_field` names the first other field: `unknown`, or one of `seen`.
    pub(crate) fn check(&self, seen: FieldSet, unknown: Option<&str>) -> Result<(), FieldError> {
        let beyond = seen.first_beyond(self.allowed).map(FieldName::as_str);
        let Some(other) = unknown.or(beyond) else {
            return Ok(());
        };
        let fields: Vec<_> = self.fields().chain(["tag"]).collect();
        Err(FieldError {
            code: Code::BadField,
            message: format!(
                "{} has no field {}: give only {}",
                self.name,
                clipped(&format!("{other:?}")),
                fields.join(", ")
            ),
        })
    }
}

/// The error for a kind that does not exist.
pub(crate) fn unknown_kind(name: &str) -> FieldError {
    let names: Vec<_> = RequestKind::ALL.iter().map(|kind| kind.name).collect();
    let (last, others) = names.split_last().expect("there are kinds");
    FieldError {
        code: Code::UnknownKind,
        message: format!(
            "kind is \"{}\": give {} or {last}",
            clipped(name),
            others.join(", ")
        ),
    }
}
