//! The frontend: the listeners and the connections, independent of what serves their requests.

use std::{fmt, sync::Arc};

use tokio::{
    net::TcpListener,
    sync::{
        Semaphore,
        mpsc::{self, Receiver},
        watch,
    },
};

use super::{ServeError, accept::ConnectionAcceptor, shutdown};
use crate::{
    connection::{ConnectionContext, MAX_BACKUPS, OneShotClient, UnfinishedLines},
    driver::EventSender,
    freshness::Freshness,
    http::{Access, Http, HttpBackend, ReadGauges},
    log_limit::LogLimit,
    progress::ServerProgress,
    reload::{Reloader, ServerSecurity, ServerUpdate},
    tls::ServerTls,
};
use hyper_delay_config::Config;
use hyper_delay_engine::{clock::Clock, metrics::Metrics};
use hyper_delay_protocol::access::TokenFailures;
use hyper_delay_store::ReadStore;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::server::front";

/// The listeners, with what was checked before the store is open.
pub struct Frontend {
    /// The configuration at the start.
    pub config: Arc<Config>,
    /// The clock of all threads.
    pub clock: Clock,
    /// The progress of the server.
    pub progress: Arc<ServerProgress>,
    listener: TcpListener,
    reloader: Reloader,
    updates: Receiver<ServerUpdate>,
    security: ServerSecurity,
    http: Option<Http>,
}

impl fmt::Debug for Frontend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frontend").finish_non_exhaustive()
    }
}

/// The sources of answers: the store, the gauges and the counters.
pub struct Backend<S> {
    /// The stored tasks.
    pub store: Arc<S>,
    /// Reads the gauges.
    pub gauges: ReadGauges,
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// Waits until the store may be read.
    pub freshness: Freshness,
}

impl<S> fmt::Debug for Backend<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend").finish_non_exhaustive()
    }
}

/// The threads behind the connections.
pub trait ServerThreads {
    /// The log message at the end: where acknowledged tasks are kept.
    const ENDED: &'static str;

    /// Resolves when one has ended by itself: because another one has panicked, or the disk has
    /// failed. Cancel safe.
    fn ended(&mut self) -> impl Future<Output = Result<(), ServeError>> + Send;

    /// Resolves when everything that was read is committed and answered, after
    /// [`ServerEvent::Drain`](crate::driver::ServerEvent::Drain).
    fn drained(&mut self) -> impl Future<Output = Result<(), ServeError>> + Send;

    /// Waits for the end of all threads, once [`ended`](Self::ended) or
    /// [`drained`](Self::drained) has resolved without an error.
    fn finish(self) -> impl Future<Output = Result<(), ServeError>> + Send;
}

impl Frontend {
    /// Checks the configuration and its files.
    ///
    /// # Errors
    ///
    /// If the files of TLS or of tokens cannot be used, or the configuration does not protect the
    /// address of the listener.
    pub async fn prepare(
        listener: TcpListener,
        configs: watch::Receiver<Config>,
        http: Option<Http>,
        progress: Arc<ServerProgress>,
    ) -> Result<Self, ServeError> {
        let (sender, updates) = mpsc::channel(1);
        let address = listener.local_addr().map_err(ServeError::Listener)?;
        let reloading = Reloader::start(configs, address, sender, progress.clone());
        let (reloader, config, security) = reloading.await?;
        Ok(Self {
            config: Arc::new(config),
            clock: Clock::new(),
            progress,
            listener,
            reloader,
            updates,
            security,
            http,
        })
    }

    /// Accepts connections until `shutdown` resolves, or a thread has ended.
    ///
    /// # Errors
    ///
    /// If a thread has ended by itself.
    pub async fn serve<S: ReadStore, T: ServerThreads>(
        self,
        events: EventSender,
        backend: Backend<S>,
        mut threads: T,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let Self {
            config,
            clock,
            progress,
            listener,
            reloader,
            updates,
            security,
            http,
        } = self;
        let Backend {
            store,
            gauges,
            metrics,
            freshness,
        } = backend;
        let address = listener.local_addr().map_err(ServeError::Listener)?;
        metrics.set_tls_expiry(security.tls.as_ref().and_then(ServerTls::expiry));
        let (end, ending) = watch::channel(false);
        let (tokens, received) = watch::channel(security.tokens);
        let logs: Arc<LogLimit> = Arc::default();
        let failures: Arc<TokenFailures> = Arc::default();
        let shared = ConnectionContext {
            store: store.clone(),
            unfinished: Arc::new(UnfinishedLines::new(config.max_unfinished_bytes)),
            config,
            tls: security.tls.map(|tls| tls.config),
            tokens: received.clone(),
            events: events.clone(),
            freshness: freshness.clone(),
            clock,
            ending,
            logs: logs.clone(),
            failures: failures.clone(),
            backups: Arc::new(Semaphore::new(MAX_BACKUPS)),
            metrics: metrics.clone(),
        };
        let (sender, shared) = watch::channel(Arc::new(shared));
        let one_shots = OneShotClient::new(shared);
        if let Some(http) = &http {
            let client = one_shots.clone();
            let send = move |request| client.send(request);
            let access = Access {
                tokens: received,
                failures,
                logs,
            };
            let store = (store, gauges, freshness);
            http.set_serving(HttpBackend::new(
                store,
                metrics,
                events.clone(),
                send,
                access,
            ));
        }
        tracing::info!(target: TARGET, %address, "listening");
        let mut acceptor = ConnectionAcceptor::new(
            listener,
            updates,
            sender,
            tokens,
            http.as_ref().map(Http::tls),
            progress.clone(),
        );
        progress.set_listening();
        let ended = tokio::select! {
            ended = threads.ended() => Some(ended),
            () = acceptor.run() => None,
            () = reloader.run() => None,
            () = shutdown => None,
        };
        if let Some(http) = &http {
            http.set_stopping();
        }
        match ended {
            Some(ended) => ended?,
            None => {
                tracing::info!(
                    target: TARGET,
                    "stopping: accepting no more, committing and answering what was read",
                );
                let connections = acceptor.into_connections();
                shutdown::drain_connections(&events, &end, connections, &one_shots).await;
                threads.drained().await?;
            }
        }
        threads.finish().await?;
        if let Some(http) = http {
            http.close().await;
        }
        tracing::info!(target: TARGET, "{}", T::ENDED);
        Ok(())
    }
}
