use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::dead::Kicked;
use crate::engine::{Command, Connection, Handle, Sending, Session, Unclosed, drive};
use crate::receipt::Pong;
use crate::settings::Settings;
use crate::wire::{Reply, Request};
use crate::{
    Builder, Cancelled, CloseError, ConnectError, DeadQuery, Delivery, Listen, Nack, Receipt,
    RequestError, StatsQuery, Subscribe, Task,
};

/// A client of a hyper-delay server, over one connection at a time. Cheap to clone: the clones share
/// the connection.
///
/// When the connection is lost, the client connects again, with growing waits between, registers what
/// is listened to, and sends again what can be: schedules, and requests that only read. [`cancel`]
/// and [`kick`] are not, once they may have been read; they fail with [`Disconnected`].
///
/// When all clones are gone, and all that was made from them, the client writes what it was given and
/// ends. [`close`] does this in good order, and tells when it is done.
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
}

impl Client {
    /// Connects to the server at `address`, a host and a port, with defaults for everything.
    ///
    /// # Errors
    ///
    /// There is no connection, or what is there does not answer as a server does. Only later losses are
    /// mended by connecting again.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime that has its I/O and time drivers on.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the connection is closed, and nothing remains.
    pub async fn connect(address: impl Into<String>) -> Result<Self, ConnectError> {
        Self::builder(address).connect().await
    }

