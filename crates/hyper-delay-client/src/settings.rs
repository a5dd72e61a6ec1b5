use std::time::Duration;

use crate::payloads::Payloads;

/// The options of a client. [`Builder`](crate::Builder) documents them.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) address: String,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<crate::Tls>,
    pub(crate) payloads: Payloads,
    pub(crate) token: Option<crate::Token>,
    pub(crate) outstanding: usize,
    pub(crate) max_line_bytes: usize,
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Option<Duration>,
    pub(crate) close_timeout: Duration,
    pub(crate) first_delay: Duration,
    pub(crate) max_delay: Duration,
    pub(crate) keepalive: Option<Duration>,
    pub(crate) keepalive_timeout: Duration,
}

impl Settings {
    pub(crate) fn new(address: String) -> Self {
        Self {
            address,
            #[cfg(feature = "tls")]
            tls: None,
            payloads: Payloads::default(),
            token: None,
            outstanding: 1024,
            max_line_bytes: 65_536,
            connect_timeout: Duration::from_secs(10),
            request_timeout: Some(Duration::from_secs(30)),
            close_timeout: Duration::from_secs(5),
            first_delay: Duration::from_millis(100),
            max_delay: Duration::from_secs(10),
            keepalive: Some(Duration::from_secs(15)),
            keepalive_timeout: Duration::from_secs(10),
        }
    }

    /// The number of lines that open a connection: `hello`, and `auth` before it.
    pub(crate) fn opening_lines(&self) -> u64 {
        1 + u64::from(self.token.is_some())
    }
}
