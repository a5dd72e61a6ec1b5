//! The server as a whole: opens the store, starts the threads, accepts connections, and shuts down
//! in order.

mod accept;
mod error;
mod options;
mod shutdown;
mod threads;

use std::{
    collections::HashMap,
    pin::pin,
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
};

use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
};

pub use error::ServeError;
pub use options::ServeOptions;

use crate::{
    access::Failures,
    clock::Clock,
    committer::committer,
    config::Config,
    connection::{Guests, MOST_BACKUPS, Shared, Unfinished},
    descriptors::{self, Descriptors},
    driver::{Driver, Event},
    http::{Access, Http, Serving},
    ledger::{Ledger, mend_after_loss},
    log_limit::LogLimit,
    progress::Progress,
    reload::{self, Reloader},
    scheduler::{Running as Job, Scheduler, Standing},
    store::{Embedded, OpenOptions, Store, data_directory::warn_if_open},
    tls::Tls,
};
use accept::Acceptor;
use threads::Running;

/// Serves connections of `listener` from the store in `config.data_dir` until `shutdown` resolves.
/// Then it stops accepting and reading, commits and answers what it has read, and returns.
///
/// If `shutdown` resolves before the store is open, this returns at once. The opening goes on in
/// its thread, and `config.data_dir` can be used again when it has ended.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use hyper_delay::config::Config;
/// use tokio::net::TcpListener;
///
/// let config = Config::default();
/// let listener = TcpListener::bind(config.bind_addr).await?;
/// let shutdown = async { /* resolves when the server must stop */ };
/// hyper_delay::run(listener, config, shutdown).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// If the limit of open files is too low, the files of TLS or of tokens cannot be used, the
/// configuration does not protect the address of the listener, a thread cannot be started, or the
/// store cannot be opened or fails.
///
/// # Cancel safety
///
/// Dropping the future ends the server as a crash would: what was acknowledged is on disk. Its
/// threads end shortly after, and `config.data_dir` can be used again.
pub async fn run(
    listener: TcpListener,
    config: Config,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let (_fixed, configs) = watch::channel(config);
    run_reloadable(listener, configs, ServeOptions::default(), shutdown).await
}

/// Like [`run`], and applies each configuration that is sent to `configs`.
///
/// Fields that need a restart keep their values; the log names them. The limits of a connection
/// apply to connections that are accepted later, all other fields at once. See
/// [`Config::reloaded`]. If the files of [`Config::tls`] or [`Config::tokens`] cannot be used, the
/// old configuration stays in force and the log has the error; files that change later are read
/// again.
///
/// ```no_run
/// # async fn example(listener: tokio::net::TcpListener) -> Result<(), Box<dyn std::error::Error>> {
/// use hyper_delay::config::Config;
/// use tokio::sync::watch;
///
/// let (sender, configs) = watch::channel(Config::default());
/// let options = hyper_delay::ServeOptions::default();
/// let server = hyper_delay::run_reloadable(listener, configs, options, std::future::pending());
/// let server = tokio::spawn(server);
/// sender.send(Config {
///     max_connections: 100,
///     ..Config::default()
/// })?;
/// server.await??;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// As [`run`].
///
/// # Cancel safety
///
/// As [`run`].
pub async fn run_reloadable(
    listener: TcpListener,
    configs: watch::Receiver<Config>,
    options: ServeOptions,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    run_watched(listener, configs, options, Arc::default(), shutdown).await
}

