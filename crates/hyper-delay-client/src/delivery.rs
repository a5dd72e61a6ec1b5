use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::{Compression, time};

/// A copy of a task, sent to this client to be done. Cheap to clone.
///
/// It may come again, with another [`attempt`](Self::attempt) or (after a crash of the server) the
/// same: work on it should be such that twice does no harm. [`route`](Self::route) and
/// [`id`](Self::id) tell that it is the same task.
#[derive(Clone, Debug)]
pub struct Delivery {
    parts: Arc<Parts>,
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
        }
    }

    /// The task's name within its route.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.parts.id
    }

    /// The route it came by.
    #[must_use]
    pub fn route(&self) -> &str {
        &self.parts.route
    }

    /// What was scheduled, byte for byte.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.parts.payload
    }

    /// How the payload is compressed, according to the producer.
    #[must_use]
    pub fn compression(&self) -> &Compression {
        &self.parts.compression
    }

    /// Which round this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u64 {
        self.parts.attempt
    }

    /// When the task was to be due, in milliseconds since the beginning of 1970 (UTC).
    #[must_use]
    pub fn fire_at_millis(&self) -> u64 {
        self.parts.fire_at
    }

    /// When the task was to be due; `None` if the system's clock cannot name it.
    #[must_use]
    pub fn fire_at(&self) -> Option<SystemTime> {
        time::from_millis(self.parts.fire_at)
    }

    /// By how much the task is late at this moment, by this machine's clock; zero if that says that
    /// it is early. For a first attempt, asked at once, it is what the way here took.
    #[must_use]
    pub fn lateness(&self) -> Duration {
        self.fire_at()
            .and_then(|due| SystemTime::now().duration_since(due).ok())
            .unwrap_or_default()
    }
}
