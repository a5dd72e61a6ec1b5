use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use crate::{Compression, time};

/// A payload for a route at a time.
///
/// ```
/// use std::time::Duration;
/// use hyper_delay_client::Task;
///
/// let task = Task::new("hello").route("service-A").id("order-17").after(Duration::from_secs(5));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a task does nothing unless it is scheduled"]
pub struct Task {
    pub(crate) payload: Vec<u8>,
    pub(crate) route: Option<String>,
    pub(crate) id: Option<String>,
    due: TaskDue,
    pub(crate) compression: Compression,
    pub(crate) replace: bool,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) terms: Terms,
}

/// What applies to one task instead of the settings of its route and of the server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) expires: Option<Due>,
    pub(crate) ack_timeout_ms: Option<u64>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) retry_delay_ms: Option<u64>,
    pub(crate) max_retry_delay_ms: Option<u64>,
}

/// When a task is due.
#[derive(Clone, Copy, Debug)]
enum TaskDue {
    /// By the clock of the client.
    Time(Due),
    /// After a delay by the clock of the server.
    Delay(Duration),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    At(u64),
    After(Duration),
}

impl Task {
    /// Makes a task with this payload, due now. The payload can be any bytes.
    pub fn new(payload: impl Into<Vec<u8>>) -> Self {
        Self {
            payload: payload.into(),
            route: None,
            id: None,
            due: TaskDue::Time(Due::After(Duration::ZERO)),
            compression: Compression::None,
            replace: false,
            headers: BTreeMap::new(),
            terms: Terms::default(),
        }
    }

    /// Sets the route: 1 to 128 bytes.
    ///
    /// Without one, the server chooses the route that this connection has registered, if it is
    /// exactly one, or a route of the connection that starts with `conn-`. The
    /// [receipt](crate::Receipt::route) names it. As another connection gets another route, such a
    /// task is not sent again if the connection is lost before the reply:
    /// [`Disconnected`](crate::RequestError::Disconnected). When the connection ends, the tasks of
    /// its `conn-` route are orphaned: no consumer receives them until one registers that route.
    pub fn route(mut self, route: impl Into<String>) -> Self {
        self.route = Some(route.into());
        self
    }

    /// Sets the id on the route: 1 to 128 bytes. Default: a UUID that the client makes.
    ///
    /// Scheduling the same content under the same name again changes nothing. A task with an id of
    /// your own and a due time set by [`at`](Self::at) or [`delay`](Self::delay) can therefore be
    /// scheduled again after any error.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the time it is due, rounded up to a millisecond. A past time is due now.
    ///
    /// The server refuses the Unix times from 100,000,000 ms to 99,999,999,999 ms, January 1970 to
    /// March 1973, as seconds taken for milliseconds.
    pub fn at(self, time: SystemTime) -> Self {
        self.at_millis(time::to_millis(time))
    }

    /// Sets the time it is due in Unix milliseconds, at most 2^53.
    pub fn at_millis(mut self, millis: u64) -> Self {
        self.due = TaskDue::Time(Due::At(millis));
        self
    }

    /// Sets the delay from the call of [`schedule`](crate::Client::schedule) until it is due, by the
    /// clock of the client.
    ///
    /// Each call computes the due time anew, and the due time is part of the content. To schedule a
    /// task again after an error, such as [`Unavailable`](crate::Code::Unavailable), set the time with
    /// [`at`](Self::at) or the delay with [`delay`](Self::delay): otherwise the second call is refused
    /// with [`DuplicateId`](crate::Code::DuplicateId) if the first one took effect.
    pub fn after(mut self, delay: Duration) -> Self {
        self.due = TaskDue::Time(Due::After(delay));
        self
    }

    /// Sets the delay from when the server takes the task until it is due, rounded up to a
    /// millisecond. The clock of the server counts, and the
    /// [receipt](crate::Receipt::fire_at_millis) has the time.
    ///
    /// The delay is part of the content in place of the time. A task with an id of your own can
    /// therefore be scheduled again after any error: the first time stays. A server of version 0.3
    /// refuses the task with [`MissingField`](crate::Code::MissingField); use [`after`](Self::after)
    /// there.
    ///
    /// ```
    /// use std::time::Duration;
    /// use hyper_delay_client::Task;
    ///
    /// let task = Task::new("remind").route("mail").id("order-17").delay(Duration::from_secs(300));
    /// ```
    pub fn delay(mut self, delay: Duration) -> Self {
        self.due = TaskDue::Delay(delay);
        self
    }

    /// Declares that the payload is compressed already. The client compresses payloads itself with
    /// `Builder::compress`, of the features `lz4` and `zstd`.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Replaces a task that has the same name and other content. Without this, such a task is an
    /// error: [`DuplicateId`](crate::Code::DuplicateId).
    ///
    /// If the connection is lost before the reply, the client schedules again. If another producer
    /// has replaced the task in the meantime, this content replaces that one.
    pub fn replace(mut self) -> Self {
        self.replace = true;
        self
    }

