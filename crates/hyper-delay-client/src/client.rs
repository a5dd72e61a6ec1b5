use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, oneshot};
use tracing::Instrument;
use uuid::Uuid;

use crate::dead::Kicked;
use crate::engine::{Command, Connection, Handle, Sending, Session, Unclosed, drive};
use crate::payloads::Payloads;
use crate::receipt::Pong;
use crate::settings::Settings;
use crate::task::Terms;
use crate::wire::{Reply, Request};
use crate::{
    Backup, Builder, Cancelled, CloseError, ConnectError, DeadQuery, Delivery, Listen, Moved, Nack,
    Receipt, RequestError, StatsQuery, Subscribe, Task, time,
};

/// A client of a hyper-delay server. Cheap to clone: clones share the connection.
///
/// When the connection is lost, the client reconnects after growing waits, registers its routes
/// again, and sends requests again if that is safe: schedules, and requests that only read.
/// [`cancel`], [`kick`] and the other requests that change tasks are not sent again once the server
/// may have read them; they fail with [`Disconnected`].
///
/// After the last clone and everything made from it is dropped, the client writes its pending lines
/// and ends. [`close`] does the same in order and waits for it.
///
/// [`cancel`]: Self::cancel
/// [`kick`]: Self::kick
/// [`close`]: Self::close
/// [`Disconnected`]: RequestError::Disconnected
#[derive(Clone, Debug)]
pub struct Client {
    handle: Arc<Handle>,
    request_timeout: Option<Duration>,
    close_timeout: Duration,
    payloads: Payloads,
}

impl Client {
    /// Connects to the server at `address`, a host and a port, with default options.
    ///
    /// # Errors
    ///
    /// There is no connection, or the peer is not a hyper-delay server. After this first attempt
    /// the client reconnects by itself.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time enabled.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the connection is closed and nothing remains.
    pub async fn connect(address: impl Into<String>) -> Result<Self, ConnectError> {
        Self::builder(address).connect().await
    }

    /// Returns a builder for a client of the server at `address`, a host and a port.
    pub fn builder(address: impl Into<String>) -> Builder {
        Builder::new(address.into())
    }

    pub(crate) async fn open(settings: Settings) -> Result<Self, ConnectError> {
        let connection = Connection::open(&settings).await?;
        let (sender, commands) = mpsc::unbounded_channel();
        let handle = Arc::new(Handle::new(&settings, sender));
        let session = Session::new(&settings, Arc::downgrade(&handle));
        let Settings {
            request_timeout,
            close_timeout,
            payloads,
            ..
        } = settings;
        tokio::spawn(drive(settings, commands, session, connection));
        Ok(Self {
            handle,
            request_timeout,
            close_timeout,
            payloads,
        })
    }

    /// Schedules a task. When this resolves, the task is on disk: it is delivered until it is
    /// acknowledged, cancelled or dead.
    ///
    /// Waits while [the maximum number of requests](Builder::outstanding) is pending. To have many
    /// pending, poll many of these futures at once, for example with `futures`' `FuturesUnordered`.
    ///
    /// If the connection is lost before the reply, the schedule is sent again with the same id and
    /// content, which makes no second copy. See [`Task::route`] for the exception.
    ///
    /// # Errors
    ///
    /// The server refuses the task, does not reply in time, or the task is too long for a line.
    /// After [`TimedOut`](RequestError::TimedOut), [`Closed`](RequestError::Closed) or
    /// [`Disconnected`](RequestError::Disconnected) the task may be on disk; with an [id of your
    /// own](Task::id) it can be scheduled again.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the task may or may not be scheduled, now or later.
    pub async fn schedule(&self, task: Task) -> Result<Receipt, RequestError> {
        // Ids in order of time: a store writes neighbouring keys fastest.
        let mut made = Uuid::encode_buffer();
        let id = match &task.id {
            Some(id) => id,
            None => &*Uuid::now_v7().hyphenated().encode_lower(&mut made),
        };
        let (payload, compression) = self.payloads.compressed(&task);
        let now = SystemTime::now();
        let Terms {
            expires,
            ack_timeout_ms,
            max_attempts,
            retry_delay_ms,
            max_retry_delay_ms,
        } = task.terms;
        let (fire_at, delay_ms) = task.fire_at_or_delay(now);
        let request = Request {
            id: Some(id),
            route_key: task.route.as_deref(),
            fire_at,
            delay_ms,
            compression: Some(compression.as_str()),
            replace: task.replace.then_some(true),
            headers: Some(&task.headers).filter(|headers| !headers.is_empty()),
            expires_at: expires.map(|expires| expires.millis(now)),
            ack_timeout_ms,
            max_attempts,
            retry_delay_ms,
            max_retry_delay_ms,
            payload: Some(&payload),
            ..Request::of("schedule")
        };
        // Without a route, another connection would mean another route.
        let sending = if task.route.is_some() {
            Sending::Again
        } else {
            Sending::Once
        };
        let traceparent = task.headers.get("traceparent").map(String::as_str);
        let route = task.route.as_deref();
        let span = tracing::info_span!("schedule", route, id, traceparent);
        self.handle.request(request, sending).instrument(span).await
    }

