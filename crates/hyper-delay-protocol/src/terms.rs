//! Settings of one task, which override those of its route and of the server.

use std::io;

use serde::Serialize;

use super::{
    Due,
    field::FieldError,
    json_writer::JsonWriter,
    request_fields::RequestFields,
    unix_time::{millis, shown},
};

/// The longest time to answer, in milliseconds.
pub(super) const DAY_MS: u64 = 86_400_000;

/// Settings of one task, which override those of its route and of the server. `None`: the
/// setting applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Terms {
    /// The task is removed at this time if it is not done by then, in Unix milliseconds, later than
    /// its due time and at most 2^53. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// The time that a consumer has for its ack, in milliseconds: 1 to a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_timeout_ms: Option<u64>,
    /// The failed rounds after which the task is a dead letter, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// The wait after the first failed round, in milliseconds: 1 to a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_delay_ms: Option<u64>,
    /// The longest wait after a failed round, in milliseconds: 1 to a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retry_delay_ms: Option<u64>,
}

impl Terms {
    /// Returns these terms, with the fields of `other` where these have none. A first wait of these
    /// raises the longest wait of `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            expires_at: self.expires_at.or(other.expires_at),
            ack_timeout_ms: self.ack_timeout_ms.or(other.ack_timeout_ms),
            max_attempts: self.max_attempts.or(other.max_attempts),
            retry_delay_ms: self.retry_delay_ms.or(other.retry_delay_ms),
            max_retry_delay_ms: self.max_retry_delay_ms.or_else(|| {
                let first = self.retry_delay_ms.unwrap_or(0);
                other.max_retry_delay_ms.map(|longest| longest.max(first))
            }),
        }
    }

    /// Reads the terms of a task. `None` if it has none. The scheduler compares the expiry with the
    /// end of a delay.
    pub(super) fn read(
        fields: &RequestFields<'_>,
        due: Due,
    ) -> Result<Option<Box<Self>>, FieldError> {
        if !fields.has_terms() {
            return Ok(None);
        }
        let ms = "milliseconds";
        let attempts = fields
            .max_attempts()
            .number("a number", 1..=u32::MAX.into())?;
        let terms = Self {
            expires_at: millis(fields.expires_at())?,
            ack_timeout_ms: fields.ack_timeout_ms().number(ms, 1..=DAY_MS)?,
            max_attempts: attempts.map(|most| u32::try_from(most).expect("the range fits")),
            retry_delay_ms: fields.retry_delay_ms().number(ms, 1..=DAY_MS)?,
            max_retry_delay_ms: fields.max_retry_delay_ms().number(ms, 1..=DAY_MS)?,
        };
        if let (Some(at), Due::At(fire_at)) = (terms.expires_at, due)
            && at <= fire_at
        {
            let fire_at = shown(fields.fire_at(), fire_at);
            let wanted = format!("give a time after fire_at, which is {fire_at}");
            let at = shown(fields.expires_at(), at);
            return Err(fields.expires_at().bad(&at, &wanted));
        }
        if let (Some(first), Some(longest)) = (terms.retry_delay_ms, terms.max_retry_delay_ms)
            && longest < first
        {
            let wanted = format!("give at least retry_delay_ms, which is {first}");
            let field = fields.max_retry_delay_ms();
            return Err(field.bad(&longest.to_string(), &wanted));
        }
        Ok((terms != Self::default()).then(|| Box::new(terms)))
    }

    pub(super) fn fields<'a, W: io::Write>(&self, object: JsonWriter<'a, W>) -> JsonWriter<'a, W> {
        object
            .optional("expires_at", self.expires_at)
            .optional("ack_timeout_ms", self.ack_timeout_ms)
            .optional("max_attempts", self.max_attempts)
            .optional("retry_delay_ms", self.retry_delay_ms)
            .optional("max_retry_delay_ms", self.max_retry_delay_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Request, TaskRequest, parse};

    fn terms(fields: &str) -> Result<Option<Box<Terms>>, String> {
        let line = format!(r#"{{"kind":"schedule","fire_at":5{fields}}}"#);
        match parse(line.as_bytes()).map(|line| line.request) {
            Ok(Request::Task(TaskRequest::Schedule(schedule))) => Ok(schedule.terms),
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => Err(refusal.message),
        }
    }

    #[test]
    fn each_term_is_optional() {
        assert_eq!(terms(""), Ok(None));
        assert_eq!(terms(r#","expires_at":null"#), Ok(None));
        let all = Terms {
            expires_at: Some(6),
            ack_timeout_ms: Some(86_400_000),
            max_attempts: Some(u32::MAX),
            retry_delay_ms: Some(1),
            max_retry_delay_ms: Some(1),
        };
        let line = r#","expires_at":"6","ack_timeout_ms":86400000,"max_attempts":4294967295,"retry_delay_ms":1,"max_retry_delay_ms":1"#;
        assert_eq!(terms(line), Ok(Some(Box::new(all))));
    }

    #[test]
    fn a_first_wait_raises_the_longest_wait_of_the_route() {
        let of = |retry_delay_ms, max_retry_delay_ms| Terms {
            retry_delay_ms,
            max_retry_delay_ms,
            ..Terms::default()
        };
        let route = of(Some(2), Some(5));
        assert_eq!(of(None, None).or(route), route);
        assert_eq!(of(Some(60), None).or(route), of(Some(60), Some(60)));
        assert_eq!(of(Some(60), Some(70)).or(route), of(Some(60), Some(70)));
        assert_eq!(of(None, Some(1)).or(route), of(Some(2), Some(1)));
    }

    #[test]
    fn bad_terms_are_refused_with_the_cure() {
        for (fields, message) in [
            (
                r#","expires_at":5"#,
                "expires_at is 5: give a time after fire_at, which is 5",
            ),
            (
                r#","expires_at":1732616400"#,
                "expires_at is 1732616400: this looks like Unix seconds; multiply it by 1000 to \
                 give Unix milliseconds",
            ),
            (
                r#","ack_timeout_ms":0"#,
                "ack_timeout_ms is 0: give milliseconds from 1 to 86400000, as a whole number",
            ),
            (
                r#","max_attempts":0"#,
                "max_attempts is 0: give a number from 1 to 4294967295, as a whole number",
            ),
            (
                r#","retry_delay_ms":86400001"#,
                "retry_delay_ms is 86400001: give milliseconds from 1 to 86400000, as a whole number",
            ),
            (
                r#","retry_delay_ms":6,"max_retry_delay_ms":5"#,
                "max_retry_delay_ms is 5: give at least retry_delay_ms, which is 6",
            ),
        ] {
            assert_eq!(terms(fields), Err(message.to_owned()));
        }
    }
}
