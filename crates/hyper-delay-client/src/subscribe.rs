use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::engine::{Command, Inbox, Registration};
use crate::wire::Request;
use crate::{Client, Deliveries, ListenError, RequestError};

/// The registration of a route: `.await` sends it. See [`Client::deliveries`].
#[derive(Clone, Debug)]
#[must_use = "the route is registered when it is awaited"]
pub struct Subscribe {
    client: Client,
    route: String,
    credit: Option<u16>,
    exclusive: bool,
}

impl Subscribe {
    pub(crate) fn new(client: Client, route: String) -> Self {
        Self {
            client,
            route,
            credit: None,
            exclusive: false,
        }
    }

    /// Sets the maximum number of deliveries without an answer, from 1. Default: the server's, 256.
    ///
    /// This is the credit of the connection, over all routes of this client; the last value
    /// applies. Use another client for a route that needs its own limit.
    pub fn credit(mut self, deliveries: u16) -> Self {
        self.credit = Some(deliveries);
        self
    }

    /// Takes the route from all other consumers. Default: the route is shared. A later registration
    /// takes the route from this one, which ends with [`Replaced`](crate::End::Replaced). A client
    /// that reconnects registers again, and so takes the route.
    pub fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    async fn register(self) -> Result<Deliveries, ListenError> {
        let Self {
            client,
            route,
            credit,
            exclusive,
        } = self;
        // The server would register a route of that name, which has no tasks.
        if route.ends_with('*') {
            return Err(ListenError::Wildcard { route });
        }
        let limit = client.request_timeout();
        let payloads = client.payloads();
        let handle = client.into_handle();
        let failed = |route, source| ListenError::Register { route, source };

        let serial = handle.tag();
        let request = Request {
            tag: Some(serial),
            route_key: Some(&route),
            credit,
            mode: exclusive.then_some("exclusive"),
            accept: payloads.accepted(),
            ..Request::of("register")
        };
        let line = request.line();
        if let Err(source) = handle.check(&line) {
            return Err(failed(route, source));
        }

        let inbox = Arc::new(Inbox::new(credit));
        let (reply, answer) = oneshot::channel();
        let registration = Registration {
            route: route.clone(),
            serial,
            line,
            inbox: Arc::clone(&inbox),
            reply,
        };
        if !handle.command(Command::Register(registration)) {
            return Err(failed(route, RequestError::Closed));
        }
        // From here on, dropping it unregisters the route.
        let deliveries = Deliveries {
            route: route.clone(),
            serial,
            inbox,
            handle,
            payloads,
        };
        let answer = match limit {
            None => answer.await,
            Some(limit) => match timeout(limit, answer).await {
                Ok(answer) => answer,
                Err(_) => return Err(failed(route, RequestError::TimedOut { limit })),
            },
        };
        match answer {
            Ok(registered) => registered.map(|()| deliveries),
            Err(_) => Err(failed(route, RequestError::Closed)),
        }
    }
}

/// # Cancel safety
///
/// Dropped before it resolves, the route is unregistered again.
impl IntoFuture for Subscribe {
    type Output = Result<Deliveries, ListenError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.register())
    }
}
