//! The second listener: health, metrics, requests and the page over HTTP.
//!
//! It answers from the start of the process on. Once the store is open, `Http::serves` gives it
//! what it reads the answers from.

mod health;
mod host_check;
mod listener;
mod metrics;
mod page;
mod problem;
mod router;
mod state;
mod tls;
mod v1;

use std::{io, sync::Arc};

use rustls::ServerConfig;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

pub use state::ReadGauges;
pub(crate) use state::{Access, HttpBackend};
pub(crate) use tls::HttpTls;
#[cfg(feature = "internals")]
pub use v1::read;
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
pub use v1::search_all;

use hyper_delay_config::Config;
use state::{HttpState, Phase};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::http";

/// A running listener. Dropping it closes the listener and all connections.
#[derive(Debug)]
pub struct Http {
    state: Arc<HttpState>,
    listener: JoinHandle<()>,
}

impl Http {
    /// Starts to accept connections.
    ///
    /// # Errors
    ///
    /// If the listener has no address.
    pub(crate) fn start(
        listener: TcpListener,
        configs: watch::Receiver<Config>,
        tls: Option<Arc<ServerConfig>>,
    ) -> Result<Self, io::Error> {
        let address = listener.local_addr()?;
        let tls = HttpTls::new(address, tls);
        let is_encrypted = tls.current().is_some();
        tracing::info!(target: TARGET, %address, tls = is_encrypted, "serving HTTP");
        let state = Arc::new(HttpState::new(configs, tls));
        let listener = tokio::spawn(listener::run(listener, state.clone()));
        Ok(Self { state, listener })
    }

    /// The TLS of its connections.
    pub(crate) fn tls(&self) -> HttpTls {
        self.state.tls.clone()
    }

    /// The server is ready: its store is open.
    pub(crate) fn set_serving(&self, backend: HttpBackend) {
        self.state.set(Phase::Serving(backend));
    }

    /// The server is about to end.
    pub(crate) fn set_stopping(&self) {
        self.state.set(Phase::Stopping);
    }

    /// Closes the listener and all connections, once the answers in flight are written. Afterwards
    /// nothing here uses the store.
    pub(crate) async fn close(mut self) {
        self.set_stopping();
        self.state.closed.send_replace(true);
        let _ = (&mut self.listener).await;
        self.state.wait_for_reads().await;
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.set_stopping();
        self.listener.abort();
    }
}

#[cfg(test)]
mod tests;