    /// Adds a header, which its deliveries carry beside the payload. A second one of the same name
    /// replaces the first. At most 32, with names of 1 to 64 bytes and values of at most 1,024, in
    /// all 4,096 bytes of JSON.
    ///
    /// Headers are not content: a schedule of the same content with other headers changes nothing,
    /// and the first headers stay. A task with the header `traceparent` of the [W3C's trace
    /// context](https://www.w3.org/TR/trace-context/) lets its consumer continue the trace. The
    /// spans of [`schedule`](crate::Client::schedule) and of [`Listen`](crate::Listen)'s handler
    /// have it as a field:
    ///
    /// ```
    /// use hyper_delay_client::{Delivery, Task};
    ///
    /// # let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// let task = Task::new("hello").route("mail").header("traceparent", traceparent);
    /// # fn handle(delivery: Delivery) {
    /// // At the consumer:
    /// if let Some(traceparent) = delivery.header("traceparent") {
    ///     // Give it to your tracer as the remote parent.
    /// }
    /// # }
    /// ```
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Removes the task at this time, in any state, if it is not done by then; rounded up to a
    /// millisecond. A delivery in flight may still be acknowledged. The time must be later than the
    /// due time. Default: never.
    pub fn expires_at(mut self, time: SystemTime) -> Self {
        self.terms.expires = Some(Due::At(time::to_millis(time)));
        self
    }

    /// As [`expires_at`](Self::expires_at), in Unix milliseconds, at most 2^53.
    pub fn expires_at_millis(mut self, millis: u64) -> Self {
        self.terms.expires = Some(Due::At(millis));
        self
    }

    /// Removes the task if it is not done in this time, from the call of
    /// [`schedule`](crate::Client::schedule) on. Otherwise as [`expires_at`](Self::expires_at).
    pub fn expires_after(mut self, time: Duration) -> Self {
        self.terms.expires = Some(Due::After(time));
        self
    }

    /// Sets the time that a consumer has for its ack: 1 ms to a day, rounded up to a millisecond.
    /// Default: the setting of the route or of the server, 30 s.
    pub fn ack_timeout(mut self, timeout: Duration) -> Self {
        self.terms.ack_timeout_ms = Some(time::whole_millis(timeout));
        self
    }

    /// Sets the number of failed rounds after which the task is a dead letter, from 1. Default: the
    /// setting of the route or of the server, never.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.terms.max_attempts = Some(attempts);
        self
    }

    /// Sets the wait after the first failed round, which doubles with each further one: 1 ms to a
    /// day, rounded up to a millisecond. Default: the setting of the route or of the server, 1 s.
    pub fn retry_delay(mut self, first: Duration) -> Self {
        self.terms.retry_delay_ms = Some(time::whole_millis(first));
        self
    }

    /// Sets the longest wait after a failed round: 1 ms to a day, rounded up to a millisecond, and
    /// not less than the first. Default: the setting of the route or of the server, 60 s, or the
    /// first wait if that is longer.
    pub fn max_retry_delay(mut self, longest: Duration) -> Self {
        self.terms.max_retry_delay_ms = Some(time::whole_millis(longest));
        self
    }

    /// Returns the time or the delay, in milliseconds.
    pub(crate) fn fire_at_or_delay(&self, now: SystemTime) -> (Option<u64>, Option<u64>) {
        match self.due {
            TaskDue::Time(due) => (Some(due.millis(now)), None),
            TaskDue::Delay(delay) => (None, Some(time::whole_millis(delay))),
        }
    }
}

impl Due {
    pub(crate) fn millis(self, now: SystemTime) -> u64 {
        match self {
            Self::At(millis) => millis,
            Self::After(delay) => now.checked_add(delay).map_or(u64::MAX, time::to_millis),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::Task;

    #[test]
    fn due_after_counts_from_the_schedule_and_at_does_not() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let fire_at = |task: Task| task.fire_at_or_delay(now);
        let after = |delay| fire_at(Task::new("").after(delay));
        assert_eq!(fire_at(Task::new("")), (Some(100_000), None));
        assert_eq!(after(Duration::from_micros(1)), (Some(100_001), None));
        assert_eq!(fire_at(Task::new("").at_millis(7)), (Some(7), None));
        assert_eq!(fire_at(Task::new("").at(now)), (Some(100_000), None));
        assert_eq!(after(Duration::MAX), (Some(u64::MAX), None));
    }

    #[test]
    fn a_delay_is_rounded_up_and_replaces_the_time() {
        let now = SystemTime::UNIX_EPOCH;
        let delay = Task::new("").at_millis(7).delay(Duration::from_micros(1));
        assert_eq!(delay.fire_at_or_delay(now), (None, Some(1)));
        assert_eq!(delay.at_millis(7).fire_at_or_delay(now), (Some(7), None));
    }
}
