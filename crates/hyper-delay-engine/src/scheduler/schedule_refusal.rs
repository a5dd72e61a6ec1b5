//! Why the ledger has refused a schedule, in the words that the client reads.

use super::{scheduling::refusal_of, settings::SchedulerSettings};
use crate::ledger::{Outcome, ScheduleOrder};
use hyper_delay_config::Quota;
use hyper_delay_protocol::{Code, Refusal, in_both_forms};

/// Returns the refusal of a schedule with that outcome.
pub(super) fn schedule_refusal(
    settings: &SchedulerSettings,
    order: &ScheduleOrder,
    outcome: &Outcome,
) -> Refusal {
    let route = &*order.route;
    let quota = |quota: fn(&Quota) -> Option<u64>| settings.quota_of(route, quota);
    let (code, message) = match outcome {
        Outcome::OverQuota => (Code::Quota, over_quota(quota(|quota| quota.pending), route)),
        Outcome::OverBytes => (
            Code::Quota,
            over_bytes(quota(|quota| quota.pending_bytes), route),
        ),
        Outcome::OverTokenQuota(most) => (
            Code::Quota,
            format!(
                "pending of the token is {most}, and its routes have as many tasks: wait until \
                 some are done"
            ),
        ),
        Outcome::OverTokenBytes(most) => (
            Code::Quota,
            format!(
                "pending_bytes of the token is {most}, and with this payload the tasks of its \
                 routes would have more: wait until some are done, or send a reference to the \
                 payload"
            ),
        ),
        Outcome::DiskFull => (
            Code::DiskFull,
            "the disk of data_dir has no room for new tasks, or its file system reports no free \
             bytes: look at df, and free some; deliveries and acks go on"
                .to_owned(),
        ),
        Outcome::ExpiresBeforeDue => (Code::BadField, expires_before_due(order)),
        _ => (
            Code::DuplicateId,
            format!(
                "route {route:?} has or had a task with id {:?} and other content: choose \
                 another id, or replace it with \"replace\":true",
                order.id
            ),
        ),
    };
    refusal_of(order, code, message)
}

/// Names the end of the delay, which the client does not know.
fn expires_before_due(order: &ScheduleOrder) -> String {
    let terms = order.terms.as_deref().copied().unwrap_or_default();
    format!(
        "expires_at is {}: give a time after the end of delay_ms, which is {}",
        in_both_forms(terms.expires_at.unwrap_or_default()),
        in_both_forms(order.fire_at)
    )
}

/// Names the quota of pending tasks that a route has reached. It can have changed since.
fn over_quota(quota: Option<(&str, u64)>, route: &str) -> String {
    match quota {
        Some((key, most)) => format!(
            "pending of route {route:?} is {most} (quotas, key {key:?}), and it has as many tasks: \
             wait until some are done"
        ),
        None => format!("route {route:?} had as many pending tasks as its quota: send it again"),
    }
}

/// Names the quota of bytes that the payloads of a route would exceed. It can have changed since.
fn over_bytes(quota: Option<(&str, u64)>, route: &str) -> String {
    match quota {
        Some((key, most)) => format!(
            "pending_bytes of route {route:?} is {most} (quotas, key {key:?}), and with this payload \
             its tasks would have more: wait until some are done, or send a reference to the payload"
        ),
        None => format!("route {route:?} had as many pending bytes as its quota: send it again"),
    }
}
