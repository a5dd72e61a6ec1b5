//! The requests of clients: each is refused here, or gets its full names.
//!
//! There is a method for each kind. It changes nothing of its connection but what it says; the rest is
//! in the [`Pending`] that it returns.

use std::sync::Arc;

use race_wheel::Tick;

use super::{
    Delivery, Front, GivenBack, Origin, Pending,
    pending::Cause,
    registrations::{Effect, PendingRoute, Registrations},
};
use crate::scheduler::ConsumerId;
use hyper_delay_protocol::{
    Accept, Code, DeliverySelector, Refusal, RegisterMode, Schedule,
    access::{Denial, Grant, Right},
};

/// The names of a task to schedule.
#[derive(Debug)]
pub struct NamedSchedule {
    /// Its route: that of the schedule, or the connection's.
    pub route: Arc<str>,
    /// Its id: that of the schedule, or a new one.
    pub id: Arc<str>,
    /// Whether the client chose the id.
    pub is_id_given: bool,
    /// What the schedule changes once it is accepted.
    pub pending: Pending,
}

/// The registration of a connection's own route, which follows from an accepted schedule.
#[derive(Debug)]
pub struct OwnRegistration {
    /// The route.
    pub route: Arc<str>,
    /// Whether other connections may register the route, too.
    pub mode: RegisterMode,
    /// The registration, which the answer of the scheduler applies or drops.
    pub pending: Pending,
}

impl OwnRegistration {
    pub(super) fn new(asked: PendingRoute) -> Self {
        Self {
            route: asked.route.clone(),
            mode: asked.mode().unwrap_or(RegisterMode::Shared),
            pending: Pending::new(asked, Cause::OwnRoute),
        }
    }
}

/// What a connection asks for when it registers a route.
#[derive(Debug, Clone, Copy)]
pub struct Registration {
    /// Whether other connections may register the route, too.
    pub mode: RegisterMode,
    /// The credit of the connection. `None`: unchanged.
    pub credit: Option<u16>,
    /// The compressions that it accepts. `None`: unchanged.
    pub accept: Option<Accept>,
}

/// Registrations.
impl<O: Origin> Front<O> {
    /// A connection registers a route. Balance its credit afterwards: a lower one holds at once.
    ///
    /// `departing` routes of closed connections, which are still registered with the scheduler, count
    /// for the limit.
    ///
    /// # Errors
    ///
    /// If it may have no more routes.
    pub fn register(
        &mut self,
        consumer: ConsumerId,
        route: &Arc<str>,
        registration: Registration,
        departing: usize,
    ) -> Result<Pending, Refusal> {
        self.check_routes(consumer, route, departing)?;
        let Registration {
            mode,
            credit,
            accept,
        } = registration;
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return Ok(Pending::NONE);
        };
        let options = connection.options.request(credit, accept);
        if options.is_some() {
            connection.update_credit();
        }
        let cause = Cause::Register {
            options,
            credit: credit.unwrap_or_else(|| connection.options.credit()),
        };
        Ok(self.ask(consumer, route, cause, |it, route| {
            it.ask(route, Some(mode))
        }))
    }

    /// A connection ends a registration. Balance its credit afterwards.
    pub fn unregister(&mut self, consumer: ConsumerId, route: &Arc<str>) -> Pending {
        self.ask(consumer, route, Cause::Unregister, |it, route| {
            it.ask(route, None)
        })
    }

    /// Notes what a connection asks for.
    fn ask(
        &mut self,
        consumer: ConsumerId,
        route: &Arc<str>,
        cause: Cause,
        ask: impl FnOnce(&mut Registrations, Arc<str>) -> (PendingRoute, Effect),
    ) -> Pending {
        let Some(connection) = self.connections.get_mut(&consumer) else {
            return Pending::NONE;
        };
        let (asked, effect) = ask(&mut connection.routes, route.clone());
        self.note(consumer, route, effect);
        Pending::new(asked, cause)
    }

    /// Refuses one more route for a connection that may have no more.
    fn check_routes(
        &self,
        consumer: ConsumerId,
        route: &Arc<str>,
        departing: usize,
    ) -> Result<(), Refusal> {
        let Some(connection) = self.connections.get(&consumer) else {
            return Ok(());
        };
        if connection.routes.has(route) {
            return Ok(());
        }
        let (of_one, of_all) = (connection.routes.len(), self.routes + departing);
        let most_of_one = self.settings.max_routes_per_connection;
        let most = self.settings.max_routes;
        let message = if of_one >= most_of_one {
            format!(
                "this connection has {of_one} routes, and max_routes_per_connection is \
                 {most_of_one}: unregister some, or raise it"
            )
        } else if of_all >= most {
            format!(
                "all connections of this server have {of_all} routes, and max_routes is {most}: \
                 unregister some, or raise it"
            )
        } else {
            return Ok(());
        };
        Err(Refusal {
            route: Some(route.clone()),
            ..Refusal::new(Code::TooManyRoutes, message)
        })
    }
}

