//! What a request reads, and what it makes of its connection.

use std::sync::Arc;

use hyper_delay_protocol::{ReadRequest, Request, TaskRequest};

/// Returns the route whose stored tasks a reply is read from, `None` for all, if it is read from the
/// disk now.
pub(super) fn read_scope(request: &ReadRequest) -> Option<Option<Arc<str>>> {
    match request {
        ReadRequest::Reasons { route, .. } => Some(route.clone()),
        ReadRequest::List(list) => Some(list.route.clone()),
        ReadRequest::Dead { route, .. } | ReadRequest::Get { route, .. } => {
            Some(Some(route.clone()))
        }
        ReadRequest::Count(bulk) => Some(Some(bulk.route.clone())),
        // With a route, too, the sums are of all.
        ReadRequest::Stats { .. } => Some(None),
        ReadRequest::Jobs | ReadRequest::Audit { .. } => Some(None),
        // A backup is read at its first piece.
        ReadRequest::Backup { offset } => (*offset == 0).then_some(None),
        ReadRequest::Future => None,
    }
}

/// Returns whether a request makes its connection a consumer.
pub(super) const fn makes_consumer(request: &Request) -> bool {
    match request {
        Request::Task(TaskRequest::Register { .. }) => true,
        Request::Task(TaskRequest::Schedule(schedule)) => schedule.route.is_none(),
        _ => false,
    }
}
