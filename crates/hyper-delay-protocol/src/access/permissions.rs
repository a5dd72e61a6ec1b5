use std::{fmt, sync::Arc};

use super::{Grant, Right};
use crate::{
    AdminRequest, BulkAct, BulkRequest, ReadRequest, Request, Schedule, TaskRequest,
    own_route::PREFIX as OWN_ROUTES,
};

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// The connection has not authenticated.
    NoToken,
    /// Its token does not give this right, or not on the route of the request.
    Missing(Right),
    /// Its token does not give this right on the routes that the server makes.
    MissingOwn(Right),
    /// Its token does not give this right on every route.
    MissingEverywhere(Right),
    /// Its token gives neither of the rights to see payloads of the route.
    MissingForPayload,
}

/// The cause and the cure, without the route, which the refusal has.
impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoToken => f.write_str(
                "this request needs a token: send {\"kind\":\"auth\",\"token\":…} first \
                 (--token-file FILE for the commands)",
            ),
            Self::Missing(right) => write!(
                f,
                "the token does not give the right {} here: use one that does (`hyper-delay token \
                 new --right {0} --route ROUTE`)",
                right.as_str()
            ),
            Self::MissingOwn(right) => write!(
                f,
                "a schedule without route_key needs the rights schedule and consume on {OWN_ROUTES}*, \
                 and the token does not give {}: give a route_key",
                right.as_str()
            ),
            Self::MissingEverywhere(right) => write!(
                f,
                "this request needs the right {} on every route, and the token does not give it: use \
                 one that does (`hyper-delay token new --right {0} --route '*'`)",
                right.as_str()
            ),
            Self::MissingForPayload => f.write_str(
                "a payload needs the right consume or admin here, and the token gives neither: ask \
                 without \"payload\":true, or use another one",
            ),
        }
    }
}

