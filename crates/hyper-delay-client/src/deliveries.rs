use std::sync::Arc;

use crate::engine::{Command, Handle, Inbox};
use crate::wire::Tag;
use crate::{End, ListenError, RequestError, Unanswered};

/// The deliveries of a route, one after another: what [`listen`](crate::Client::listen) is made of.
/// [`Client::deliveries`](crate::Client::deliveries) makes one.
///
/// Dropping it unregisters the route and gives back what has come and was not taken. What
/// was taken can still be answered.
#[derive(Debug)]
pub struct Deliveries {
    pub(crate) route: String,
    pub(crate) serial: Tag,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) handle: Arc<Handle>,
}

impl Deliveries {
    /// The next delivery; `None` when there are no more, for the reason that [`end`](Self::end)
    /// tells. Waits over losses of the connection; what had come before one and was not taken is
    /// not given out, as the server has taken it back.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, it has taken no delivery.
    pub async fn next(&mut self) -> Option<Unanswered> {
        self.inbox.take().await
    }

    /// Why no more deliveries come; `None` while they do.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        self.inbox.end()
    }

    /// Why no more deliveries come, unless that is because the client was closed, or more do come.
    ///
    /// # Errors
    ///
    /// The server has taken the route away, or not given it back after a reconnect.
    pub fn outcome(&self) -> Result<(), ListenError> {
        let route = self.route.clone();
        match self.end() {
            None | Some(End::Closed) => Ok(()),
            Some(End::Replaced) => Err(ListenError::Replaced { route }),
            Some(End::Unregistered { reason }) => Err(ListenError::Unregistered {
                route,
                reason: reason.clone(),
            }),
            Some(End::Refused(refusal)) => {
                let source = RequestError::Refused(refusal.clone());
                Err(ListenError::Register { route, source })
            }
        }
    }

    /// The route.
    #[must_use]
    pub fn route(&self) -> &str {
        &self.route
    }

    /// How many deliveries the server lets this client have without an answer, over all its routes.
    #[must_use]
    pub fn credit(&self) -> u16 {
        self.inbox.credit()
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        let (route, serial) = (std::mem::take(&mut self.route), self.serial);
        // First, so that what is given back does not come again by this way.
        self.handle.command(Command::Unregister { route, serial });
        self.inbox.finish(End::Closed);
    }
}
