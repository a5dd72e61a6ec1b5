use std::any::Any;
use std::future::{Future, IntoFuture, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use tokio::task::{JoinError, JoinSet};
use tracing::Instrument;

use crate::unanswered::Answer;
use crate::{Delivery, ListenError, Nack, Subscribe};

/// A handler for a route: `.await` registers the route and runs the handler. See
/// [`Client::listen`](crate::Client::listen).
///
/// Each call of the handler is in a `tracing` span `delivery` with the fields `route`, `id`,
/// `attempt` and, if the task has this header, `traceparent`.
#[derive(Clone, Debug)]
#[must_use = "the handler runs when it is awaited"]
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

    /// Sets the maximum number of deliveries that are handled at a time, from 1. Default: the
    /// server's credit, 256.
    ///
    /// This is also the credit of the connection: see [`Subscribe::credit`].
    pub fn credit(mut self, deliveries: u16) -> Self {
        self.subscribe = self.subscribe.credit(deliveries);
        self
    }

    /// Takes the route from all other consumers: see [`Subscribe::exclusive`].
    pub fn exclusive(mut self) -> Self {
        self.subscribe = self.subscribe.exclusive();
        self
    }

    /// Confirms every ack, and logs acks that were too late. A delivery is then in progress until
    /// the removal of its task is on disk.
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
        // Aborted when this is dropped, which gives the deliveries in progress back.
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

/// Runs the handler and answers as it says. A panic gives the delivery back, too. So does an abort,
/// which is no failure.
async fn handle<H, F, E>(handler: Arc<H>, delivery: Delivery, answer: Answer, confirm: bool)
where
    H: Fn(Delivery) -> F,
    F: Future<Output = Result<(), E>>,
    E: Into<Nack>,
{
    let answer = answer.unharmed_if_dropped();
    let (route, id) = (delivery.route(), delivery.id());
    let (attempt, traceparent) = (delivery.attempt(), delivery.header("traceparent"));
    let span = tracing::info_span!("delivery", route, id, attempt, traceparent);
    let run = async { handler(delivery.clone()).await }.instrument(span);
    let handled = match caught(run).await {
        Ok(handled) => handled.map_err(Into::into),
        Err(panic) => {
            tracing::error!(
                route,
                id,
                panic,
                "the handler panicked; the delivery is given back"
            );
            // The message of a panic can have parts of a payload, so it stays in this process.
            answer.nack(&Nack::backoff().because("the handler panicked"));
            return;
        }
    };
    match handled {
        Ok(()) if confirm => match answer.ack_confirmed().await {
            Ok(true) => {}
            Ok(false) => tracing::warn!(route, id, "the ack was too late and removed nothing"),
            Err(error) => tracing::warn!(route, id, %error, "the ack is not confirmed"),
        },
        Ok(()) => answer.ack(),
        Err(nack) => {
            tracing::warn!(
                route,
                id,
                reason = nack.reason,
                "the handler failed; the delivery is given back"
            );
            answer.nack(&nack);
        }
    }
}

/// Runs a future until it is ready, or panics: then the error is the message of the panic.
async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        // After a panic the future is not polled again.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(text_of(&*panic))),
        }
    })
    .await
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it has no message").to_owned()
}

fn note(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "the handler panicked; the delivery is given back");
    }
}

/// Resolves to `Ok` when the client is closed and all handlers have ended.
///
/// # Cancel safety
///
/// Dropping it unregisters the route, aborts the running handlers and gives their deliveries back,
/// which is no failure of them: see [`Nack::unharmed`].
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
