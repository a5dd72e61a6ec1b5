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
    due: Due,
    pub(crate) compression: Compression,
    pub(crate) replace: bool,
}

#[derive(Clone, Copy, Debug)]
enum Due {
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
            due: Due::After(Duration::ZERO),
            compression: Compression::None,
            replace: false,
        }
    }

    /// Sets the route: 1 to 128 bytes.
    ///
    /// Without one, the server chooses the route that this connection has registered, if it is
    /// exactly one, or a route of the connection that starts with `conn-`. The
    /// [receipt](crate::Receipt::route) names it. As another connection gets another route, such a
    /// task is not sent again if the connection is lost before the reply:
    /// [`Disconnected`](crate::RequestError::Disconnected). When the connection ends, the tasks of
    /// its `conn-` route are orphaned: no consumer receives them.
    pub fn route(mut self, route: impl Into<String>) -> Self {
        self.route = Some(route.into());
        self
    }

    /// Sets the id on the route: 1 to 128 bytes. Default: a UUID that the client makes.
    ///
    /// Scheduling the same content under the same name again changes nothing. A task with an id of
    /// your own can therefore be scheduled again after any error.
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
        self.due = Due::At(millis);
        self
    }

    /// Sets the delay from the call of [`schedule`](crate::Client::schedule) until it is due.
    pub fn after(mut self, delay: Duration) -> Self {
        self.due = Due::After(delay);
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

    pub(crate) fn fire_at(&self, now: SystemTime) -> u64 {
        match self.due {
            Due::At(millis) => millis,
            Due::After(delay) => now.checked_add(delay).map_or(u64::MAX, time::to_millis),
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
        assert_eq!(Task::new("").fire_at(now), 100_000);
        assert_eq!(
            Task::new("").after(Duration::from_micros(1)).fire_at(now),
            100_001
        );
        assert_eq!(Task::new("").at_millis(7).fire_at(now), 7);
        assert_eq!(Task::new("").at(now).fire_at(SystemTime::now()), 100_000);
        assert_eq!(Task::new("").after(Duration::MAX).fire_at(now), u64::MAX);
    }
}
