use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::output::Output;
use super::{Inbox, Registration};
use crate::wire::{Registered, Tag};
use crate::{End, ListenError, Refusal, RequestError, Unanswered};

/// The routes of this client's listeners.
#[derive(Debug, Default)]
pub(super) struct Routes {
    by_name: HashMap<String, Route>,
}

#[derive(Debug)]
struct Route {
    serial: Tag,
    /// The line that registers it.
    line: Vec<u8>,
    inbox: Arc<Inbox>,
    /// The caller that waits for the first registration.
    reply: Option<oneshot::Sender<Result<(), ListenError>>>,
    /// Whether the registration on this connection has its reply.
    registered: bool,
}

impl Route {
    /// The number of deliveries that may wait for the listener.
    fn room(&self) -> usize {
        // The server's credit is unknown before the reply; 65,535 is the maximum.
        let credit = if self.registered {
            self.inbox.credit()
        } else {
            u16::MAX
        };
        usize::from(credit)
    }
}

impl Routes {
    /// Adds a route, and registers it if there is a connection.
    pub(super) fn add(&mut self, registration: Registration, out: Option<&mut Output>) {
        let Registration {
            route: name,
            serial,
            line,
            inbox,
            reply,
        } = registration;
        if self.by_name.contains_key(&name) {
            let _ = reply.send(Err(ListenError::AlreadyListening { route: name }));
            return;
        }
        let reply = Some(reply);
        let route = Route {
            serial,
            line,
            inbox,
            reply,
            registered: false,
        };
        if let Some(out) = out {
            out.push(&route.line);
        }
        self.by_name.insert(name, route);
    }

    /// Removes the route of a listener. Returns false if another listener has the route now.
    pub(super) fn remove(&mut self, name: &str, serial: Tag) -> bool {
        let found = self
            .by_name
            .get(name)
            .is_some_and(|route| route.serial == serial);
        if found {
            self.by_name.remove(name);
        }
        found
    }

    /// Handles the reply to a registration. Returns false if no route has this tag.
    pub(super) fn registered(&mut self, serial: Tag, answer: &Registered) -> bool {
        let Some(route) = self
            .by_name
            .values_mut()
            .find(|route| route.serial == serial)
        else {
            return false;
        };
        if let Some(credit) = answer.credit {
            let credit = u16::try_from(credit.max(1)).unwrap_or(u16::MAX);
            route.inbox.set_credit(credit);
        }
        route.registered = true;
        if let Some(reply) = route.reply.take() {
            let _ = reply.send(Ok(()));
        }
        true
    }

    /// Handles the refusal of a registration. Returns false if no route has this tag.
    pub(super) fn refused(&mut self, serial: Tag, refusal: &Refusal) -> bool {
        let Some(name) = self.name_of(serial) else {
            return false;
        };
        if let Some(mut route) = self.by_name.remove(&name) {
            if let Some(reply) = route.reply.take() {
                let source = RequestError::Refused(refusal.clone());
                let _ = reply.send(Err(ListenError::Register {
                    route: name,
                    source,
                }));
            }
            route.inbox.finish(End::Refused(refusal.clone()));
        }
        true
    }

    /// Whether a route has this tag.
    pub(super) fn is_asked(&self, serial: Tag) -> bool {
        self.name_of(serial).is_some()
    }

    /// Ends a route that the server has unregistered.
    ///
    /// A notice that arrives before the reply to a registration concerns an earlier listener.
    pub(super) fn unregistered(&mut self, name: &str, end: End) {
        if self.by_name.get(name).is_some_and(|route| route.registered) {
            if let Some(route) = self.by_name.remove(name) {
                route.inbox.finish(end);
            }
        }
    }

    /// Passes a delivery to its listener. Gives it back if there is no listener or if as many
    /// deliveries wait as the credit allows: some of those have timed out at the server.
    pub(super) fn deliver(&self, unanswered: Unanswered) {
        let left = match self.by_name.get(unanswered.route()) {
            Some(route) => route.inbox.put(unanswered, route.room()).err(),
            None => Some(unanswered),
        };
        if let Some(unanswered) = left {
            let (route, id) = (unanswered.route(), unanswered.id());
            tracing::debug!(
                route,
                id,
                "no listener has room for the delivery; it is given back"
            );
            unanswered.give_back_unseen(None);
        }
    }

    /// Discards the deliveries of a lost connection.
    pub(super) fn lost(&mut self) {
        for route in self.by_name.values_mut() {
            route.registered = false;
            route.inbox.clear();
        }
    }

    /// Registers every route on a new connection, in the old order: the last credit applies.
    pub(super) fn resume(&self, out: &mut Output) {
        let mut routes: Vec<_> = self.by_name.values().collect();
        routes.sort_unstable_by_key(|route| route.serial);
        for route in routes {
            out.push(&route.line);
        }
    }

    /// Ends all routes and returns their names.
    pub(super) fn close(&mut self) -> Vec<String> {
        let routes = std::mem::take(&mut self.by_name);
        routes
            .into_iter()
            .map(|(name, route)| {
                route.inbox.finish(End::Closed);
                name
            })
            .collect()
    }

    fn name_of(&self, serial: Tag) -> Option<String> {
        let found = self
            .by_name
            .iter()
            .find(|(_, route)| route.serial == serial);
        found.map(|(name, _)| name.clone())
    }
}
