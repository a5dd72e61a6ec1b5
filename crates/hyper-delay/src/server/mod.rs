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

use tokio::{net::TcpListener, sync::watch};

pub use error::ServeError;
pub use options::ServeOptions;

use crate::{
    clock::Clock,
    committer::committer,
    config::Config,
    connection::{Shared, Unfinished},
    descriptors::{self, Descriptors},
    driver::{Driver, Event},
    ledger::{Ledger, mend_after_loss},
    scheduler::Scheduler,
    store::{Embedded, OpenOptions, Store},
};
use accept::Acceptor;
use threads::Running;

/// Serves connections of `listener` from the store in `config.data_dir` until `shutdown` resolves.
/// Then it stops accepting and reading, commits and answers what it has read, and returns.
///
/// If `shutdown` resolves before the store is open, this returns at once. The opening goes on in its
/// thread, and `config.data_dir` can be used again when it has ended.
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
/// If the limit of open files is too low, a thread cannot be started, or the store cannot be opened
/// or fails.
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
/// [`Config::reloaded`].
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
    let limit = Descriptors::of_process().limit();
    if limit < descriptors::LEAST {
        return Err(ServeError::TooFewFiles { limit });
    }
    let directory = configs.borrow().data_dir.clone();
    let opening = OpenOptions {
        accept_loss: options.accept_loss,
    };
    // A thread of its own: the end of a runtime waits for its blocking threads.
    let mut opener = Running::start("opener", move || {
        let store = Embedded::open_with(&directory, opening)?;
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
    serve(listener, configs, Arc::new(store), shutdown).await
}

async fn serve<S: Store>(
    listener: TcpListener,
    mut configs: watch::Receiver<Config>,
    store: Arc<S>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let clock = Clock::new();
    let config = Arc::new(configs.borrow_and_update().clone());
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
    );
    let own_routes = scheduler.own_routes();
    let driver = Driver {
        scheduler,
        events: inbox,
        jobs,
        clock,
        outboxes: HashMap::new(),
    };
    let (applier, writer) = committer(store.clone(), ledger, config.sync, queue, clock);
    let mut writer = threads::writer(writer, events.clone())?;
    let mut applier = Running::start("applier", move || {
        applier.run();
        Ok(())
    })?;
    let mut scheduler = Running::start("scheduler", move || driver.run())?;
    let address = listener.local_addr().map_err(ServeError::Listener)?;
    tracing::info!(%address, "listening");

    let (end, ending) = watch::channel(false);
    let shared = Shared {
        store,
        unfinished: Arc::new(Unfinished::new(config.max_unfinished_bytes)),
        config,
        events: events.clone(),
        clock,
        own_routes,
        ending,
        logs: Arc::default(),
    };
    let mut acceptor = Acceptor::new(listener, configs, shared);
    let ended = tokio::select! {
        // The scheduler ends by itself if a thread panics or the disk fails.
        ended = scheduler.ended() => Some(ended),
        () = acceptor.run() => None,
        () = shutdown => None,
    };
    match ended {
        Some(ended) => ended?,
        None => {
            tracing::info!("stopping: accepting no more, committing and answering what was read");
            shutdown::settle(&events, &end, acceptor.into_connections()).await;
            scheduler.ended().await?;
        }
    }
    applier.ended().await?;
    writer.ended().await?;
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
