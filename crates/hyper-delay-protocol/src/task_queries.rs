//! Queries of single tasks, lists of tasks and counts by due time: requests and replies.

use std::{io, sync::Arc};

use super::{
    Compression, Headers, LastFailure, Terms,
    field::FieldError,
    json_writer::{self, ByteCounter, JsonWriter},
    payload,
    request_fields::RequestFields,
    unix_time,
};

/// The default `limit` of a list.
const LIMIT: u64 = 100;

/// The longest cursor, in bytes: that of a route of 128 bytes is shorter.
const CURSOR: usize = 512;

/// The longest reason in a filter, in bytes. Those of dead letters are shorter.
const REASON: usize = 1_024;

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum TaskState {
    /// On disk for a later time.
    Waiting,
    /// Due, and no consumer has room.
    Parked,
    /// With a consumer now.
    InFlight,
    /// Out of attempts, or its content cannot be read.
    Dead,
    /// Waiting or parked after a failure. Only a filter of lists: such a task shows as waiting, parked
    /// or in flight.
    Retrying,
}

impl TaskState {
    /// The state on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Parked => "parked",
            Self::InFlight => "in_flight",
            Self::Dead => "dead",
            Self::Retrying => "retrying",
        }
    }
}

/// Selects tasks of a route. Default: all.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Filter {
    /// Only dead letters, or retrying tasks, with this reason; an empty one means those without a
    /// reason.
    pub reason: Option<Arc<str>>,
    /// Only those from this time on, in Unix milliseconds.
    pub from: Option<u64>,
    /// Only those before this time, in Unix milliseconds.
    pub until: Option<u64>,
}

impl Filter {
    pub(super) fn read(fields: &RequestFields<'_>) -> Result<Self, FieldError> {
        let reason = fields.reason().text()?;
        if let Some(reason) = reason.as_ref().filter(|reason| reason.len() > REASON) {
            let wanted = format!("give a string of at most {REASON} bytes");
            return Err(fields.reason().bad(&format!("{reason:?}"), &wanted));
        }
        let filter = Self {
            reason: reason.map(Arc::from),
            from: unix_time::time(fields.from())?,
            until: unix_time::time(fields.until())?,
        };
        if let (Some(from), Some(until)) = (filter.from, filter.until)
            && from >= until
        {
            let from = unix_time::shown(fields.from(), from);
            let until = unix_time::shown(fields.until(), until);
            let wanted = format!("give a time after from, which is {from}");
            return Err(fields.until().bad(&until, &wanted));
        }
        Ok(filter)
    }

    /// Returns whether a time is in the range.
    #[must_use]
    pub fn has_time(&self, at: u64) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }

    /// Returns whether the reason of a dead letter is the wanted one.
    #[must_use]
    pub fn has_reason(&self, reason: Option<&str>) -> bool {
        let wanted = self.reason.as_deref();
        wanted.is_none_or(|wanted| wanted == reason.unwrap_or_default())
    }
}

/// A request for a list of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRequest {
    /// Only tasks of this route.
    pub route: Option<Arc<str>>,
    /// Only tasks in this state. Default: parked, waiting and dead ones, in this order.
    pub state: Option<TaskState>,
    /// The range of time: when a task is due, and of a dead letter when it died.
    pub filter: Filter,
    /// The cursor of the reply before.
    pub after: Option<Arc<str>>,
    /// The maximum number of tasks, 1 to 1,000.
    pub limit: u16,
    /// Whether the reply has the payloads.
    pub payload: bool,
}

impl ListRequest {
    pub(super) fn read(fields: &RequestFields<'_>) -> Result<Self, FieldError> {
        let states = [
            TaskState::Waiting,
            TaskState::Parked,
            TaskState::Dead,
            TaskState::Retrying,
        ];
        let state = fields.state().one_of(&states, TaskState::as_str)?;
        let filter = Filter::read(fields)?;
        if let Some(reason) = &filter.reason
            && state != Some(TaskState::Retrying)
            && fields.is_strict()
        {
            let wanted = "give it with the state \"retrying\"; `dead` lists dead letters by reason";
            return Err(fields.reason().bad(&format!("{reason:?}"), wanted));
        }
        Ok(Self {
            route: fields.route_key().name()?,
            state,
            filter: Filter {
                // Connections that are not strict have always ignored it in other lists.
                reason: filter.reason.filter(|_| state == Some(TaskState::Retrying)),
                ..filter
            },
            after: cursor(fields)?,
            limit: limit(fields)?,
            payload: fields.payload().flag()?,
        })
    }
}

/// Reads a cursor from the field `after`.
pub(super) fn cursor(fields: &RequestFields<'_>) -> Result<Option<Arc<str>>, FieldError> {
    let after = fields.after().text()?;
    if let Some(after) = after.as_ref().filter(|after| after.len() > CURSOR) {
        let wanted = "give the `next` of the reply before";
        return Err(fields.after().bad(&format!("{after:?}"), wanted));
    }
    Ok(after.map(Arc::from))
}

/// Reads the field `limit`.
pub(super) fn limit(fields: &RequestFields<'_>) -> Result<u16, FieldError> {
    let limit = fields.limit().number("a number", 1..=1_000)?;
    let limit = limit.unwrap_or(LIMIT);
    Ok(u16::try_from(limit).expect("the range fits"))
}

