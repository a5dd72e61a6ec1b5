use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use crate::engine::{Handle, Sending};
use crate::receipt::Touched;
use crate::wire::Request;
use crate::{Compression, RequestError, time};

/// A copy of a task for this client. Cheap to clone.
///
/// It can arrive again with another [`attempt`](Self::attempt), or with the same one after a crash
/// of the server, so handling it twice must do no harm. [`route`](Self::route) and [`id`](Self::id)
/// identify the task.
#[derive(Clone, Debug)]
pub struct Delivery {
    parts: Arc<Parts>,
    /// When its round was due, in Unix milliseconds. `None`: at the scheduled time.
    due: Option<u64>,
    headers: Option<Arc<BTreeMap<String, String>>>,
    connection: u64,
    /// Does not keep the client open.
    handle: Weak<Handle>,
}

#[derive(Debug)]
struct Parts {
    id: String,
    route: String,
    payload: Vec<u8>,
    fire_at: u64,
    attempt: u64,
    compression: Compression,
}

impl Delivery {
    pub(crate) fn new(
        id: String,
        route: String,
        payload: Vec<u8>,
        fire_at: u64,
        attempt: u64,
        compression: Compression,
    ) -> Self {
        Self {
            parts: Arc::new(Parts {
                id,
                route,
                payload,
                fire_at,
                attempt,
                compression,
            }),
            due: None,
            headers: None,
            connection: 0,
            handle: Weak::new(),
        }
    }

    /// The same delivery with the time at which its round was due, if it is not the scheduled time.
    pub(crate) fn due_at(self, due: Option<u64>) -> Self {
        Self { due, ..self }
    }

    /// The same delivery with headers.
    pub(crate) fn with_headers(self, headers: BTreeMap<String, String>) -> Self {
        let headers = (!headers.is_empty()).then(|| Arc::new(headers));
        Self { headers, ..self }
    }

    /// The same delivery, which came on this connection.
    pub(crate) fn on(self, connection: u64, handle: &Arc<Handle>) -> Self {
        Self {
            connection,
            handle: Arc::downgrade(handle),
            ..self
        }
    }

    /// The same delivery with its payload decompressed.
    #[cfg(any(feature = "lz4", feature = "zstd"))]
    pub(crate) fn with_payload(&self, payload: Vec<u8>) -> Self {
        let Parts {
            id,
            route,
            fire_at,
            attempt,
            ..
        } = &*self.parts;
        let (id, route) = (id.clone(), route.clone());
        Self {
            due: self.due,
            headers: self.headers.clone(),
            connection: self.connection,
            handle: self.handle.clone(),
            ..Self::new(id, route, payload, *fire_at, *attempt, Compression::None)
        }
    }

    /// The id of the task on its route.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.parts.id
    }

    /// The route of the task.
    #[must_use]
    pub fn route(&self) -> &str {
        &self.parts.route
    }

    /// The payload as it was scheduled; decompressed, unless the client [keeps it
    /// compressed](crate::Builder::keep_compressed).
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.parts.payload
    }

    /// The compression of [`payload`](Self::payload): `None` once it is decompressed.
    #[must_use]
    pub fn compression(&self) -> &Compression {
        &self.parts.compression
    }

    /// The headers of the task by name: see [`Task::header`](crate::Task::header).
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let headers = self.headers.iter().flat_map(|headers| headers.iter());
        headers.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.as_ref()?.get(name).map(String::as_str)
    }

    /// Asks for the ack timeout of the task again, from now on: see [`touch_for`](Self::touch_for).
    ///
    /// # Errors
    ///
    /// As those of [`touch_for`](Self::touch_for).
    pub async fn touch(&self) -> Result<Option<SystemTime>, RequestError> {
        self.extend(None).await
    }

    /// Extends the time to answer: it ends this long after now, and not earlier than it would have.
    /// 1 ms to a day, rounded up to a millisecond. A handler that may take longer than the ack
    /// timeout calls this from time to time.
    ///
    /// Returns when the time is over, by the server's clock. `None`: too late; the delivery is
    /// answered, its time is over, or its task was cancelled or replaced.
    ///
    /// # Errors
    ///
    /// [`Disconnected`](RequestError::Disconnected) if the connection of the delivery is lost: the
    /// server has taken the delivery back. [`Closed`](RequestError::Closed) if the client is
    /// closed. [`Refused`](RequestError::Refused) if the time is out of its range.
    ///
    /// # Cancel safety
    ///
    /// The first poll sends the request. Dropped after that, only the reply is discarded.
    pub async fn touch_for(&self, extend: Duration) -> Result<Option<SystemTime>, RequestError> {
        self.extend(Some(time::whole_millis(extend))).await
    }

    async fn extend(&self, extend_ms: Option<u64>) -> Result<Option<SystemTime>, RequestError> {
        let handle = self.handle.upgrade().ok_or(RequestError::Closed)?;
        let request = Request {
            extend_ms,
            ..Request::about("touch", self)
        };
        let touched: Touched = handle
            .request(request, Sending::On(self.connection))
            .await?;
        Ok(touched.deadline.and_then(time::from_millis))
    }

    /// The number of the round, from 1.
    #[must_use]
    pub fn attempt(&self) -> u64 {
        self.parts.attempt
    }

    /// The scheduled time in Unix milliseconds.
    #[must_use]
    pub fn fire_at_millis(&self) -> u64 {
        self.parts.fire_at
    }

    /// The scheduled time; `None` if the system's clock cannot represent it.
    #[must_use]
    pub fn fire_at(&self) -> Option<SystemTime> {
        time::from_millis(self.parts.fire_at)
    }

    /// When this round was due, in Unix milliseconds: at the scheduled time, or when the server took the
    /// schedule if that was later; after a failed round or a move, at the new time. A server before 0.4
    /// does not send it: then this is the scheduled time.
    #[must_use]
    pub fn due_millis(&self) -> u64 {
        self.due.unwrap_or(self.parts.fire_at)
    }

    /// How late the delivery is now: the time since [`due_millis`](Self::due_millis), by this machine's
    /// clock. Zero if the delivery is early by that clock, and if `due_millis` is 0: a server before 0.4
    /// does not send when a task was due whose `fire_at` is 0.
    #[must_use]
    pub fn lateness(&self) -> Duration {
        let due = Some(self.due_millis()).filter(|due| *due > 0);
        due.and_then(time::from_millis)
            .and_then(|due| SystemTime::now().duration_since(due).ok())
            .unwrap_or_default()
    }
}