    /// A client of the server at `address`, a host and a port, yet to be set up and connected.
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
            ..
        } = settings;
        tokio::spawn(drive(settings, commands, session, connection));
        Ok(Self {
            handle,
            request_timeout,
            close_timeout,
        })
    }

    /// Schedules a task. Once this resolves it is on disk: it will be delivered until it is
    /// acknowledged, cancelled or dead.
    ///
    /// Waits while [as many requests as may be](Builder::outstanding) are without an answer. To have
    /// many under way, poll many of these at once, as with `futures`' `FuturesUnordered`, or from
    /// several of the program's tasks.
    ///
    /// A schedule that has no answer when the connection is lost is sent again, under the same id and
    /// with the same content, so that nothing doubles; see [`Task::route`] for the exception.
    ///
    /// # Errors
    ///
    /// The server refuses it, or gives no answer in time, or the task is too long for a line. After
    /// [`TimedOut`](RequestError::TimedOut), [`Closed`](RequestError::Closed) or
    /// [`Disconnected`](RequestError::Disconnected) it may be on disk or not; with an
    /// [id of your own](Task::id) it can be scheduled again.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the task may be scheduled or not, at this moment or later.
    pub async fn schedule(&self, task: Task) -> Result<Receipt, RequestError> {
        // In the order of time, as keys that are near to each other are cheapest to a store.
        let mut made = Uuid::encode_buffer();
        let id = match &task.id {
            Some(id) => id,
            None => &*Uuid::now_v7().hyphenated().encode_lower(&mut made),
        };
        let request = Request {
            id: Some(id),
            route_key: task.route.as_deref(),
            fire_at: Some(task.fire_at(SystemTime::now())),
            compression: Some(task.compression.as_str()),
            replace: task.replace.then_some(true),
            payload: Some(&task.payload),
            ..Request::of("schedule")
        };
        // Without a route, another connection would mean another one.
        let sending = if task.route.is_some() {
            Sending::Again
        } else {
            Sending::Once
        };
        self.handle.request(request, sending).await
    }

    /// Has `handler` work on the deliveries of a route, several at a time: `.await` puts it to work, and
    /// resolves when it ends. For options, see [`Listen`].
    ///
    /// Each delivery is handled in a task of its own. After `Ok` it is acknowledged. After an error it
    /// is given back: a [`Nack`] says when it comes again, any error that can be displayed will do. After
    /// a panic it is given back too, and the others go on.
    ///
    /// The server delivers at least once: again when an answer is late or lost, or the connection was.
    /// Then a handler can be called while an earlier call for the same task still runs, whose
    /// answer no longer counts.
    ///
    /// It ends with `Ok` when the client is closed, and with an error when the route is taken by
    /// another consumer; either way after the handlers that run have ended.
    pub fn listen<H, F, E>(&self, route: impl Into<String>, handler: H) -> Listen<H>
    where
        H: Fn(Delivery) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Nack> + Send + 'static,
    {
        Listen::new(self.deliveries(route), handler)
    }

    /// The deliveries of a route, to be answered one by one: `.await` registers it. For options, see
    /// [`Subscribe`]. [`listen`](Self::listen) is the easier way.
    pub fn deliveries(&self, route: impl Into<String>) -> Subscribe {
        Subscribe::new(self.clone(), route.into())
    }

    /// Removes a task, in whatever state. Once this resolves, that is on disk.
    ///
    /// It is not sent again when the connection is lost before the answer, as the name could be
    /// another task's by then.
    ///
    /// # Errors
    ///
    /// The server refuses it, or the answer did not come: then the task may be cancelled or not.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the task may be cancelled or not, at this moment or later.
    pub async fn cancel(&self, route: &str, id: &str) -> Result<Cancelled, RequestError> {
        let request = Request {
            id: Some(id),
            route_key: Some(route),
            ..Request::of("cancel")
        };
        self.handle.request(request, Sending::Once).await
    }

    /// How many tasks the server has: `.await` asks. For options, see [`StatsQuery`].
    pub fn stats(&self) -> StatsQuery {
        StatsQuery::new(self.clone())
    }

    /// The dead letters of a route: `.await` asks. For options, see [`DeadQuery`].
    pub fn dead(&self, route: impl Into<String>) -> DeadQuery {
        DeadQuery::new(self.clone(), route.into())
    }

    /// Revives a dead letter: it is due now, with all its attempts to come. False if it is not dead.
    ///
    /// It is not sent again when the connection is lost before the answer, as the task could have
    /// died again by then.
    ///
    /// # Errors
    ///
    /// The server refuses it, or the answer did not come: then the task may be revived or not.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the task may be revived or not, at this moment or later.
    pub async fn kick(&self, route: &str, id: &str) -> Result<bool, RequestError> {
        let request = Request {
            id: Some(id),
            route_key: Some(route),
            ..Request::of("kick")
        };
        let kicked: Kicked = self.handle.request(request, Sending::Once).await?;
        Ok(kicked.found)
    }

    /// Asks whether the server is there, and waits over losses of the connection until it is.
    ///
    /// # Errors
    ///
    /// The answer did not come in time, or the client is closed.
    ///
    /// # Cancel safety
    ///
    /// Dropping it forgets the answer.
    pub async fn ping(&self) -> Result<(), RequestError> {
        let Pong {} = self.ask(Request::of("ping")).await?;
        Ok(())
    }

    /// Closes the client and all its clones. Every request to come fails, every listener stops taking
    /// deliveries; then waits until every request has its answer, every delivery that is being handled
    /// has been acknowledged or given back, and all is written.
    ///
    /// # Errors
    ///
    /// Something was still open after the [`close_timeout`](Builder::close_timeout). The client is
    /// closed all the same.
    ///
    /// # Cancel safety
    ///
    /// Dropped after it was first polled, the client closes all the same.
    pub async fn close(&self) -> Result<(), CloseError> {
        let (reply, closed) = oneshot::channel();
        // One that cannot be told is closed already.
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

    /// Asks something that changes nothing.
    pub(crate) async fn ask<R: Reply>(&self, request: Request<'_>) -> Result<R, RequestError> {
        self.handle.request(request, Sending::Again).await
    }

    pub(crate) fn request_timeout(&self) -> Option<Duration> {
        self.request_timeout
    }

    pub(crate) fn into_handle(self) -> Arc<Handle> {
        self.handle
    }
}
