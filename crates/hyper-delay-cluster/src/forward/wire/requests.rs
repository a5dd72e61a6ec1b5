//! The bytes of forwarded requests.
//!
//! A request is the number of its kind and its fields. The numbers are those of [`WireRequest`],
//! which has every kind in the order of the first release, so that nodes of two releases understand
//! each other during a rolling upgrade.

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Serialize};

use hyper_delay_engine::scheduler::{DeliveryName, RouteRequest};
use hyper_delay_protocol::{
    Accept, AdminRequest, BulkAct, BulkRequest, DeliverySelector, Filter, MoveTo, RegisterMode,
    Schedule,
    access::{self, Grant},
};

/// A request as its bytes have it. Append new variants, and never move one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum WireRequest<'a> {
    Hello,
    Auth,
    Register {
        route: Arc<str>,
        credit: Option<u16>,
        mode: RegisterMode,
        accept: Option<Accept>,
    },
    Unregister {
        route: Arc<str>,
    },
    /// Borrowed while it is written, because its payload can be long.
    Schedule(Cow<'a, Schedule>),
    Ack {
        delivery: DeliverySelector,
        confirm: bool,
    },
    Nack {
        delivery: DeliverySelector,
        delay_ms: Option<u64>,
        reason: Option<Arc<str>>,
        failed: bool,
    },
    Touch {
        delivery: DeliverySelector,
        extend_ms: Option<u64>,
    },
    Cancel {
        route: Arc<str>,
        id: Arc<str>,
    },
    Ping,
    // No node forwards these: they have a number only, and their fields are not read.
    Stats,
    Dead,
    Get,
    List,
    Future,
    Delete {
        route: Arc<str>,
        id: Arc<str>,
    },
    Bulk(WireBulk),
    Pause {
        route: Arc<str>,
    },
    Resume {
        route: Arc<str>,
    },
    Jobs,
    Stop {
        job: u64,
    },
    Audit,
    Reasons,
    Backup,
    Kick {
        route: Arc<str>,
        id: Arc<str>,
    },
    Move {
        route: Arc<str>,
        id: Arc<str>,
        to: MoveTo,
    },
}

/// A bulk operation as its bytes have it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireBulk {
    act: BulkAct,
    route: Arc<str>,
    filter: Filter,
    in_flight: bool,
    /// Always false: a count is not forwarded.
    dry_run: bool,
}

/// A node has sent a request that is not forwarded, or not in this place.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a node has forwarded the request {kind} as one of {expected}")]
pub(super) struct UnexpectedRequest {
    kind: &'static str,
    expected: &'static str,
}

const NAMELESS_SCHEDULE: UnexpectedRequest = UnexpectedRequest {
    kind: "schedule without names",
    expected: "a client",
};

const NAMELESS_TOUCH: UnexpectedRequest = UnexpectedRequest {
    kind: "touch without names",
    expected: "a client",
};

impl WireRequest<'_> {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Auth => "auth",
            Self::Register { .. } => "register",
            Self::Unregister { .. } => "unregister",
            Self::Schedule(_) => "schedule",
            Self::Ack { .. } => "ack",
            Self::Nack { .. } => "nack",
            Self::Touch { .. } => "touch",
            Self::Cancel { .. } => "cancel",
            Self::Ping => "ping",
            Self::Stats => "stats",
            Self::Dead => "dead",
            Self::Get => "get",
            Self::List => "list",
            Self::Future => "future",
            Self::Delete { .. } => "delete",
            Self::Bulk(WireBulk { dry_run: true, .. }) => "bulk with dry_run",
            Self::Bulk(_) => "bulk",
            Self::Pause { .. } => "pause",
            Self::Resume { .. } => "resume",
            Self::Jobs => "jobs",
            Self::Stop { .. } => "stop",
            Self::Audit => "audit",
            Self::Reasons => "reasons",
            Self::Backup => "backup",
            Self::Kick { .. } => "kick",
            Self::Move { .. } => "move",
        }
    }

    const fn unexpected(&self, expected: &'static str) -> UnexpectedRequest {
        let kind = self.kind();
        UnexpectedRequest { kind, expected }
    }
}

impl<'a> From<&'a RouteRequest> for WireRequest<'a> {
    fn from(request: &'a RouteRequest) -> Self {
        match request {
            RouteRequest::Schedule { schedule, .. } => Self::Schedule(Cow::Borrowed(schedule)),
            RouteRequest::Register { route, mode } => Self::Register {
                route: route.clone(),
                credit: None,
                mode: *mode,
                accept: None,
            },
            RouteRequest::Unregister { route } => Self::Unregister {
                route: route.clone(),
            },
            RouteRequest::Touch {
                delivery,
                extend_ms,
            } => Self::Touch {
                delivery: delivery.clone().into(),
                extend_ms: *extend_ms,
            },
            RouteRequest::Cancel { route, id } => Self::Cancel {
                route: route.clone(),
                id: id.clone(),
            },
            RouteRequest::Move { route, id, to } => Self::Move {
                route: route.clone(),
                id: id.clone(),
                to: *to,
            },
        }
    }
}

