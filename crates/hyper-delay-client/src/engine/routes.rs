use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Inbox, Registration};
use crate::wire::{Registered, Tag};
use crate::{End, ListenError, Refusal, RequestError, Unanswered};

/// The routes that are listened to.
#[derive(Debug, Default)]
pub(super) struct Routes {
    by_name: HashMap<String, Route>,
}

#[derive(Debug)]
struct Route {
    serial: Tag,
    /// Registers it.
    line: Vec<u8>,
    inbox: Arc<Inbox>,
    /// Whoever waits for the first registration.
    reply: Option<oneshot::Sender<Result<(), ListenError>>>,
    /// Whether this connection's registration has its answer yet.
    registered: bool,
}

impl Route {
    /// How many deliveries may wait for the listener.
    fn room(&self) -> usize {
        // Before the answer the server's credit is not known, and 65,535 is the most it can be.
        let credit = if self.registered {
            self.inbox.credit()
        } else {
            u16::MAX
        };
        usize::from(credit)
    }
}

impl Routes {
    /// Registers the route, if there is something `out` to do it by.
    pub(super) fn add(&mut self, registration: Registration, out: Option<&mut Vec<u8>>) {
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
            out.extend_from_slice(&route.line);
        }
        self.by_name.insert(name, route);
    }

    /// The listener of that registration is gone. False if the route was not its any more.
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

    /// The server has registered it. False if it is of no route here.
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

    /// The server has refused to register it. False if it is of no route here.
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

    /// Whether this is the registration of a route here.
    pub(super) fn is_asked(&self, serial: Tag) -> bool {
        self.name_of(serial).is_some()
    }

    /// The server has taken the route away.
    ///
    /// While a registration has no answer this is of the one before it, by an earlier listener.
    pub(super) fn unregistered(&mut self, name: &str, end: End) {
        if self.by_name.get(name).is_some_and(|route| route.registered) {
            if let Some(route) = self.by_name.remove(name) {
                route.inbox.finish(end);
            }
        }
    }

    /// Hands a delivery to its listener. It is given back, by being dropped, if there is none, or if
    /// as many wait as the credit allows: then the server has given up some of them already.
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
                "nobody has room for the delivery; it is given back"
            );
        }
    }

    /// The connection is gone, and what came by it is of no use.
    pub(super) fn lost(&mut self) {
        for route in self.by_name.values_mut() {
            route.registered = false;
            route.inbox.clear();
        }
    }

    /// There is a connection again. The order is the old one: the credit sent last holds.
    pub(super) fn resume(&self, out: &mut Vec<u8>) {
        let mut routes: Vec<_> = self.by_name.values().collect();
        routes.sort_unstable_by_key(|route| route.serial);
        for route in routes {
            out.extend_from_slice(&route.line);
        }
    }

    /// Ends them all, and says which they were.
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