    /// Handles the deliveries of a route with `handler`, several at a time: `.await` starts it. See
    /// [`Listen`] for options.
    ///
    /// Each delivery is handled in its own task. After `Ok` it is acknowledged. After an error it
    /// is given back: a [`Nack`] sets the delay, any other error that implements `Display` uses the
    /// server's backoff. After a panic it is given back, too; other deliveries continue.
    ///
    /// Delivery is at least once: a task arrives again after an answer or a connection was late or
    /// lost. The handler can then run twice at the same time for one task; the earlier answer has
    /// no effect.
    ///
    /// Resolves to `Ok` when the client is closed, and to an error when another consumer takes the
    /// route; in both cases after the running handlers have ended.
    pub fn listen<H, F, E>(&self, route: impl Into<String>, handler: H) -> Listen<H>
    where
        H: Fn(Delivery) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Nack> + Send + 'static,
    {
        Listen::new(self.deliveries(route), handler)
    }

    /// Returns the deliveries of a route, to be answered one by one: `.await` registers the route.
    /// See [`Subscribe`] for options. [`listen`](Self::listen) is simpler.
    ///
    /// A route is one name: one that ends with `*` is refused with [`ListenError::Wildcard`](crate::ListenError::Wildcard), as it
    /// would be no prefix.
    pub fn deliveries(&self, route: impl Into<String>) -> Subscribe {
        Subscribe::new(self.clone(), route.into())
    }

    /// Removes a task in any state. When this resolves, the removal is on disk.
    ///
    /// It is not sent again if the connection is lost before the reply, because the name could mean
    /// another task by then.
    ///
    /// # Errors
    ///
    /// The server refuses it, or there is no reply: then the task may or may not be cancelled.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the task may or may not be cancelled, now or later.
    pub async fn cancel(&self, route: &str, id: &str) -> Result<Cancelled, RequestError> {
        let request = Request {
            id: Some(id),
            route_key: Some(route),
            ..Request::of("cancel")
        };
        self.ask_once(request).await
    }

    /// Makes a waiting task due now, whether it waits for its time or after a failed round. Only its due
    /// time changes: it is the same revision, so scheduling the same content again changes nothing.
    ///
    /// A task that a consumer has now is not moved. When this resolves, the change is on disk. It is
    /// not sent again if the connection is lost before the reply, because the task could be another
    /// one by then.
    ///
    /// # Errors
    ///
    /// The server refuses it, with [`Code::Dead`](crate::Code::Dead) if the task is dead, or there is no
    /// reply: then the task may or may not be moved.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the task may or may not be moved, now or later.
    pub async fn run_now(&self, route: &str, id: &str) -> Result<Moved, RequestError> {
        let request = Request {
            id: Some(id),
            route_key: Some(route),
            ..Request::of("run_now")
        };
        self.ask_once(request).await
    }

    /// Makes a waiting or parked task due at `due`, rounded up to a millisecond. A past time means
    /// now. Otherwise as [`run_now`](Self::run_now).
    ///
    /// # Errors
    ///
    /// As of [`run_now`](Self::run_now). The server also refuses a time that is not before the expiry
    /// of the task.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the task may or may not be moved, now or later.
    pub async fn reschedule(
        &self,
        route: &str,
        id: &str,
        due: SystemTime,
    ) -> Result<Moved, RequestError> {
        self.reschedule_millis(route, id, time::to_millis(due))
            .await
    }

