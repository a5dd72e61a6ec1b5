//! Everything that has happened on the connections.

use std::{cell::Cell, rc::Rc};

use super::*;

/// A change of a route that was asked for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) connection: ConsumerId,
    pub(super) route: Arc<str>,
    pub(super) has: bool,
    /// The credit that it asks for, and the compressions that it accepts.
    pub(super) credit: Option<u16>,
    pub(super) accept: Option<Accept>,
    /// An accepted schedule needs the route, too.
    pub(super) is_needed: bool,
    /// `None`: it is not answered.
    pub(super) is_applied: Option<bool>,
    /// The scheduler was asked. Otherwise that follows once a schedule is accepted.
    pub(super) is_sent: bool,
    /// Another connection has taken the route since it took effect.
    pub(super) is_taken: bool,
}

/// Where a delivery comes from.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) is_revoked: Rc<Cell<bool>>,
    pub(super) expires: Option<Tick>,
}

impl Origin for Place {
    fn is_revoked(&self) -> bool {
        self.is_revoked.get()
    }

    fn has_expired(&self, now: Tick) -> bool {
        self.expires.is_some_and(|at| at <= now)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Queued,
    Sent,
    Done,
}

#[derive(Debug)]
pub(super) struct Sent {
    pub(super) connection: ConsumerId,
    pub(super) id: Arc<str>,
    pub(super) delivery: Delivery<Place>,
    pub(super) state: State,
    /// Whether it is the one in flight of its id.
    pub(super) is_in_flight: bool,
}

impl Sent {
    /// It is not in flight any more. A lost one is not remembered then.
    pub(super) fn end(&mut self) {
        self.is_in_flight = false;
        if self.delivery.is_lost {
            self.state = State::Done;
        }
    }
}

/// Everything that has happened.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) open: BTreeSet<ConsumerId>,
    pub(super) closing: BTreeSet<ConsumerId>,
    pub(super) asked: Vec<Asked>,
    pub(super) sent: Vec<Sent>,
    pub(super) own: BTreeMap<ConsumerId, Arc<str>>,
}

impl Model {
    pub(super) fn routes(&self, connection: ConsumerId) -> BTreeSet<Arc<str>> {
        self.routes_by(connection, |_| true)
    }

    /// The routes of a connection if of the unanswered requests only such count.
    pub(super) fn routes_by(
        &self,
        connection: ConsumerId,
        counts: impl Fn(&Asked) -> bool,
    ) -> BTreeSet<Arc<str>> {
        let mut routes = BTreeMap::new();
        for asked in &self.asked {
            let counts = match asked.is_applied {
                Some(is_applied) => is_applied,
                None => counts(asked),
            };
            if asked.connection == connection && counts && !asked.is_taken {
                routes.insert(asked.route.clone(), asked.has);
            }
        }
        let has = routes.into_iter().filter(|(_, has)| *has);
        has.map(|(route, _)| route).collect()
    }

    pub(super) fn all_routes(&self) -> usize {
        let connections = self.open.iter();
        connections.map(|it| self.routes(*it).len()).sum()
    }

    /// What a connection has last asked for and got.
    pub(super) fn granted<T>(
        &self,
        connection: ConsumerId,
        option: impl Fn(&Asked) -> Option<T>,
    ) -> Option<T> {
        let asked = self.asked.iter().rev();
        let mut of_it = asked.filter(|it| it.connection == connection);
        of_it.find_map(|it| option(it).filter(|_| it.is_applied == Some(true)))
    }

    pub(super) fn credit(&self, connection: ConsumerId) -> u16 {
        self.granted(connection, |it| it.credit).unwrap_or(CREDIT)
    }

    pub(super) fn accept(&self, connection: ConsumerId) -> Accept {
        let granted = self.granted(connection, |it| it.accept);
        granted.unwrap_or_default()
    }

    /// The most that a connection may have in flight: a lower credit holds from when it is asked for.
    pub(super) fn credit_limit(&self, connection: ConsumerId) -> u16 {
        let is_of_it = |it: &Asked| it.connection == connection && it.credit.is_some();
        let granted = |it: &Asked| is_of_it(it) && it.is_applied == Some(true);
        let last = self.asked.iter().rposition(granted);
        let later = self.asked.iter().skip(last.map_or(0, |last| last + 1));
        let asked = later.filter(|it| is_of_it(it) && it.is_applied.is_none());
        let lowest = asked.filter_map(|it| it.credit).min();
        self.credit(connection).min(lowest.unwrap_or(u16::MAX))
    }

    /// Whether the connection may not have the route, too.
    pub(super) fn is_refused(&self, connection: ConsumerId, route: &Arc<str>) -> bool {
        let routes = self.routes(connection);
        let is_full = routes.len() >= MOST_OF_ONE || self.all_routes() >= MOST;
        is_full && !routes.contains(route)
    }

    /// Another connection takes a route.
    pub(super) fn take(&mut self, connection: ConsumerId, route: &str) {
        let of_route = |it: &Asked| it.connection == connection && *it.route == *route;
        let is_in_effect = |it: &Asked| it.is_applied == Some(true);
        let last = self
            .asked
            .iter()
            .rposition(|it| of_route(it) && is_in_effect(it));
        let before = self.asked.iter_mut().take(last.map_or(0, |last| last + 1));
        for asked in before.filter(|it| of_route(it)) {
            asked.is_taken = true;
        }
    }

    pub(super) fn ask(
        &mut self,
        connection: ConsumerId,
        route: Arc<str>,
        has: bool,
        (credit, accept): (Option<u16>, Option<Accept>),
    ) {
        self.asked.push(Asked {
            connection,
            route,
            has,
            credit,
            accept,
            is_applied: None,
            is_sent: true,
            is_needed: false,
            is_taken: false,
        });
    }

    pub(super) fn of(
        &mut self,
        connection: ConsumerId,
        id: &str,
    ) -> impl Iterator<Item = &mut Sent> {
        let sent = self.sent.iter_mut();
        sent.filter(move |it| it.connection == connection && *it.id == *id)
    }

    pub(super) fn in_flight(&mut self, connection: ConsumerId, id: &str) -> Option<&mut Sent> {
        self.of(connection, id).find(|it| it.is_in_flight)
    }
}