impl WireRequest<'_> {
    /// Returns it as a request of a client to a route, with the names that nodes give it.
    fn into_route_request(
        self,
        grant: Option<Arc<Grant>>,
    ) -> Result<RouteRequest, UnexpectedRequest> {
        Ok(match self {
            Self::Schedule(schedule) => {
                let schedule = schedule.into_owned();
                let names = schedule.route.clone().zip(schedule.id.clone());
                let (route, id) = names.ok_or(NAMELESS_SCHEDULE)?;
                RouteRequest::Schedule {
                    route,
                    id,
                    schedule,
                    grant,
                }
            }
            Self::Register { route, mode, .. } => RouteRequest::Register { route, mode },
            Self::Unregister { route } => RouteRequest::Unregister { route },
            Self::Touch {
                delivery,
                extend_ms,
            } => {
                let names = delivery.route.zip(delivery.attempt);
                let (route, attempt) = names.ok_or(NAMELESS_TOUCH)?;
                let id = delivery.id;
                RouteRequest::Touch {
                    delivery: DeliveryName { route, id, attempt },
                    extend_ms,
                }
            }
            Self::Cancel { route, id } => RouteRequest::Cancel { route, id },
            Self::Move { route, id, to } => RouteRequest::Move { route, id, to },
            other => return Err(other.unexpected("a client")),
        })
    }
}

/// For `serde(with)`: a request to a route, with the grant of its client.
pub(super) mod of_route {
    use super::{Arc, Deserialize, Grant, RouteRequest, Serialize, WireRequest, access};

    /// A request and a grant one after the other.
    #[derive(Serialize, Deserialize)]
    struct WithGrant<'a>(
        WireRequest<'a>,
        #[serde(with = "access::forwarded_grant")] Option<Arc<Grant>>,
    );

    pub(crate) fn serialize<S: serde::Serializer>(
        request: &RouteRequest,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let grant = match request {
            RouteRequest::Schedule { grant, .. } => grant.clone(),
            _ => None,
        };
        WithGrant(WireRequest::from(request), grant).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<RouteRequest, D::Error> {
        let WithGrant(request, grant) = WithGrant::deserialize(deserializer)?;
        let request = request.into_route_request(grant);
        request.map_err(serde::de::Error::custom)
    }
}

impl From<&AdminRequest> for WireRequest<'_> {
    fn from(request: &AdminRequest) -> Self {
        match request.clone() {
            AdminRequest::Kick { route, id } => Self::Kick { route, id },
            AdminRequest::Delete { route, id } => Self::Delete { route, id },
            AdminRequest::Bulk(bulk) => {
                let BulkRequest {
                    act,
                    route,
                    filter,
                    in_flight,
                } = *bulk;
                Self::Bulk(WireBulk {
                    act,
                    route,
                    filter,
                    in_flight,
                    dry_run: false,
                })
            }
            AdminRequest::Pause { route } => Self::Pause { route },
            AdminRequest::Resume { route } => Self::Resume { route },
            AdminRequest::Stop { job } => Self::Stop { job },
        }
    }
}

impl TryFrom<WireRequest<'_>> for AdminRequest {
    type Error = UnexpectedRequest;

    fn try_from(request: WireRequest<'_>) -> Result<Self, UnexpectedRequest> {
        Ok(match request {
            WireRequest::Kick { route, id } => Self::Kick { route, id },
            WireRequest::Delete { route, id } => Self::Delete { route, id },
            WireRequest::Bulk(WireBulk {
                act,
                route,
                filter,
                in_flight,
                dry_run: false,
            }) => Self::Bulk(Box::new(BulkRequest {
                act,
                route,
                filter,
                in_flight,
            })),
            WireRequest::Pause { route } => Self::Pause { route },
            WireRequest::Resume { route } => Self::Resume { route },
            WireRequest::Stop { job } => Self::Stop { job },
            other => return Err(other.unexpected("an operator")),
        })
    }
}

/// For `serde(with)`: a request as a [`WireRequest`].
pub(super) fn serialize<'a, R, S>(request: &'a R, serializer: S) -> Result<S::Ok, S::Error>
where
    WireRequest<'a>: From<&'a R>,
    S: serde::Serializer,
{
    WireRequest::from(request).serialize(serializer)
}

/// For `serde(with)`: a request of a [`WireRequest`].
///
/// # Errors
///
/// Those of the deserializer, or if the request is of another layer.
pub(super) fn deserialize<'de, R, D>(deserializer: D) -> Result<R, D::Error>
where
    R: TryFrom<WireRequest<'static>, Error = UnexpectedRequest>,
    D: serde::Deserializer<'de>,
{
    let request = WireRequest::deserialize(deserializer)?;
    request.try_into().map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests;
