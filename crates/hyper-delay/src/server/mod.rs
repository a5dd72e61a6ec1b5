//! The server as a whole: opens the store, starts the threads, accepts connections, and shuts down
//! in order.

mod accept;
mod error;
mod front;
#[cfg(any(feature = "cluster", test))]
mod node;
mod options;
mod shutdown;
mod threads;

use std::{
    pin::pin,
    sync::{Arc, mpsc},
};

use tokio::{net::TcpListener, sync::watch};

pub use error::ServeError;
#[cfg(any(feature = "cluster", test))]
pub use node::ClusterError;
pub use options::ServeOptions;

use crate::{
    driver::{Driver, Event, Events},
    freshness::Freshness,
    http::Http,
    outbox::Outboxes,
    progress::Progress,
    reload,
};
use front::{Engine, Front, Threads};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    committer::committer,
    ledger::{Ledger, mend_after_loss},
    metrics::{self, InMemory, Limits},
    scheduler::{Running as Job, Scheduler, Settings, Standing},
    sizes::Sizes,
};
use hyper_delay_fjall::{
    Embedded, OpenOptions,
    data_directory::warn_if_open,
    descriptors::{self, Descriptors},
};
use hyper_delay_store::Store;
use threads::Running;

#[cfg(not(test))]
const SIZES: Sizes = Sizes::SERVER;
/// A short test crosses the boundaries of pages.
#[cfg(test)]
const SIZES: Sizes = Sizes::SMALL;

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
    #[cfg(feature = "cluster")]
    let cluster = configs.borrow().cluster.clone();
    #[cfg(feature = "cluster")]
    if let Some(cluster) = cluster {
        let front = Front::prepare(listener, configs, http, progress).await?;
        return node::serve(front, &cluster, options.accept_loss, shutdown).await;
    }
    let directory = configs.borrow().data_dir.clone();
    let opening = OpenOptions {
        accept_loss: options.accept_loss,
        ..OpenOptions::default()
    };
    // A thread of its own: the end of a runtime waits for its blocking threads.
    let mut opener = Running::start("opener", move || {
        let store = Embedded::open_with(&directory, opening)?;
        warn_if_open(&directory);
        mend_after_loss(&store, SIZES)?;
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
    let front = Front::prepare(listener, configs, http, progress).await?;
    serve(front, Arc::new(store), shutdown).await
}

async fn serve<S: Store>(
    front: Front,
    store: Arc<S>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let (config, clock) = (&front.config, front.clock);
    let dedupe = config.dedupe_seconds.saturating_mul(1000);
    let ledger = Ledger::open(store.clone(), dedupe, SIZES)?;
    let (events, inbox) = mpsc::channel();
    let events = Events::from(events);
    // The thread that writes keeps the channel open, so the scheduler must be told to end.
    let _guard = AbandonGuard(events.clone());
    let (jobs, queue) = mpsc::channel();

    let scheduler = Scheduler::new(
        store.clone(),
        Settings::from(config.clone()).with_sizes(SIZES),
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
    let metrics = scheduler.metrics();
    metrics.forecast.begin(ledger.low_water());
    let driver = Driver {
        scheduler,
        events: inbox,
        jobs,
        clock,
        outboxes: Outboxes::default(),
        pulses: front.progress.pulses.clone(),
    };
    let (applier, writer) = committer(store.clone(), ledger, config.sync, queue, clock);
    let applier = applier
        .with_metrics(metrics.clone())
        .watched(front.progress.pulses.clone());
    let writer = writer
        .with_metrics(metrics.clone())
        .watched(front.progress.pulses.clone());
    let threads = Single {
        writer: threads::writer(writer, store.clone(), events.clone())?,
        applier: Running::start("applier", move || {
            applier.run();
            Ok(())
        })?,
        scheduler: threads::scheduler(driver, store.clone())?,
    };
    let read = store.clone();
    let engine = Engine {
        store,
        gauges: Arc::new(move |memory: &[InMemory], limits: &Limits| {
            let of_scheduler = memory.first().expect("there is one scheduler");
            metrics::read(&read, of_scheduler, limits)
        }),
        metrics,
        freshness: Freshness::default(),
    };
    front.serve(events, engine, threads, shutdown).await
}

/// The threads of a single node.
struct Single {
    writer: Running,
    applier: Running,
    /// Ends by itself if another thread panics or the disk fails.
    scheduler: Running,
}

impl Threads for Single {
    const ENDED: &'static str = "everything acknowledged is on disk";

    async fn ended(&mut self) -> Result<(), ServeError> {
        self.scheduler.ended().await
    }

    async fn drained(&mut self) -> Result<(), ServeError> {
        self.scheduler.ended().await
    }

    async fn finish(mut self) -> Result<(), ServeError> {
        self.applier.ended().await?;
        self.writer.ended().await
    }
}

/// Ends the threads of a server whose future is dropped or fails. After an orderly end nothing
/// receives the event.
struct AbandonGuard(Events);

impl Drop for AbandonGuard {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Abandoned);
    }
}

#[cfg(test)]
mod tests;
