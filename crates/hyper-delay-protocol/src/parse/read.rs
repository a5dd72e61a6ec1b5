//! Parses the queries.

use super::name;
use crate::{
    Filter, ListRequest, ReadRequest, TaskState,
    field::{EXACT, FieldError},
    request_fields::RequestFields,
    task_queries,
};

/// Reads a request of this kind. Returns `None` if the kind is another one.
pub(super) fn request(
    kind: &str,
    fields: &RequestFields<'_>,
) -> Result<Option<ReadRequest>, FieldError> {
    Ok(Some(match kind {
        "stats" => ReadRequest::Stats {
            route: fields.route_key().name()?,
            after: fields.after().name()?,
        },
        "dead" => ReadRequest::Dead {
            route: name(fields.route_key())?,
            after: fields.after().name()?,
            limit: task_queries::limit(fields)?,
            filter: Box::new(Filter::read(fields)?),
            payload: fields.payload().flag()?,
        },
        "get" => ReadRequest::Get {
            route: name(fields.route_key())?,
            id: name(fields.id())?,
            payload: fields.payload().flag()?,
        },
        "list" => ReadRequest::List(Box::new(ListRequest::read(fields)?)),
        "future" => ReadRequest::Future,
        "jobs" => ReadRequest::Jobs,
        "audit" => ReadRequest::Audit {
            before: fields.before().number("the number of a line", 1..=EXACT)?,
            limit: task_queries::limit(fields)?,
        },
        "reasons" => ReadRequest::Reasons {
            route: fields.route_key().name()?,
            state: fields
                .state()
                .one_of(&[TaskState::Dead, TaskState::Retrying], TaskState::as_str)?
                .unwrap_or(TaskState::Dead),
            after: task_queries::cursor(fields)?,
        },
        "backup" => ReadRequest::Backup {
            offset: fields
                .offset()
                .number("a position in the backup", 0..=EXACT)?
                .unwrap_or_default(),
        },
        _ => return Ok(None),
    }))
}
