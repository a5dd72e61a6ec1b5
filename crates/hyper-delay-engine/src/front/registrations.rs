use std::{collections::BTreeMap, sync::Arc};

use super::NewIds;
use hyper_delay_protocol::{RegisterMode, own_route::OwnRoute};

/// The routes of a connection: those that it has registered, and those that it has asked for and
/// that are not answered.
///
/// A request changes what is *asked*; only its answer changes what is *registered*. A connection has
/// a route if the last unanswered request for it registers it, or there is none and it is registered:
/// so requests that follow each other without a wait for replies mean what they mean one by one.
#[derive(Debug, Default)]
pub(super) struct Registrations {
    registered: BTreeMap<Arc<str>, RegisterMode>,
    /// The routes with unanswered requests.
    asked: BTreeMap<Arc<str>, AskedChanges>,
    /// The number of the last request.
    last: u64,
    /// How many routes the connection has.
    len: usize,
    /// The route that the server made for it, because it scheduled without one.
    own: Option<Arc<str>>,
}

/// The unanswered requests for a route.
#[derive(Debug, Default)]
struct AskedChanges {
    /// In their order.
    changes: Vec<AskedChange>,
    /// The number of the last one that was applied. The answers to those before it come too late.
    applied: u64,
}

impl AskedChanges {
    /// The last one that counts.
    fn last(&self) -> Option<&AskedChange> {
        let last = self.changes.last();
        last.filter(|change| change.number > self.applied)
    }

    /// The last one that counts and that the scheduler was asked for.
    fn last_sent(&self) -> Option<&AskedChange> {
        let last = self.changes.iter().rfind(|change| change.is_sent);
        last.filter(|change| change.number > self.applied)
    }

    fn last_sent_mut(&mut self) -> Option<&mut AskedChange> {
        let last = self.changes.iter_mut().rfind(|change| change.is_sent);
        last.filter(|change| change.number > self.applied)
    }

    /// The scheduler is asked for the change of that number now.
    fn send(&mut self, number: u64) {
        if let Some(change) = self.changes.iter_mut().find(|it| it.number == number) {
            change.is_sent = true;
        }
    }

    fn is_needed(&self, number: u64) -> bool {
        let change = self.changes.iter().find(|it| it.number == number);
        change.is_some_and(|change| change.is_needed)
    }
}

#[derive(Debug, Clone, Copy)]
struct AskedChange {
    number: u64,
    /// `None`: the route is unregistered.
    mode: Option<RegisterMode>,
    /// The scheduler was asked, and answers. Otherwise it is asked once the schedule without a route is
    /// accepted that needs the route.
    is_sent: bool,
    /// An accepted schedule needs the route, too: it is registered even if the client asks in vain.
    is_needed: bool,
}

/// A change of a registration that is asked for. Its answer applies it or drops it.
#[derive(Debug)]
#[must_use = "the answer applies it or drops it"]
pub(super) struct PendingRoute {
    pub(super) route: Arc<str>,
    change: AskedChange,
}

impl PendingRoute {
    /// How the route is registered. `None`: it is unregistered.
    pub(super) const fn mode(&self) -> Option<RegisterMode> {
        self.change.mode
    }
}

/// Whether a connection has a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// As before.
    Unchanged,
    /// It has it now.
    Gained,
    /// It has it no longer.
    Lost,
}

