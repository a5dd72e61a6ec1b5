use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::{Compression, time};

/// A copy of a task for this client. Cheap to clone.
///
/// It can arrive again with another [`attempt`](Self::attempt), or with the same one after a crash
/// of the server, so handling it twice must do no harm. [`route`](Self::route) and [`id`](Self::id)
/// identify the task.
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
        Self::new(id, route, payload, *fire_at, *attempt, Compression::None)
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

    /// The lateness of the task now, by this machine's clock; zero if the task is early by that
    /// clock.
    #[must_use]
    pub fn lateness(&self) -> Duration {
        self.fire_at()
            .and_then(|due| SystemTime::now().duration_since(due).ok())
            .unwrap_or_default()
    }
}
