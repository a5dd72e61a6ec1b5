use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::wire::{Reply, Request, or_default};
use crate::{Client, RequestError, TaskState, time};

/// Which tasks a request is for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) reason: Option<String>,
    pub(crate) from: Option<u64>,
    pub(crate) until: Option<u64>,
}

impl Filter {
    /// A request with this filter.
    pub(crate) fn request(&self, kind: &'static str) -> Request<'_> {
        Request {
            reason: self.reason.as_deref(),
            from: self.from,
            until: self.until,
            ..Request::of(kind)
        }
    }
}

/// A bulk operation: `.await` begins it and resolves to its [`Job`], which survives restarts of
/// the server. See [`Client::kick_all`], [`Client::delete_all`], [`Client::purge`],
/// [`Client::run_now_all`] and [`Client::reschedule_all`].
#[derive(Clone, Debug)]
#[must_use = "the operation begins when it is awaited"]
pub struct Bulk {
    client: Client,
    kind: &'static str,
    route: String,
    filter: Filter,
    in_flight: bool,
    state: Option<TaskState>,
    due: Option<u64>,
    shift_ms: Option<u64>,
}

impl Bulk {
    pub(crate) fn new(client: Client, kind: &'static str, route: String) -> Self {
        Self {
            client,
            kind,
            route,
            filter: Filter::default(),
            in_flight: false,
            state: None,
            due: None,
            shift_ms: None,
        }
    }

    /// Moves the tasks to this time.
    pub(crate) fn due(self, due: u64) -> Self {
        Self {
            due: Some(due),
            ..self
        }
    }

    /// Moves the tasks by this time.
    pub(crate) fn shift(self, shift: Duration) -> Self {
        Self {
            shift_ms: Some(time::whole_millis(shift)),
            ..self
        }
    }

    /// Moves only tasks in this state: waiting, parked or retrying. Only for moves: another operation
    /// with it is refused. Default: waiting and parked ones.
    pub fn state(mut self, state: TaskState) -> Self {
        self.state = Some(state);
        self
    }

    /// Changes only dead letters with exactly this reason; with an empty one, those without a
    /// reason. A move is then only for retrying tasks whose last failure has it. A purge ignores it.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.filter.reason = Some(reason.into());
        self
    }

    /// Changes only dead letters that died at this time or later, in Unix milliseconds; moves only
    /// tasks that are due then. A purge ignores it.
    pub fn from_millis(mut self, from: u64) -> Self {
        self.filter.from = Some(from);
        self
    }

    /// Changes only dead letters that died before this time, in Unix milliseconds; moves only tasks
    /// that are due before. A purge ignores it. Default: the time at which the operation begins; for a
    /// move none.
    pub fn until_millis(mut self, until: u64) -> Self {
        self.filter.until = Some(until);
        self
    }

    /// Removes tasks in flight, too, with a purge. Default: false.
    pub fn in_flight(mut self, in_flight: bool) -> Self {
        self.in_flight = in_flight;
        self
    }

    /// Returns how many tasks it would change, and changes nothing.
    ///
    /// # Errors
    ///
    /// The server refuses it, or there is no reply.
    ///
    /// # Cancel safety
    ///
    /// Dropping it discards the reply.
    pub async fn count(&self) -> Result<Count, RequestError> {
        let request = Request {
            dry_run: Some(true),
            ..self.request()
        };
        self.client.ask(request).await
    }

    fn request(&self) -> Request<'_> {
        Request {
            route_key: Some(&self.route),
            in_flight: self.in_flight.then_some(true),
            state: self.state.as_ref().map(TaskState::as_str),
            due: self.due,
            shift_ms: self.shift_ms,
            ..self.filter.request(self.kind)
        }
    }

    async fn begin(self) -> Result<Job, RequestError> {
        self.client.ask_once(self.request()).await
    }
}

/// # Cancel safety
///
/// Dropped before it resolves, the operation may or may not begin, now or later.
impl IntoFuture for Bulk {
    type Output = Result<Job, RequestError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.begin())
    }
}

/// How many tasks a [`Bulk`] would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Count {
    /// The number of tasks.
    pub tasks: u64,
    /// Whether there can be more: the server counts only a part of many.
    #[serde(default, deserialize_with = "or_default")]
    pub more: bool,
}

impl Reply for Count {
    const KINDS: &'static [&'static str] = &["count"];
}

/// A bulk operation of a server. Serialized with the field names of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Job {
    /// Its number.
    #[serde(rename = "job")]
    pub number: u64,
    /// `kick_all`, `delete_all`, `purge`, `run_now_all` or `reschedule_all`.
    pub act: String,
    /// The route.
    #[serde(rename = "route_key")]
    pub route: String,
    /// `running`, `done`, `stopped` or `failed`.
    pub state: String,
    /// Number of tasks that it has changed so far.
    pub changed: u64,
    /// The reason in its filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The start of the time in its filter, in Unix milliseconds.
    #[serde(rename = "from", default, skip_serializing_if = "Option::is_none")]
    pub from_millis: Option<u64>,
    /// The end of the time in its filter, in Unix milliseconds.
    #[serde(rename = "until", default, skip_serializing_if = "Option::is_none")]
    pub until_millis: Option<u64>,
    /// The state of the tasks that it moves, if its filter has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_state: Option<TaskState>,
    /// The time that it moves tasks to, in Unix milliseconds.
    #[serde(rename = "due", default, skip_serializing_if = "Option::is_none")]
    pub due_millis: Option<u64>,
    /// By how many milliseconds it moves tasks.
    #[serde(rename = "shift_ms", default, skip_serializing_if = "Option::is_none")]
    pub shift_millis: Option<u64>,
    /// When it began, in Unix milliseconds.
    #[serde(rename = "began_at")]
    pub began_at_millis: u64,
    /// When it ended, in Unix milliseconds. `None` while it runs.
    #[serde(rename = "ended_at", default, skip_serializing_if = "Option::is_none")]
    pub ended_at_millis: Option<u64>,
    /// The name of the token that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The address that it was begun from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

impl Job {
    /// Returns whether the operation is running.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.state == "running"
    }
}

impl Reply for Job {
    const KINDS: &'static [&'static str] = &["job"];
}

/// The reply to `jobs`.
#[derive(Debug, Deserialize)]
pub(crate) struct Jobs {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) jobs: Vec<Job>,
}

impl Reply for Jobs {
    const KINDS: &'static [&'static str] = &["jobs"];
}

/// The reply to `stop`.
#[derive(Debug, Deserialize)]
pub(crate) struct Stopped {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) found: bool,
}

impl Reply for Stopped {
    const KINDS: &'static [&'static str] = &["stopped"];
}

/// The reply to `delete`.
#[derive(Debug, Deserialize)]
pub(crate) struct Deleted {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) found: bool,
}

impl Reply for Deleted {
    const KINDS: &'static [&'static str] = &["deleted"];
}

/// The reply to `pause` and `resume`.
#[derive(Debug, Deserialize)]
pub(crate) struct Paused {
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) changed: bool,
}

impl Reply for Paused {
    const KINDS: &'static [&'static str] = &["paused", "resumed"];
}
