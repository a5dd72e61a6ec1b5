use std::time::{Duration, SystemTime};

use crate::{Compression, time};

/// What is to be delivered, where and when.
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
    /// A task with this payload, due at once. The payload is any bytes; the client does the base64.
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

    /// Where it goes: 1 to 128 bytes.
    ///
    /// Give one if you can. Without it the server chooses: the route that this connection has
    /// registered, if it has exactly one; otherwise one of the connection's own, whose name starts
    /// with `conn-`. The [receipt](crate::Receipt::route) names it. As another connection would get
    /// another route, a task without one is not sent again when the connection is lost before the
    /// answer: [`Disconnected`](crate::RequestError::Disconnected).
    pub fn route(mut self, route: impl Into<String>) -> Self {
        self.route = Some(route.into());
        self
    }

    /// Its name within the route: 1 to 128 bytes. By default a UUID, made by the client.
    ///
    /// Scheduling the same content under the same name again changes nothing, so a task with an
    /// id of your own can be scheduled again after any error.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Due at this moment; one before 1970 counts as 1970, and what is past is due now.
    /// Part of a millisecond counts as a whole one.
    pub fn at(self, time: SystemTime) -> Self {
        self.at_millis(time::to_millis(time))
    }

    /// Due at this moment, in milliseconds since the beginning of 1970 (UTC); at most 2^53.
    pub fn at_millis(mut self, millis: u64) -> Self {
        self.due = Due::At(millis);
        self
    }

    /// Due so long after the moment in which [`schedule`](crate::Client::schedule) is called.
    pub fn after(mut self, delay: Duration) -> Self {
        self.due = Due::After(delay);
        self
    }

    /// How the payload is compressed: a label for the consumer.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Takes the place of a task of the same name, if there is one, which otherwise is an error:
    /// [`DuplicateId`](crate::Code::DuplicateId).
    ///
    /// When the connection is lost before the answer, the client schedules again. Should another
    /// producer have replaced the same task in between, this one's content comes out on top.
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
