use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};

use crate::unanswered::Answer;
use crate::{Delivery, ListenError, Nack, Subscribe};

/// A handler about to be put to work: `.await` does it, for as long as the route is this client's.
/// See [`Client::listen`](crate::Client::listen).
#[derive(Clone, Debug)]
#[must_use = "nothing is handled until it is awaited"]
pub struct Listen<H> {
    subscribe: Subscribe,
    handler: H,
    confirm: bool,
}

impl<H> Listen<H> {
    pub(crate) fn new(subscribe: Subscribe, handler: H) -> Self {
        Self {
            subscribe,
            handler,
            confirm: false,
        }
    }

    /// How many deliveries are handled at a time, from 1. By default the server's credit, 256.
    ///
    /// It is the connection's credit too: see [`Subscribe::credit`].
    pub fn credit(mut self, deliveries: u16) -> Self {
        self.subscribe = self.subscribe.credit(deliveries);
        self
    }

    /// Takes the route from all who share it: see [`Subscribe::exclusive`].
    pub fn exclusive(mut self) -> Self {
        self.subscribe = self.subscribe.exclusive();
        self
    }

    /// Has every ack confirmed, and logs those that came too late. A delivery then counts as being
    /// handled until its task's removal is on disk.
    pub fn confirm(mut self) -> Self {
        self.confirm = true;
        self
    }
}

impl<H, F, E> Listen<H>
where
    H: Fn(Delivery) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Into<Nack> + Send + 'static,
{
    async fn run(self) -> Result<(), ListenError> {
        let Self {
            subscribe,
            handler,
            confirm,
        } = self;
        let handler = Arc::new(handler);
        let mut deliveries = subscribe.await?;
        // Aborted when this is dropped; the deliveries that are being handled are then given back.
        let mut running = JoinSet::new();
        loop {
            let room = running.len() < usize::from(deliveries.credit());
            tokio::select! {
                Some(ended) = running.join_next() => note(ended),
                next = deliveries.next(), if room => match next {
                    Some(unanswered) => {
                        let (delivery, answer) = unanswered.split();
                        running.spawn(handle(Arc::clone(&handler), delivery, answer, confirm));
                    }
                    None => break,
                },
            }
        }
        while let Some(ended) = running.join_next().await {
            note(ended);
        }
        deliveries.outcome()
    }
}

/// If the handler panics, the answer is dropped with it, and so is a nack.
async fn handle<H, F, E>(handler: Arc<H>, delivery: Delivery, answer: Answer, confirm: bool)
where
    H: Fn(Delivery) -> F,
    F: Future<Output = Result<(), E>>,
    E: Into<Nack>,
{
    let handled = handler(delivery.clone()).await.map_err(Into::into);
    let (route, id) = (delivery.route(), delivery.id());
    match handled {
        Ok(()) if confirm => match answer.ack_confirmed().await {
            Ok(true) => {}
            Ok(false) => tracing::warn!(route, id, "the ack came too late: it removed nothing"),
            Err(error) => tracing::warn!(route, id, %error, "the ack is not confirmed"),
        },
        Ok(()) => answer.ack(),
        Err(nack) => {
            tracing::warn!(
                route,
                id,
                reason = nack.reason,
                "the handler failed: given back"
            );
            answer.nack(&nack);
        }
    }
}

fn note(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "the handler panicked: given back");
    }
}

/// Resolves with `Ok` when the client is closed and all handlers have ended.
///
/// # Cancel safety
///
/// Dropping it unregisters the route, aborts the handlers that run and gives their deliveries back.
impl<H, F, E> IntoFuture for Listen<H>
where
    H: Fn(Delivery) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Into<Nack> + Send + 'static,
{
    type Output = Result<(), ListenError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
