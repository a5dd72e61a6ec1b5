use std::sync::Arc;

use crate::engine::{Command, Handle, Inbox};
use crate::payloads::Payloads;
use crate::wire::Tag;
use crate::{End, ListenError, RequestError, Unanswered};

/// The deliveries of a route, one by one. [`Client::deliveries`](crate::Client::deliveries) makes
/// it, and [`listen`](crate::Client::listen) uses it.
///
/// Dropping it unregisters the route and gives back the deliveries that were not taken, which is no
/// failure of them. Deliveries that were taken can still be answered.
#[derive(Debug)]
pub struct Deliveries {
    pub(crate) route: String,
    pub(crate) serial: Tag,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) handle: Arc<Handle>,
    pub(crate) payloads: Payloads,
}

impl Deliveries {
    /// Returns the next delivery, or `None` after the last one; [`end`](Self::end) has the reason.
    /// Waits over reconnects. Deliveries of a lost connection that were not taken are discarded, as
    /// the server has taken them back. Gives back a delivery whose payload does not decompress.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, no delivery is taken.
    pub async fn next(&mut self) -> Option<Unanswered> {
        loop {
            let unanswered = self.inbox.take().await?;
            if let Some(unanswered) = unanswered.inflated(self.payloads) {
                return Some(unanswered);
            }
        }
    }

    /// Why there are no more deliveries; `None` while there may be more.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        self.inbox.end()
    }

    /// Returns `Ok` while there may be more deliveries, and after the client was closed.
    ///
    /// # Errors
    ///
    /// The server has unregistered the route, or refused it after a reconnect.
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

    /// The maximum number of deliveries of this client without an answer, over all its routes.
    #[must_use]
    pub fn credit(&self) -> u16 {
        self.inbox.credit()
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        let (route, serial) = (std::mem::take(&mut self.route), self.serial);
        // First, so that deliveries that are given back do not arrive here again.
        self.handle.command(Command::Unregister { route, serial });
        self.inbox.finish(End::Closed);
    }
}
