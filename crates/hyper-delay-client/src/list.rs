use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::bulk::Filter;
use crate::query::asked_by_await;
use crate::wire::{Reply, Request, or_default};
use crate::{Client, Content, LastFailure, RequestError};

/// The state of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum TaskState {
    /// On disk for a later time.
    Waiting,
    /// Due, and no consumer has room.
    Parked,
    /// With a consumer now.
    InFlight,
    /// Out of attempts, or its content cannot be read.
    Dead,
    /// Waiting or parked after a failure. Only for [`ListQuery::state`] and
    /// [`ReasonsQuery::state`](crate::ReasonsQuery::state): such a task shows as waiting, parked or in
    /// flight, with a [last failure](TaskInfo::last_failure).
    Retrying,
    /// A state of a newer server.
    Other(String),
}

impl TaskState {
    /// The state on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Waiting => "waiting",
            Self::Parked => "parked",
            Self::InFlight => "in_flight",
            Self::Dead => "dead",
            Self::Retrying => "retrying",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<String> for TaskState {
    fn from(name: String) -> Self {
        match name.as_str() {
            "waiting" => Self::Waiting,
            "parked" => Self::Parked,
            "in_flight" => Self::InFlight,
            "dead" => Self::Dead,
            "retrying" => Self::Retrying,
            _ => Self::Other(name),
        }
    }
}

impl From<TaskState> for String {
    fn from(state: TaskState) -> Self {
        state.as_str().to_owned()
    }
}

/// A task as an operator sees it. Serialized with the field names of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskInfo {
    /// The task's name within its route.
    pub id: String,
    /// The route.
    #[serde(rename = "route_key")]
    pub route: String,
    /// Its state.
    pub state: TaskState,
    /// The scheduled time in Unix milliseconds.
    #[serde(rename = "fire_at")]
    pub fire_at_millis: u64,
    /// The time of its next or current round in Unix milliseconds. `None` if it is dead.
    #[serde(rename = "due", default, skip_serializing_if = "Option::is_none")]
    pub due_millis: Option<u64>,
    /// The time it died in Unix milliseconds. `None` if it is not dead.
    #[serde(rename = "died_at", default, skip_serializing_if = "Option::is_none")]
    pub died_at_millis: Option<u64>,
    /// The number of its last round; 0 if there was none.
    pub attempt: u64,
    /// Why a dead task died, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its last failure since it was scheduled, replaced or kicked. `None` if it has not failed, or if
    /// a server of version 0.3 or older has seen the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LastFailure>,
    /// When it is removed if it is not done by then, in Unix milliseconds.
    #[serde(
        rename = "expires_at",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub expires_at_millis: Option<u64>,
    /// The time that a consumer has for its ack, in milliseconds. `None`: the setting applies.
    #[serde(
        rename = "ack_timeout_ms",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub ack_timeout_millis: Option<u64>,
    /// The failed rounds after which it is a dead letter. `None`: the setting applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// The wait after its first failed round, in milliseconds. `None`: the setting applies.
    #[serde(
        rename = "retry_delay_ms",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_delay_millis: Option<u64>,
    /// The longest wait after a failed round, in milliseconds. `None`: the setting applies.
    #[serde(
        rename = "max_retry_delay_ms",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub max_retry_delay_millis: Option<u64>,
    /// The content, if it was asked for and can be read.
    #[serde(flatten)]
    pub content: Content,
}

/// The reply to `get`.
#[derive(Debug)]
struct Got(Option<TaskInfo>);

impl<'de> Deserialize<'de> for Got {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Map::deserialize(deserializer)?;
        if fields.get("found") != Some(&Value::Bool(true)) {
            return Ok(Self(None));
        }
        let task = serde_json::from_value(Value::Object(fields));
        task.map(|task| Self(Some(task))).map_err(D::Error::custom)
    }
}

impl Reply for Got {
    const KINDS: &'static [&'static str] = &["task"];
}

/// A request for one task: `.await` sends it. See [`Client::get`].
#[derive(Clone, Debug)]
#[must_use = "the request is sent when it is awaited"]
pub struct GetQuery {
    client: Client,
    route: String,
    id: String,
    payload: bool,
}

impl GetQuery {
    pub(crate) fn new(client: Client, route: String, id: String) -> Self {
        Self {
            client,
            route,
            id,
            payload: false,
        }
    }

    /// Requests the payload, too. Default: false.
    pub fn payload(mut self, payload: bool) -> Self {
        self.payload = payload;
        self
    }

    async fn ask(self) -> Result<Option<TaskInfo>, RequestError> {
        let request = Request {
            route_key: Some(&self.route),
            id: Some(&self.id),
            with_payload: self.payload.then_some(true),
            ..Request::of("get")
        };
        let Got(task) = self.client.ask(request).await?;
        Ok(task)
    }
}

asked_by_await!(GetQuery, Option<TaskInfo>);

/// Tasks in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TaskList {
    /// The tasks, as many as fit into one reply. There can be more even if there are none here.
    #[serde(deserialize_with = "or_default")]
    pub tasks: Vec<TaskInfo>,
    /// The cursor of the next page: ask for what is [`after`](ListQuery::after) it. `None` at the
    /// end.
    pub next: Option<String>,
}

impl Reply for TaskList {
    const KINDS: &'static [&'static str] = &["list"];
}

/// A request for a [`TaskList`]: `.await` sends it. See [`Client::list`].
#[derive(Clone, Debug)]
#[must_use = "the request is sent when it is awaited"]
pub struct ListQuery {
    client: Client,
    route: Option<String>,
    state: Option<TaskState>,
    filter: Filter,
    limit: Option<u16>,
    after: Option<String>,
    payload: bool,
}

impl ListQuery {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            route: None,
            state: None,
            filter: Filter::default(),
            limit: None,
            after: None,
            payload: false,
        }
    }

    /// Requests only tasks of this route.
    pub fn route(mut self, route: impl Into<String>) -> Self {
        self.route = Some(route.into());
        self
    }

    /// Requests only waiting, only parked, only dead or only retrying tasks. Retrying ones need a server
    /// of version 0.4.
    pub fn state(mut self, state: TaskState) -> Self {
        self.state = Some(state);
        self
    }

    /// Requests only tasks that are due, or have died, at this time or later, in Unix milliseconds.
    pub fn from_millis(mut self, from: u64) -> Self {
        self.filter.from = Some(from);
        self
    }

    /// Requests only tasks that are due, or have died, before this time, in Unix milliseconds.
    pub fn until_millis(mut self, until: u64) -> Self {
        self.filter.until = Some(until);
        self
    }

    /// Requests only retrying tasks with this reason. An empty one means those without a reason.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.filter.reason = Some(reason.into());
        self
    }

    /// Sets the maximum number of tasks, 1 to 1,000. Default: 100.
    pub fn limit(mut self, limit: u16) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Requests only what is after this cursor.
    pub fn after(mut self, cursor: impl Into<String>) -> Self {
        self.after = Some(cursor.into());
        self
    }

    /// Requests the payloads, too. Default: false.
    pub fn payload(mut self, payload: bool) -> Self {
        self.payload = payload;
        self
    }

    async fn ask(self) -> Result<TaskList, RequestError> {
        let request = Request {
            route_key: self.route.as_deref(),
            state: self.state.as_ref().map(TaskState::as_str),
            limit: self.limit,
            after: self.after.as_deref(),
            with_payload: self.payload.then_some(true),
            ..self.filter.request("list")
        };
        self.client.ask(request).await
    }
}

asked_by_await!(ListQuery, TaskList);
