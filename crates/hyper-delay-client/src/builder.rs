use std::time::Duration;

use crate::settings::Settings;
use crate::{Client, ConnectError};

/// A [`Client`] to be: [`Client::builder`] makes one, [`connect`](Self::connect) ends it.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it connects"]
pub struct Builder {
    settings: Settings,
}

impl Builder {
    pub(crate) fn new(address: String) -> Self {
        Self {
            settings: Settings::new(address),
        }
    }

    /// How many requests may be without their answer; further ones wait for room. By default 1,024,
    /// at least 1. Acks and nacks are not among them: the credit bounds those.
    pub fn outstanding(mut self, requests: usize) -> Self {
        self.settings.outstanding = requests.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// The longest line, its end not counted, in both directions: the server's `max_line_bytes`. By
    /// default 65,536. A request that is longer is an error; a longer line of the server ends the
    /// connection, and the client connects again.
    pub fn max_line_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_line_bytes = bytes;
        self
    }

    /// How long one try to connect may take, up to the answer to its first ping. By default 10 s.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.settings.connect_timeout = limit;
        self
    }

    /// How long a request may take, over all connections that it needs; counted from when there was
    /// room for it. By default 30 s; `None` is for ever.
    pub fn request_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.settings.request_timeout = limit.into();
        self
    }

    /// How long [`close`](Client::close) waits for what is open. By default 5 s.
    pub fn close_timeout(mut self, limit: Duration) -> Self {
        self.settings.close_timeout = limit;
        self
    }

    /// How long to wait before connecting again, at first and at most: the wait doubles from try to
    /// try, and each is drawn evenly from its upper half. By default 100 ms and 10 s.
    pub fn reconnect(mut self, first: Duration, max: Duration) -> Self {
        self.settings.first_delay = first;
        self.settings.max_delay = max;
        self
    }

    /// After how long without a byte from the server to ping it. By default 15 s; `None` is never.
    pub fn keepalive(mut self, quiet: impl Into<Option<Duration>>) -> Self {
        self.settings.keepalive = quiet.into();
        self
    }

    /// How long after such a ping, with still no byte, the connection is given up. By default 10 s.
    pub fn keepalive_timeout(mut self, limit: Duration) -> Self {
        self.settings.keepalive_timeout = limit;
        self
    }

    /// Connects, and waits for the answer to a ping. This is tried once; from then on the client
    /// connects again by itself.
    ///
    /// # Errors
    ///
    /// There is no connection, or what is there does not answer as a server does.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime that has its I/O and time drivers on.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the connection is closed, and nothing remains.
    pub async fn connect(self) -> Result<Client, ConnectError> {
        Client::open(self.settings).await
    }
}