/// Like [`run_reloadable`], and notes in `progress` what the server has reached.
pub(crate) async fn run_watched(
    listener: TcpListener,
    configs: watch::Receiver<Config>,
    options: ServeOptions,
    progress: Arc<Progress>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let limit = Descriptors::of_process().limit();
    if limit < descriptors::LEAST {
        return Err(ServeError::TooFewFiles { limit });
    }
    let address = listener.local_addr().map_err(ServeError::Listener)?;
    let tls = reload::load(&configs.borrow(), address)?.tls;
    let tls = tls.map(|tls| tls.config);
    let start = |listener| Http::start(listener, configs.clone(), tls);
    let http = options.http.map(start).transpose();
    let http = http.map_err(ServeError::Listener)?;
    let directory = configs.borrow().data_dir.clone();
    let opening = OpenOptions {
        accept_loss: options.accept_loss,
        ..OpenOptions::default()
    };
    // A thread of its own: the end of a runtime waits for its blocking threads.
    let mut opener = Running::start("opener", move || {
        let store = Embedded::open_with(&directory, opening)?;
        warn_if_open(&directory);
        mend_after_loss(&store)?;
        Ok(store)
    })?;
    let mut shutdown = pin!(shutdown);
    let store = tokio::select! {
        opened = opener.ended() => opened?,
        // The end of the process interrupts the opening as a crash would. Nothing was accepted yet.
        () = &mut shutdown => {
            tracing::info!("stopping before the store is open");
            return Ok(());
        }
    };
    let store = store.with_reserve(configs.borrow().disk_reserve_mib << 20);
    serve(listener, configs, Arc::new(store), http, progress, shutdown).await
}

async fn serve<S: Store>(
    listener: TcpListener,
    configs: watch::Receiver<Config>,
    store: Arc<S>,
    http: Option<Http>,
    progress: Arc<Progress>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let clock = Clock::new();
    let (sender, updates) = tokio::sync::mpsc::channel(1);
    let address = listener.local_addr().map_err(ServeError::Listener)?;
    let reloading = Reloader::start(configs, address, sender, progress.clone());
    let (reloader, config, protection) = reloading.await?;
    let config = Arc::new(config);
    let dedupe = config.dedupe_seconds.saturating_mul(1000);
    let ledger = Ledger::open(store.clone(), dedupe)?;
    let (events, inbox) = mpsc::channel();
    // The thread that writes keeps the channel open, so the scheduler must be told to end.
    let _guard = AbandonGuard(events.clone());
    let (jobs, queue) = mpsc::channel();

    let scheduler = Scheduler::new(
        store.clone(),
        config.clone().into(),
        ledger.low_water(),
        clock.now(),
    )
    .with_standing(Standing {
        paused: ledger.paused().cloned().collect(),
        jobs: ledger
            .running_jobs()
            .map(|(id, job)| Job::stored(id, job))
            .collect(),
    });
    let own_routes = scheduler.own_routes();
    let metrics = scheduler.metrics();
    metrics.set_tls_expiry(protection.tls.as_ref().and_then(Tls::expiry));
    metrics.forecast.begin(ledger.low_water());
    let driver = Driver {
        scheduler,
        events: inbox,
        jobs,
        clock,
        outboxes: HashMap::new(),
        progress: progress.clone(),
    };
    let (applier, writer) = committer(store.clone(), ledger, config.sync, queue, clock);
    let applier = applier
        .with_metrics(metrics.clone())
        .watched(progress.clone());
    let writer = writer
        .with_metrics(metrics.clone())
        .watched(progress.clone());
    let mut writer = threads::writer(writer, events.clone())?;
    let mut applier = Running::start("applier", move || {
        applier.run();
        Ok(())
    })?;
    let mut scheduler = Running::start("scheduler", move || driver.run())?;

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
        clock,
        own_routes,
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
        http.serves(Serving::new(store, metrics, events.clone(), ask, access));
    }
    tracing::info!(%address, "listening");
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
        // The scheduler ends by itself if a thread panics or the disk fails.
        ended = scheduler.ended() => Some(ended),
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
            tracing::info!("stopping: accepting no more, committing and answering what was read");
            let connections = acceptor.into_connections();
            shutdown::settle(&events, &end, connections, &guests).await;
            scheduler.ended().await?;
        }
    }
    applier.ended().await?;
    writer.ended().await?;
    if let Some(http) = http {
        http.close().await;
    }
    tracing::info!("everything acknowledged is on disk");
    Ok(())
}

/// Ends the threads of a server whose future is dropped or fails. After an orderly end nothing
/// receives the event.
struct AbandonGuard(Sender<Event>);

impl Drop for AbandonGuard {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Abandoned);
    }
}

#[cfg(test)]
mod tests;