/// The right that a request needs.
enum RequiredRight<'a> {
    Nothing,
    /// This right on this route.
    On(Right, &'a str),
    /// One of these rights on this route. The denial names the first.
    EitherOn([Right; 2], &'a str),
    /// This right on this route, by any grant that the connection has used.
    AnyOn(Right, &'a str),
    /// Any right on this route.
    Any(&'a str),
    /// A right to see payloads on this route.
    Payload(&'a str),
    /// This right on any route. What the request reaches is limited otherwise.
    Somewhere(Right),
    /// Like `Somewhere`, by any grant that the connection has used.
    AnySomewhere(Right),
    /// This right on every route.
    Everywhere(Right),
    /// To schedule and receive on a route that the server makes for the connection.
    OwnRoute,
}

/// Decides whether the holder of a grant may make a request. `others` are further grants that its
/// connection has used. The decision depends on the request and the grants only, never on what is
/// stored.
pub(super) fn permits(
    grant: Option<&Grant>,
    others: &[Arc<Grant>],
    request: &Request,
) -> Result<(), Denial> {
    let any = |given: &dyn Fn(&Grant) -> bool| {
        let others = others.iter().map(|grant| &**grant);
        grant.into_iter().chain(others).any(given)
    };
    let demand = |is_given: bool, denial| match is_given {
        true => Ok(()),
        false if grant.is_none() => Err(Denial::NoToken),
        false => Err(denial),
    };
    let own = |given: &dyn Fn(&Grant) -> bool| grant.is_some_and(given);
    let has = |right: Right| move |grant: &Grant| grant.rights.contains(&right);
    match required_right(request) {
        RequiredRight::Nothing => Ok(()),
        RequiredRight::On(right, route) => demand(
            own(&|grant| grant.allows(right, route)),
            Denial::Missing(right),
        ),
        RequiredRight::EitherOn(rights, route) => demand(
            own(&|grant| rights.iter().any(|right| grant.allows(*right, route))),
            Denial::Missing(rights[0]),
        ),
        RequiredRight::AnyOn(right, route) => demand(
            any(&|grant| grant.allows(right, route)),
            Denial::Missing(right),
        ),
        RequiredRight::Any(route) => demand(
            own(&|grant| Right::ALL.iter().any(|right| grant.allows(*right, route))),
            Denial::Missing(Right::Schedule),
        ),
        RequiredRight::Payload(route) => demand(
            own(&|grant| grant.allows(Right::Consume, route) || grant.allows(Right::Admin, route)),
            Denial::MissingForPayload,
        ),
        RequiredRight::Somewhere(right) => demand(own(&has(right)), Denial::Missing(right)),
        RequiredRight::AnySomewhere(right) => demand(any(&has(right)), Denial::Missing(right)),
        RequiredRight::Everywhere(right) => demand(
            own(&|grant| grant.allows_everywhere(right)),
            Denial::MissingEverywhere(right),
        ),
        RequiredRight::OwnRoute => {
            [Right::Schedule, Right::Consume]
                .into_iter()
                .try_for_each(|right| {
                    let is_given = own(&|grant| {
                        grant.rights.contains(&right) && grant.routes.contain_prefix(OWN_ROUTES)
                    });
                    demand(is_given, Denial::MissingOwn(right))
                })
        }
    }
}

fn required_right(request: &Request) -> RequiredRight<'_> {
    match request {
        Request::Session(_) => RequiredRight::Nothing,
        Request::Task(request) => right_to_task(request),
        Request::Read(request) => right_to_read(request),
        Request::Admin(request) => right_to_change(request),
    }
}

fn right_to_task(request: &TaskRequest) -> RequiredRight<'_> {
    match request {
        TaskRequest::Ping => RequiredRight::Nothing,
        TaskRequest::Register { route, .. } => RequiredRight::On(Right::Consume, route),
        TaskRequest::Unregister { route } => RequiredRight::AnyOn(Right::Consume, route),
        TaskRequest::Schedule(Schedule { route, .. }) => match route {
            Some(route) => RequiredRight::On(Right::Schedule, route),
            None => RequiredRight::OwnRoute,
        },
        // They answer a delivery, which only a registered connection has.
        TaskRequest::Ack { .. } | TaskRequest::Nack { .. } | TaskRequest::Touch { .. } => {
            RequiredRight::AnySomewhere(Right::Consume)
        }
        TaskRequest::Cancel { route, .. } | TaskRequest::Move { route, .. } => {
            RequiredRight::On(Right::Schedule, route)
        }
    }
}

fn right_to_read(request: &ReadRequest) -> RequiredRight<'_> {
    match request {
        ReadRequest::Dead { route, .. } => RequiredRight::On(Right::Admin, route),
        ReadRequest::Get {
            route,
            payload: true,
            ..
        } => RequiredRight::Payload(route),
        ReadRequest::Get { route, .. } => RequiredRight::Any(route),
        ReadRequest::List(list) => admin_on(list.route.as_ref()),
        ReadRequest::Reasons { route, .. } => admin_on(route.as_ref()),
        ReadRequest::Count(bulk) => right_to_change_many(bulk),
        ReadRequest::Stats { route, .. } => match route {
            Some(route) => RequiredRight::On(Right::Admin, route),
            // Counts only the routes on which the right is given.
            None => RequiredRight::Somewhere(Right::Admin),
        },
        // The counts, the jobs, the audit and a backup are of all routes.
        ReadRequest::Future
        | ReadRequest::Jobs
        | ReadRequest::Audit { .. }
        | ReadRequest::Backup { .. } => RequiredRight::Everywhere(Right::Admin),
    }
}

/// `None`: on every route.
fn admin_on(route: Option<&Arc<str>>) -> RequiredRight<'_> {
    match route {
        Some(route) => RequiredRight::On(Right::Admin, route),
        None => RequiredRight::Everywhere(Right::Admin),
    }
}

fn right_to_change(request: &AdminRequest) -> RequiredRight<'_> {
    match request {
        AdminRequest::Kick { route, .. }
        | AdminRequest::Delete { route, .. }
        | AdminRequest::Pause { route }
        | AdminRequest::Resume { route } => RequiredRight::On(Right::Admin, route),
        AdminRequest::Bulk(bulk) => right_to_change_many(bulk),
        // A job is named by its number, not by its route.
        AdminRequest::Stop { .. } => RequiredRight::Everywhere(Right::Admin),
    }
}

fn right_to_change_many(bulk: &BulkRequest) -> RequiredRight<'_> {
    match bulk.act {
        BulkAct::Kick | BulkAct::Delete | BulkAct::Purge => {
            RequiredRight::On(Right::Admin, &bulk.route)
        }
        // Who schedules the tasks may move each of them.
        BulkAct::Move(_) => RequiredRight::EitherOn([Right::Schedule, Right::Admin], &bulk.route),
    }
}

#[cfg(test)]
mod tests;
