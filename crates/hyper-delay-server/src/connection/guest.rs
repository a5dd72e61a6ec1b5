//! Requests of peers without a connection of their own, such as those over HTTP.
//!
//! Each is answered by the code that answers a line of a connection. A guest is no consumer: it has
//! no routes and receives no deliveries.

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

use super::{Shared, Slot, authentication::Authentication, requests::Requests};
use crate::{
    driver::{Event, Events},
    outbox::Outbox,
};
use hyper_delay_engine::scheduler::{ConsumerId, Message};
use hyper_delay_protocol::{Line, Reply, access::Grant};
use hyper_delay_store::ReadStore;

/// The most requests under way. The listener has fewer connections, with one request each.
const MOST: u32 = 1024;

/// The time that a request has.
const PATIENCE: Duration = Duration::from_secs(30);

/// The first number of a guest. Connections count from 1.
const FIRST: ConsumerId = 1 << 63;

/// A request and its sender.
#[derive(Debug)]
pub struct Asked {
    /// The request.
    pub line: Line,
    /// The address of its sender.
    pub address: SocketAddr,
    /// What limits the sender. `None`: it was decided already that it may send the request.
    pub grant: Option<Arc<Grant>>,
}

/// Why a request has no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoReply {
    /// The server is shutting down. The request has no effect.
    ShuttingDown,
    /// The server has ended, or did not answer in time. The request can still take effect.
    Unknown,
}

/// A reply on its way.
pub type Answer = Pin<Box<dyn Future<Output = Result<Reply, NoReply>> + Send>>;

/// Takes the requests of guests.
pub struct Guests<S> {
    /// What the connections share, with the configuration in force.
    shared: watch::Receiver<Arc<Shared<S>>>,
    room: Arc<Semaphore>,
    last: Arc<AtomicU64>,
}

impl<S> fmt::Debug for Guests<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guests").finish_non_exhaustive()
    }
}

impl<S> Clone for Guests<S> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            room: self.room.clone(),
            last: self.last.clone(),
        }
    }
}

impl<S: ReadStore> Guests<S> {
    /// Takes requests with what connections share.
    #[must_use]
    pub fn new(shared: watch::Receiver<Arc<Shared<S>>>) -> Self {
        Self {
            shared,
            room: Arc::new(Semaphore::new(MOST as usize)),
            last: Arc::new(AtomicU64::new(FIRST)),
        }
    }

    /// Sends a request. If the future of the answer is dropped, the request can still take effect.
    #[must_use]
    pub fn ask(&self, asked: Asked) -> Answer {
        let guests = self.clone();
        Box::pin(async move {
            let Ok(_permit) = guests.room.acquire().await else {
                return Err(NoReply::ShuttingDown);
            };
            let id = guests.last.fetch_add(1, Ordering::Relaxed);
            let shared = guests.shared.borrow().clone();
            let answer = timeout(PATIENCE, answer(&shared, id, asked)).await;
            answer.ok().flatten().ok_or(NoReply::Unknown)
        })
    }

    /// Refuses new requests, and waits for those under way.
    pub(crate) async fn settle(&self) {
        let _all = self.room.acquire_many(MOST).await;
        self.room.close();
    }
}

async fn answer<S: ReadStore>(
    shared: &Arc<Shared<S>>,
    id: ConsumerId,
    asked: Asked,
) -> Option<Reply> {
    let outbox = Arc::new(Outbox::new(
        id,
        shared.events.reports(),
        shared.config.connection_write_channel,
        shared.clock,
    ));
    let arrived = Event::Arrived(id, outbox.clone());
    shared.events.send(arrived).ok()?;
    let _guard = Leave(&shared.events, id);
    let slot = Slot::of_guest(asked.address.ip());
    let authentication = Authentication::of_guest(shared, &slot, asked.grant);
    let address = Some(asked.address);
    let mut requests = Requests::new(shared, (id, &outbox), authentication, &slot, address);
    requests.line(Ok(asked.line), 1, 1).await;
    requests.flush();
    let messages = outbox.all().await?;
    let mut replies = messages.into_iter();
    replies.find_map(|message| match message {
        Message::Reply { reply, .. } => Some(reply),
        Message::Quiet(_) | Message::Deliver { .. } | Message::Credit(_) => None,
    })
}

/// Removes the outbox of a guest, also if the guest does not wait for its reply.
struct Leave<'a>(&'a Events, ConsumerId);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Disconnected(self.1));
    }
}
