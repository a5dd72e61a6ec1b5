//! Parses the changes that operators request.

use super::name;
use crate::{
    AdminRequest, BulkAct, BulkMove, BulkRequest, ReadRequest, Request, field::FieldError,
    operator_requests, request_fields::RequestFields,
};

/// Reads a request of this kind. Returns `None` if the kind is another one. A bulk operation with
/// `dry_run` changes nothing, and is a query.
pub(super) fn request(
    kind: &str,
    fields: &RequestFields<'_>,
) -> Result<Option<Request>, FieldError> {
    let request = match kind {
        "kick" => AdminRequest::Kick {
            route: name(fields.route_key())?,
            id: name(fields.id())?,
        },
        "delete" => AdminRequest::Delete {
            route: name(fields.route_key())?,
            id: name(fields.id())?,
        },
        "pause" => AdminRequest::Pause {
            route: name(fields.route_key())?,
        },
        "resume" => AdminRequest::Resume {
            route: name(fields.route_key())?,
        },
        "stop" => AdminRequest::Stop {
            job: operator_requests::job(fields)?,
        },
        "kick_all" => return bulk(BulkAct::Kick, fields).map(Some),
        "delete_all" => return bulk(BulkAct::Delete, fields).map(Some),
        "purge" => return bulk(BulkAct::Purge, fields).map(Some),
        "run_now_all" => {
            let act = BulkAct::Move(BulkMove::read_run_now(fields)?);
            return bulk(act, fields).map(Some);
        }
        "reschedule_all" => {
            let act = BulkAct::Move(BulkMove::read_reschedule(fields)?);
            return bulk(act, fields).map(Some);
        }
        _ => return Ok(None),
    };
    Ok(Some(request.into()))
}

fn bulk(act: BulkAct, fields: &RequestFields<'_>) -> Result<Request, FieldError> {
    let route = name(fields.route_key())?;
    let bulk = Box::new(BulkRequest::read(act, route, fields)?);
    Ok(match fields.dry_run().flag()? {
        true => ReadRequest::Count(bulk).into(),
        false => AdminRequest::Bulk(bulk).into(),
    })
}
