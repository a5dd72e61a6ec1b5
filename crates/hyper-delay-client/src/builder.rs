use std::time::Duration;

use crate::settings::Settings;
use crate::{Client, ConnectError};

/// The options of a [`Client`]. [`Client::builder`] makes a builder, [`connect`](Self::connect)
/// connects.
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

    /// Sets the maximum number of requests without a reply; further ones wait. Default: 1,024, at
    /// least 1. Acks and nacks do not count: the credit bounds them.
    pub fn outstanding(mut self, requests: usize) -> Self {
        self.settings.outstanding = requests.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// Sets the maximum length of a line without its end, in both directions: the server's
    /// `max_line_bytes`. Default: 65,536. A longer request is an error; a longer line of the server
    /// is skipped with a warning.
    pub fn max_line_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_line_bytes = bytes;
        self
    }

    /// Bounds one connection attempt, including the reply to `hello`. Default: 10 s.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.settings.connect_timeout = limit;
        self
    }

    /// Bounds a request over all the connections it needs, from when it has room. Default: 30 s.
    /// `None`: unbounded.
    pub fn request_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.settings.request_timeout = limit.into();
        self
    }

    /// Bounds [`close`](Client::close). Default: 5 s.
    pub fn close_timeout(mut self, limit: Duration) -> Self {
        self.settings.close_timeout = limit;
        self
    }

    /// Sets the first and the maximum wait before a connection attempt. The wait doubles with each
    /// attempt and is drawn evenly from its upper half. Defaults: 100 ms and 10 s.
    pub fn reconnect(mut self, first: Duration, max: Duration) -> Self {
        self.settings.first_delay = first;
        self.settings.max_delay = max;
        self
    }

    /// Sets the silence of the server after which the client sends a ping. Default: 15 s. `None`:
    /// never.
    pub fn keepalive(mut self, quiet: impl Into<Option<Duration>>) -> Self {
        self.settings.keepalive = quiet.into();
        self
    }

    /// Sets the silence after such a ping after which the connection is lost. Default: 10 s.
    pub fn keepalive_timeout(mut self, limit: Duration) -> Self {
        self.settings.keepalive_timeout = limit;
        self
    }

    /// Encrypts the connection. Default: it is plain.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: crate::Tls) -> Self {
        self.settings.tls = Some(tls);
        self
    }

    /// Compresses the payloads of scheduled tasks. Default: they are sent as they are.
    ///
    /// Payloads under 256 bytes are not compressed, nor those that would not become smaller, nor
    /// those of a task that names [its own compression](crate::Task::compression). Compressing
    /// takes place in [`schedule`](Client::schedule).
    #[cfg(any(feature = "lz4", feature = "zstd"))]
    pub fn compress(mut self, codec: crate::Codec) -> Self {
        self.settings.payloads.compress(codec);
        self
    }

    /// Delivers payloads as they are stored, with the compression that their producer named.
    /// Default: [`Delivery::payload`](crate::Delivery::payload) is decompressed, by this client if
    /// it has the feature `lz4` or `zstd`, otherwise by the server.
    ///
    /// A payload that does not decompress is given back by this client, and becomes a dead letter
    /// if it is the server that decompresses.
    pub fn keep_compressed(mut self) -> Self {
        self.settings.payloads.keep_compressed();
        self
    }

    /// Sets the maximum length of a payload that this client decompresses; a delivery with a longer
    /// one is given back. Default: 16 MiB.
    pub fn max_payload_bytes(mut self, bytes: usize) -> Self {
        self.settings.payloads.set_limit(bytes);
        self
    }

    /// Shows the server who the client is, on each connection. Default: it shows nothing.
    ///
    /// A token is sent only over TLS or to this machine.
    pub fn token(mut self, token: crate::Token) -> Self {
        self.settings.token = Some(token);
        self
    }

    /// Connects and waits for the reply to `hello`. Tries once; after that the client reconnects by
    /// itself.
    ///
    /// # Errors
    ///
    /// There is no connection, the peer is not a hyper-delay server, or the token is wrong.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time enabled.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the connection is closed and nothing remains.
    pub async fn connect(self) -> Result<Client, ConnectError> {
        Client::open(self.settings).await
    }
}