/// Schedules.
impl<O: Origin> Front<O> {
    /// Gives a schedule of a connection its route and its id: a client that must repeat it has both.
    /// Takes both out of it. Without a route, the route is the only one that the connection has, or
    /// its own, which is registered once the schedule is accepted, if the connection does not have it.
    ///
    /// # Errors
    ///
    /// If `grant` does not allow the route of the connection, or it may have no more routes.
    #[inline]
    pub fn schedule(
        &mut self,
        consumer: ConsumerId,
        schedule: &mut Schedule,
        grant: Option<&Grant>,
        departing: usize,
    ) -> Result<NamedSchedule, Refusal> {
        let (route, given_id) = (schedule.route.take(), schedule.id.take());
        let (route, is_own) = match route {
            Some(route) => (route, false),
            None => match self.default_route(consumer) {
                Some(default) => default,
                None => {
                    let message = "route_key is missing: give one, or keep the connection open";
                    return Err(Refusal {
                        id: given_id,
                        ..Refusal::new(Code::BadField, message)
                    });
                }
            },
        };
        // The only registered route can be one of another token of the connection.
        if let Some(grant) = grant.filter(|_| !is_own)
            && !grant.allows(Right::Schedule, &route)
        {
            let missing = Denial::Missing(Right::Schedule).to_string();
            return Err(Refusal {
                id: given_id,
                ..Refusal::new(Code::Forbidden, missing)
            });
        }
        let is_id_given = given_id.is_some();
        let id = given_id.unwrap_or_else(|| self.new_ids.make().to_string().into());
        let mut pending = Pending::NONE;
        if is_own {
            if let Err(refusal) = self.check_routes(consumer, &route, departing) {
                let id = Some(id);
                return Err(Refusal { id, ..refusal });
            }
            let connection = self.connections.get(&consumer);
            if connection.is_some_and(|it| it.routes.may_lack(&route)) {
                pending = self.ask(consumer, &route, Cause::Schedule, Registrations::ask_later);
            }
        }
        Ok(NamedSchedule {
            route,
            id,
            is_id_given,
            pending,
        })
    }

    /// Returns the route of a schedule without one, and whether it is the connection's own.
    fn default_route(&mut self, consumer: ConsumerId) -> Option<(Arc<str>, bool)> {
        let routes = &mut self.connections.get_mut(&consumer)?.routes;
        let route = routes.default_route(&mut self.new_ids);
        let is_own = routes.is_own(&route);
        Some((route, is_own))
    }
}

/// Answers to deliveries.
impl<O: Origin> Front<O> {
    /// A connection acknowledges a delivery, whose id is free then. Returns it, if there is one: that
    /// in flight, or the latest of those whose time has passed.
    #[inline]
    pub fn ack(
        &mut self,
        consumer: ConsumerId,
        named: &DeliverySelector,
        now: Tick,
    ) -> Option<Delivery<O>> {
        let connection = self.connections.get_mut(&consumer)?;
        connection.deliveries.take_answered(named, now)
    }

    /// A connection gives a delivery back. Returns it, if there is one. The id of one in flight is free
    /// then. One that is late stays: it can still be acknowledged, as a late nack changes nothing. The
    /// scheduler counts it, and learns that the consumer answers.
    ///
    /// # Errors
    ///
    /// If the delay is longer than it may be.
    pub fn nack(
        &mut self,
        consumer: ConsumerId,
        named: &DeliverySelector,
        delay_ms: Option<u64>,
        now: Tick,
    ) -> Result<Option<GivenBack<O>>, Refusal> {
        let most = self.settings.max_delay_millis;
        if let Some(delay) = delay_ms.filter(|delay| *delay > most) {
            let message =
                format!("delay_ms is {delay}: give at most {most}, which is max_delay_days");
            return Err(Refusal {
                id: Some(named.id.clone()),
                route: named.route.clone(),
                ..Refusal::new(Code::BadField, message)
            });
        }
        let connection = self.connections.get_mut(&consumer);
        Ok(connection.and_then(|it| it.deliveries.give_back(named, now)))
    }

    /// A connection asks for more time to answer a delivery. Returns it, if there is one.
    #[must_use]
    pub fn touch(&self, consumer: ConsumerId, named: &DeliverySelector) -> Option<&Delivery<O>> {
        self.connections.get(&consumer)?.deliveries.find(named)
    }
}