impl Registrations {
    /// The number of routes that the connection has.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn has(&self, route: &str) -> bool {
        self.mode_of(route).is_some()
    }

    /// Whether the connection may not have the route once a schedule that is sent now is accepted.
    pub(super) fn may_lack(&self, route: &str) -> bool {
        let ends = |asked: &AskedChanges| asked.changes.iter().any(|it| it.mode.is_none());
        !self.registered.contains_key(route) || self.asked.get(route).is_some_and(ends)
    }

    fn mode_of(&self, route: &str) -> Option<RegisterMode> {
        match self.asked.get(route).and_then(AskedChanges::last) {
            Some(last) => last.mode,
            None => self.registered.get(route).copied(),
        }
    }

    /// The routes that the connection has, in order of name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, RegisterMode)> {
        let asked = self
            .asked
            .keys()
            .filter(|route| !self.registered.contains_key(*route));
        let mut routes: Vec<&Arc<str>> = self.registered.keys().chain(asked).collect();
        if !self.asked.is_empty() {
            routes.sort_unstable();
        }
        let routes = routes.into_iter();
        routes.filter_map(|route| Some((route, self.mode_of(route)?)))
    }

    /// The routes that the scheduler has registered, or was asked to, in order of name.
    pub(super) fn sent(&self) -> impl Iterator<Item = (&Arc<str>, RegisterMode)> {
        let routes = self.iter();
        routes.filter_map(|(route, _)| Some((route, self.sent_mode_of(route)?)))
    }

    fn sent_mode_of(&self, route: &str) -> Option<RegisterMode> {
        match self.asked.get(route).and_then(AskedChanges::last_sent) {
            Some(last) => last.mode,
            None => self.registered.get(route).copied(),
        }
    }

    /// Whether the scheduler has registered a route of this kind, or was asked to.
    pub(super) fn has_sent(&self, is_it: impl Fn(&str) -> bool) -> bool {
        let mut routes = self.registered.keys().chain(self.asked.keys());
        routes.any(|route| is_it(route) && self.sent_mode_of(route).is_some())
    }

    /// The only route that the connection has, if it has exactly one.
    fn only(&self) -> Option<&Arc<str>> {
        match (self.len, self.asked.is_empty()) {
            (1, true) => self.registered.keys().next(),
            (1, false) => self.iter().next().map(|(route, _)| route),
            _ => None,
        }
    }

    /// Returns the route of a schedule without one: the only one that the connection has, or its own.
    pub(super) fn default_route(&mut self, ids: &mut NewIds) -> Arc<str> {
        if let Some(route) = self.only() {
            return route.clone();
        }
        let own = self.own.get_or_insert_with(|| OwnRoute::make(ids.make()));
        own.clone()
    }

    /// Whether that is the connection's own route.
    pub(super) fn is_own(&self, route: &str) -> bool {
        self.own.as_deref() == Some(route)
    }

    /// The connection's own route, if it has one.
    pub(super) const fn own(&self) -> Option<&Arc<str>> {
        self.own.as_ref()
    }

    /// The connection asks for a route, or no longer for it (`None`).
    pub(super) fn ask(
        &mut self,
        route: Arc<str>,
        mode: Option<RegisterMode>,
    ) -> (PendingRoute, Effect) {
        self.add(route, mode, true)
    }

    /// The connection needs its own route, which is registered after its schedule is accepted.
    pub(super) fn ask_later(&mut self, route: Arc<str>) -> (PendingRoute, Effect) {
        self.add(route, Some(RegisterMode::Shared), false)
    }

    /// The schedule is accepted that needs a route. Returns what the scheduler is to register for it. If
    /// there is nothing, because the connection has the route, or what it has asked for meanwhile
    /// decides, this drops the change.
    pub(super) fn ask_now(&mut self, pending: PendingRoute) -> Result<PendingRoute, Effect> {
        let PendingRoute { route, mut change } = pending;
        let is_registered = self.registered.contains_key(&route);
        let asked = self.asked.get_mut(&route);
        let asked = asked.filter(|asked| !is_registered && change.number > asked.applied);
        if let Some(asked) = asked {
            match asked.last_sent_mut() {
                Some(decides) => decides.is_needed |= decides.mode.is_some(),
                None => {
                    asked.send(change.number);
                    change.is_sent = true;
                    return Ok(PendingRoute { route, change });
                }
            }
        }
        Err(self.refuse(PendingRoute { route, change }))
    }

    fn add(
        &mut self,
        route: Arc<str>,
        mode: Option<RegisterMode>,
        is_sent: bool,
    ) -> (PendingRoute, Effect) {
        self.last += 1;
        let change = AskedChange {
            number: self.last,
            mode,
            is_sent,
            is_needed: false,
        };
        let effect = self.update(&route, |it| {
            let asked = it.asked.entry(route.clone()).or_default();
            asked.changes.push(change);
        });
        (PendingRoute { route, change }, effect)
    }

    /// What was asked for has happened.
    pub(super) fn apply(&mut self, pending: PendingRoute) -> Effect {
        let PendingRoute { route, change } = pending;
        self.update(&route, |it| {
            if it.settle(&route, change, true) {
                match change.mode {
                    Some(mode) => it.registered.insert(route.clone(), mode),
                    None => it.registered.remove(&route),
                };
            }
        })
    }

    /// What was asked for has not happened, and will not: unless an accepted schedule needs the route.
    pub(super) fn refuse(&mut self, pending: PendingRoute) -> Effect {
        let asked = self.asked.get(&pending.route);
        if asked.is_some_and(|asked| asked.is_needed(pending.change.number)) {
            return self.apply(pending);
        }
        let PendingRoute { route, change } = pending;
        self.update(&route, |it| {
            it.settle(&route, change, false);
        })
    }

    /// Another connection has taken the route. What is asked for can still bring it back.
    pub(super) fn remove(&mut self, route: &str) -> Effect {
        self.update(route, |it| {
            it.registered.remove(route);
        })
    }

    /// A request is answered. Returns whether no later one for the route was applied before.
    fn settle(&mut self, route: &str, change: AskedChange, is_applied: bool) -> bool {
        let Some(asked) = self.asked.get_mut(route) else {
            debug_assert!(false, "an unanswered request is known");
            return true;
        };
        asked.changes.retain(|it| it.number != change.number);
        let is_last = change.number > asked.applied;
        if is_applied && is_last {
            asked.applied = change.number;
        }
        if asked.changes.is_empty() {
            self.asked.remove(route);
        }
        is_last
    }

    fn update(&mut self, route: &str, change: impl FnOnce(&mut Self)) -> Effect {
        let before = self.has(route);
        change(self);
        match (before, self.has(route)) {
            (false, true) => {
                self.len += 1;
                Effect::Gained
            }
            (true, false) => {
                self.len -= 1;
                Effect::Lost
            }
            _ => Effect::Unchanged,
        }
    }
}

#[cfg(test)]
mod tests;
