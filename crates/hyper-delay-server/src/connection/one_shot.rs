//! Requests of peers without a connection of their own, such as those over HTTP.
//!
//! Each is answered by the code that answers a line of a connection. Its sender is no consumer: it
//! has no routes and receives no deliveries.

use std::{
    fmt,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Semaphore, watch},
    time::timeout,
};

use super::{ConnectionContext, Slot, authentication::Authentication, dispatch::RequestDispatcher};
use crate::{
    driver::{EventSender, ServerEvent},
    outbox::ConnectionOutbox,
};
use hyper_delay_engine::front::ConsumerMessage;
use hyper_delay_engine::scheduler::ConsumerId;
use hyper_delay_protocol::{Line, Reply, access::Grant};
use hyper_delay_store::ReadStore;

/// The maximum number of requests in flight. The listener has fewer connections, with one each.
const MAX_IN_FLIGHT: u32 = 1024;

/// The time that a request has.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The first id of a one-shot request. Connections count from 1.
const FIRST: ConsumerId = 1 << 63;

/// A request and its sender.
#[derive(Debug)]
pub struct OneShotRequest {
    /// The request.
    pub line: Line,
    /// The address of its sender.
    pub address: SocketAddr,
    /// The grant of the sender. `None`: it may send the request without one.
    pub grant: Option<Arc<Grant>>,
}

/// The reason why a request has no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoReply {
    /// The server is shutting down. The request has no effect.
    ShuttingDown,
    /// The server has ended, or did not answer in time. The request can still take effect.
    Unknown,
}

/// The future of a reply.
pub type PendingReply = Pin<Box<dyn Future<Output = Result<Reply, NoReply>> + Send>>;

/// Sends one-shot requests.
pub struct OneShotClient<S> {
    /// The context of connections, with the configuration in force.
    shared: watch::Receiver<Arc<ConnectionContext<S>>>,
    permits: Arc<Semaphore>,
    last: Arc<AtomicU64>,
}

impl<S> fmt::Debug for OneShotClient<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneShotClient").finish_non_exhaustive()
    }
}

impl<S> Clone for OneShotClient<S> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            permits: self.permits.clone(),
            last: self.last.clone(),
        }
    }
}

impl<S: ReadStore> OneShotClient<S> {
    /// Takes requests with what connections share.
    #[must_use]
    pub fn new(shared: watch::Receiver<Arc<ConnectionContext<S>>>) -> Self {
        Self {
            shared,
            permits: Arc::new(Semaphore::new(MAX_IN_FLIGHT as usize)),
            last: Arc::new(AtomicU64::new(FIRST)),
        }
    }

    /// Sends a request. If the future of the answer is dropped, the request can still take effect.
    #[must_use]
    pub fn send(&self, request: OneShotRequest) -> PendingReply {
        let client = self.clone();
        Box::pin(async move {
            let Ok(_permit) = client.permits.acquire().await else {
                return Err(NoReply::ShuttingDown);
            };
            let id = client.last.fetch_add(1, Ordering::Relaxed);
            let shared = client.shared.borrow().clone();
            let answer = timeout(TIMEOUT, answer(&shared, id, request)).await;
            answer.ok().flatten().ok_or(NoReply::Unknown)
        })
    }

    /// Refuses new requests, and waits for those in flight.
    pub(crate) async fn drain(&self) {
        let _all = self.permits.acquire_many(MAX_IN_FLIGHT).await;
        self.permits.close();
    }
}

async fn answer<S: ReadStore>(
    shared: &Arc<ConnectionContext<S>>,
    id: ConsumerId,
    request: OneShotRequest,
) -> Option<Reply> {
    let outbox = Arc::new(ConnectionOutbox::new(
        id,
        shared.events.reports(),
        shared.config.connection_write_channel,
        shared.clock,
    ));
    let event = ServerEvent::OneShot(id, outbox.clone());
    shared.events.send(event).ok()?;
    let _guard = RemoveOnDrop(&shared.events, id);
    let slot = Slot::of_one_shot(request.address.ip());
    let authentication = Authentication::of_one_shot(shared, &slot, request.grant);
    let address = Some(request.address);
    let mut requests =
        RequestDispatcher::new(shared, (id, &outbox), authentication, &slot, address);
    requests.dispatch(Ok(request.line), 1, 1).await;
    requests.flush();
    let messages = outbox.take_all().await?;
    let mut replies = messages.into_iter();
    replies.find_map(|message| match message {
        ConsumerMessage::Reply { reply, .. } => Some(reply),
        ConsumerMessage::Done(_) | ConsumerMessage::Deliver { .. } => None,
    })
}

/// Removes the outbox of a request when it is dropped, with or without a reply.
struct RemoveOnDrop<'a>(&'a EventSender, ConsumerId);

impl Drop for RemoveOnDrop<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(ServerEvent::Disconnected(self.1));
    }
}
