//! The second listener: health, metrics, requests and the page over HTTP.
//!
//! It answers from the start of the process on. Once the store is open, `Http::serves` gives it
//! what it reads the answers from.

mod guard;
mod health;
mod listener;
mod page;
mod problem;
mod router;
mod scrape;
mod secure;
mod state;
mod v1;

use std::{io, sync::Arc};

use rustls::ServerConfig;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

pub(crate) use secure::HttpTls;
pub use state::{Access, ReadGauges, Serving};
#[cfg(feature = "internals")]
pub use v1::read;
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
pub use v1::search_all;

use hyper_delay_config::Config;
use state::{Phase, State};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::http";

/// A running listener. Dropping it closes the listener and all connections.
#[derive(Debug)]
pub struct Http {
    state: Arc<State>,
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
        let state = Arc::new(State::new(configs, tls));
        let listener = tokio::spawn(listener::run(listener, state.clone()));
        Ok(Self { state, listener })
    }

    /// What its connections are encrypted with.
    pub(crate) fn tls(&self) -> HttpTls {
        self.state.tls.clone()
    }

    /// The server is ready: its store is open.
    pub(crate) fn serves(&self, serving: Serving) {
        self.state.set(Phase::Serving(serving));
    }

    /// The server is about to end.
    pub(crate) fn stops(&self) {
        self.state.set(Phase::Stopping);
    }

    /// Closes the listener and all connections, once the answers under way are written. Afterwards
    /// nothing here uses the store.
    pub(crate) async fn close(mut self) {
        self.stops();
        self.state.closed.send_replace(true);
        let _ = (&mut self.listener).await;
        self.state.read_is_over().await;
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.stops();
        self.listener.abort();
    }
}

#[cfg(test)]
mod tests;