/// The content of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Content {
    /// The label of the payload.
    pub compression: Compression,
    /// The length of the payload in bytes.
    pub length: usize,
    /// The payload. `None` if it does not fit into a line.
    #[serde(with = "super::node_encoding::optional_bytes")]
    pub payload: Option<Box<[u8]>>,
    /// Names and values that its deliveries carry beside the payload.
    pub headers: Headers,
}

impl Content {
    pub(super) fn fields<'a, W: ContentSink>(
        &self,
        object: JsonWriter<'a, W>,
    ) -> JsonWriter<'a, W> {
        let object = object
            .field("compression", self.compression.as_str())
            .raw("headers", self.headers.text());
        match &self.payload {
            Some(payload) => object.quoted("payload_base64", |out| out.base64(payload)),
            None => object.field("payload_bytes", &self.length),
        }
    }
}

/// A sink for the content of a task.
pub(super) trait ContentSink: io::Write {
    /// Appends bytes in base64.
    fn base64(&mut self, bytes: &[u8]);
}

impl ContentSink for Vec<u8> {
    fn base64(&mut self, bytes: &[u8]) {
        payload::encode(bytes, self);
    }
}

impl ContentSink for ByteCounter {
    fn base64(&mut self, bytes: &[u8]) {
        self.0 += payload::length(bytes);
    }
}

/// A task as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TaskView {
    /// Its route.
    pub route: Arc<str>,
    /// Its id.
    pub id: Arc<str>,
    /// Its state.
    pub state: TaskState,
    /// The scheduled time in Unix milliseconds.
    pub fire_at: u64,
    /// When it is or was due, in Unix milliseconds; for a dead letter the time of its death.
    pub at: u64,
    /// Number of rounds so far, over all revisions.
    pub attempt: u32,
    /// The reason of a dead letter, if known.
    pub reason: Option<Arc<str>>,
    /// Its last failure, if one is stored.
    pub last_failure: Option<Box<LastFailure>>,
    /// Its own settings, which override those of the route and of the server.
    #[serde(with = "super::node_encoding::terms")]
    pub terms: Option<Box<Terms>>,
    /// Its content, if it was asked for and can be read.
    pub content: Option<Content>,
}

impl TaskView {
    /// The length of its object in a line, in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        json_writer::nested_length(|object| self.fields(object).close())
    }

    pub(super) fn fields<'a, W: ContentSink>(
        &self,
        object: JsonWriter<'a, W>,
    ) -> JsonWriter<'a, W> {
        let time = match self.state {
            TaskState::Dead => "died_at",
            TaskState::Waiting | TaskState::Parked | TaskState::InFlight | TaskState::Retrying => {
                "due"
            }
        };
        let object = object
            .field("id", &*self.id)
            .field("route_key", &*self.route)
            .field("state", self.state.as_str())
            .field("fire_at", &self.fire_at)
            .field(time, &self.at)
            .field("attempt", &self.attempt)
            .optional("reason", self.reason.as_deref())
            .object(
                "last_failure",
                self.last_failure.as_deref(),
                LastFailure::write,
            );
        let object = match &self.terms {
            Some(terms) => terms.fields(object),
            None => object,
        };
        match &self.content {
            Some(content) => content.fields(object),
            None => object,
        }
    }
}

/// The number of waiting tasks in a row of equal spans of time.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Spans {
    /// The start of the first span in Unix milliseconds. Spans begin at whole minutes, hours and
    /// days of UTC.
    pub from: u64,
    /// The number of tasks that are due in each span.
    pub tasks: Vec<u64>,
}

/// The counts of several shards.
impl DueCounts {
    /// Adds the counts of another shard at the same time.
    #[doc(hidden)]
    pub fn add(&mut self, other: &Self) {
        self.minutes.add(&other.minutes);
        self.hours.add(&other.hours);
        self.days.add(&other.days);
        let both = self.counted_until.into_iter().chain(other.counted_until);
        self.counted_until = both.min();
    }
}

impl Spans {
    fn add(&mut self, other: &Self) {
        if self.tasks.len() < other.tasks.len() {
            self.tasks.resize(other.tasks.len(), 0);
        }
        for (tasks, more) in self.tasks.iter_mut().zip(&other.tasks) {
            *tasks += more;
        }
    }
}

/// The number of waiting tasks for the minutes, hours and days ahead.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct DueCounts {
    /// The next 60 minutes, the current one first.
    pub minutes: Spans,
    /// The next 48 hours, the current one first.
    pub hours: Spans,
    /// The next 365 days, the current one first.
    pub days: Spans,
    /// While the server counts after its start: only tasks due before this time are counted, in
    /// Unix milliseconds.
    pub counted_until: Option<u64>,
}

impl DueCounts {
    pub(super) fn fields<'a, W: io::Write>(&self, object: JsonWriter<'a, W>) -> JsonWriter<'a, W> {
        object
            .field("minute", &self.minutes.from)
            .field("minutes", &self.minutes.tasks)
            .field("hour", &self.hours.from)
            .field("hours", &self.hours.tasks)
            .field("day", &self.days.from)
            .field("days", &self.days.tasks)
            .optional("counted_until", self.counted_until)
    }
}
