//! Requests of clients to a shard, and their replies.

use std::sync::{Arc, LazyLock};

use super::fixture::PRODUCER;
use crate::node::ShardNotice;
use hyper_delay_engine::{
    clock::Clock,
    scheduler::{RequestId, RouteRequest, SchedulerInput, SchedulerMessage},
};
use hyper_delay_protocol::{Compression, Due, Headers, Reply, Schedule};

/// When the tasks are due, in Unix milliseconds.
static FAR_AHEAD: LazyLock<u64> = LazyLock::new(|| Clock::new().now().wall_millis() + 3_600_000);

/// Returns the route of the tasks of a shard.
pub(super) fn route(shard: usize) -> Arc<str> {
    format!("route-{shard}").into()
}

/// Returns the ids of tasks that are acknowledged.
pub(super) fn scheduled(notice: ShardNotice) -> Vec<Arc<str>> {
    let ShardNotice::Messages(_, messages) = notice else {
        return Vec::new();
    };
    let ids = messages
        .into_iter()
        .filter_map(|(_, message)| match message {
            SchedulerMessage::Reply(_, Reply::Scheduled { id, .. }) => Some(id),
            _ => None,
        });
    ids.collect()
}

/// Returns the requests to schedule tasks a long time ahead. A repeated one must be the same.
pub(super) fn schedule(
    shard: usize,
    tasks: impl IntoIterator<Item = Arc<str>>,
) -> impl Iterator<Item = SchedulerInput> {
    tasks.into_iter().map(move |id| {
        let route = route(shard);
        let schedule = Schedule {
            due: Due::At(*FAR_AHEAD),
            id: Some(id.clone()),
            route: Some(route.clone()),
            compression: Compression::None,
            payload: vec![7; 40].into(),
            replace: false,
            headers: Headers::default(),
            terms: None,
        };
        let request = RouteRequest::Schedule {
            route,
            id,
            schedule,
            grant: None,
        };
        let id = RequestId {
            consumer: PRODUCER,
            number: 1,
        };
        SchedulerInput::Requested(id, Box::new(request))
    })
}