    /// As [`reschedule`](Self::reschedule), with a time in Unix milliseconds, at most 2^53.
    ///
    /// # Errors
    ///
    /// As of [`reschedule`](Self::reschedule).
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the task may or may not be moved, now or later.
    pub async fn reschedule_millis(
        &self,
        route: &str,
        id: &str,
        due: u64,
    ) -> Result<Moved, RequestError> {
        let request = Request {
            id: Some(id),
            route_key: Some(route),
            due: Some(due),
            ..Request::of("reschedule")
        };
        self.ask_once(request).await
    }

    /// Requests the number of tasks: `.await` sends it. See [`StatsQuery`] for options.
    pub fn stats(&self) -> StatsQuery {
        StatsQuery::new(self.clone())
    }

    /// Requests the dead letters of a route: `.await` sends it. See [`DeadQuery`] for options.
    pub fn dead(&self, route: impl Into<String>) -> DeadQuery {
        DeadQuery::new(self.clone(), route.into())
    }

    /// Returns a backup of the server, which is made piece by piece. If the server has tokens, it
    /// needs the right `admin` on every route; otherwise the server accepts the request from its
    /// own machine only.
    #[must_use]
    pub fn backup(&self) -> Backup {
        Backup::new(self.clone())
    }

    /// Makes a dead task due now, with all its attempts. Returns false if the task is not dead.
    ///
    /// It is not sent again if the connection is lost before the reply, because the task could have
    /// died again by then.
    ///
    /// # Errors
    ///
    /// The server refuses it, or there is no reply: then the task may or may not be revived.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the task may or may not be revived, now or later.
    pub async fn kick(&self, route: &str, id: &str) -> Result<bool, RequestError> {
        let request = Request {
            id: Some(id),
            route_key: Some(route),
            ..Request::of("kick")
        };
        let Kicked { found } = self.ask_once(request).await?;
        Ok(found)
    }

    /// Waits until the server replies to a ping, over reconnects.
    ///
    /// # Errors
    ///
    /// There is no reply in time, or the client is closed.
    ///
    /// # Cancel safety
    ///
    /// Dropping it discards the reply.
    pub async fn ping(&self) -> Result<(), RequestError> {
        let Pong {} = self.ask(Request::of("ping")).await?;
        Ok(())
    }

    /// Closes the client and all its clones. New requests fail and listeners accept no more
    /// deliveries. Waits until every request has its reply, every delivery in progress is
    /// acknowledged or given back, and everything is written.
    ///
    /// # Errors
    ///
    /// Something was still open after the [`close_timeout`](Builder::close_timeout). The client is
    /// closed in any case.
    ///
    /// # Cancel safety
    ///
    /// After the first poll, the client closes even if this is dropped.
    pub async fn close(&self) -> Result<(), CloseError> {
        let (reply, closed) = oneshot::channel();
        // If the command cannot be sent, the client is already closed.
        self.handle.command(Command::Close(reply));
        match closed.await.unwrap_or_default() {
            Unclosed {
                requests: 0,
                deliveries: 0,
            } => Ok(()),
            Unclosed {
                requests,
                deliveries,
            } => Err(CloseError::TimedOut {
                limit: self.close_timeout,
                requests,
                deliveries,
            }),
        }
    }

    /// Sends a request that changes nothing.
    pub(crate) async fn ask<R: Reply>(&self, request: Request<'_>) -> Result<R, RequestError> {
        self.handle.request(request, Sending::Again).await
    }

    /// Sends a request that is not repeated over a reconnect.
    pub(crate) async fn ask_once<R: Reply>(&self, request: Request<'_>) -> Result<R, RequestError> {
        self.handle.request(request, Sending::Once).await
    }

    /// Sends a request that is bound to a connection. Returns the connection of the reply, too.
    pub(crate) async fn ask_on<R: Reply>(
        &self,
        request: Request<'_>,
        connection: Option<u64>,
    ) -> Result<(R, u64), RequestError> {
        let sending = connection.map_or(Sending::Once, Sending::Next);
        self.handle.request_by(request, sending).await
    }

    pub(crate) fn request_timeout(&self) -> Option<Duration> {
        self.request_timeout
    }

    pub(crate) fn payloads(&self) -> Payloads {
        self.payloads
    }

    pub(crate) fn into_handle(self) -> Arc<Handle> {
        self.handle
    }
}
