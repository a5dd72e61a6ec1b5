//! What clients meet: the listeners and the connections, whatever serves their requests.

use std::{fmt, sync::Arc};

use tokio::{
    net::TcpListener,
    sync::{
        Semaphore,
        mpsc::{self, Receiver},
        watch,
    },
};

use super::{ServeError, accept::Acceptor, shutdown};
use crate::{
    connection::{Guests, MOST_BACKUPS, Shared, Unfinished},
    driver::Events,
    freshness::Freshness,
    http::{Access, Http, ReadGauges, Serving},
    log_limit::LogLimit,
    progress::Progress,
    reload::{Protection, Reloader, Update},
    tls::Tls,
};
use hyper_delay_config::Config;
use hyper_delay_engine::{clock::Clock, metrics::Metrics};
use hyper_delay_protocol::access::Failures;
use hyper_delay_store::ReadStore;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::server::front";

/// The listeners, with what was checked before the store is open.
pub struct Front {
    /// The configuration at the start.
    pub config: Arc<Config>,
    /// The clock of all threads.
    pub clock: Clock,
    /// What the server has reached.
    pub progress: Arc<Progress>,
    listener: TcpListener,
    reloader: Reloader,
    updates: Receiver<Update>,
    protection: Protection,
    http: Option<Http>,
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").finish_non_exhaustive()
    }
}

/// What requests are answered with.
pub struct Engine<S> {
    /// What is read of the stored tasks.
    pub store: Arc<S>,
    /// Reads the gauges.
    pub gauges: ReadGauges,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Waits until the store may be read.
    pub freshness: Freshness,
}

impl<S> fmt::Debug for Engine<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// The threads behind the connections.
pub trait Threads {
    /// What the end of the server means for what was acknowledged.
    const ENDED: &'static str;

    /// Resolves when one has ended by itself: because another one has panicked, or the disk has
    /// failed. Cancel safe.
    fn ended(&mut self) -> impl Future<Output = Result<(), ServeError>> + Send;

    /// Resolves when everything that was read is committed and answered, after
    /// [`Event::Drain`](crate::driver::Event::Drain).
    fn drained(&mut self) -> impl Future<Output = Result<(), ServeError>> + Send;

    /// Waits for the end of all threads, once [`ended`](Self::ended) or
    /// [`drained`](Self::drained) has resolved without an error.
    fn finish(self) -> impl Future<Output = Result<(), ServeError>> + Send;
}

impl Front {
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
        progress: Arc<Progress>,
    ) -> Result<Self, ServeError> {
        let (sender, updates) = mpsc::channel(1);
        let address = listener.local_addr().map_err(ServeError::Listener)?;
        let reloading = Reloader::start(configs, address, sender, progress.clone());
        let (reloader, config, protection) = reloading.await?;
        Ok(Self {
            config: Arc::new(config),
            clock: Clock::new(),
            progress,
            listener,
            reloader,
            updates,
            protection,
            http,
        })
    }

    /// Accepts connections until `shutdown` resolves, or a thread has ended.
    ///
    /// # Errors
    ///
    /// If a thread has ended by itself.
    pub async fn serve<S: ReadStore, T: Threads>(
        self,
        events: Events,
        engine: Engine<S>,
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
            protection,
            http,
        } = self;
        let Engine {
            store,
            gauges,
            metrics,
            freshness,
        } = engine;
        let address = listener.local_addr().map_err(ServeError::Listener)?;
        metrics.set_tls_expiry(protection.tls.as_ref().and_then(Tls::expiry));
        let (end, ending) = watch::channel(false);
        let (tokens, received) = watch::channel(protection.tokens);
        let logs: Arc<LogLimit> = Arc::default();
        let failures: Arc<Failures> = Arc::default();
        let shared = Shared {
            store: store.clone(),
            unfinished: Arc::new(Unfinished::new(config.max_unfinished_bytes)),
            config,
            tls: protection.tls.map(|tls| tls.config),
            tokens: received.clone(),
            events: events.clone(),
            freshness: freshness.clone(),
            clock,
            ending,
            logs: logs.clone(),
            failures: failures.clone(),
            backups: Arc::new(Semaphore::new(MOST_BACKUPS)),
            metrics: metrics.clone(),
        };
        let (sender, shared) = watch::channel(Arc::new(shared));
        let guests = Guests::new(shared);
        if let Some(http) = &http {
            let asked = guests.clone();
            let ask = move |request| asked.ask(request);
            let access = Access {
                tokens: received,
                failures,
                logs,
            };
            let store = (store, gauges, freshness);
            http.serves(Serving::new(store, metrics, events.clone(), ask, access));
        }
        tracing::info!(target: TARGET, %address, "listening");
        let mut acceptor = Acceptor::new(
            listener,
            updates,
            sender,
            tokens,
            http.as_ref().map(Http::tls),
            progress.clone(),
        );
        progress.listens();
        let ended = tokio::select! {
            ended = threads.ended() => Some(ended),
            () = acceptor.run() => None,
            () = reloader.run() => None,
            () = shutdown => None,
        };
        if let Some(http) = &http {
            http.stops();
        }
        match ended {
            Some(ended) => ended?,
            None => {
                tracing::info!(
                    target: TARGET,
                    "stopping: accepting no more, committing and answering what was read",
                );
                let connections = acceptor.into_connections();
                shutdown::settle(&events, &end, connections, &guests).await;
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
