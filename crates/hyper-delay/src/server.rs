//! The server as a whole: opens the store, starts the threads, accepts connections, and ends in order.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::{oneshot, watch},
    task::JoinSet,
    time::sleep,
};

use crate::{
    clock::{Clock, SystemClock},
    committer,
    config::Config,
    connection::{self, Shared},
    driver::{Driver, Event},
    ledger::Ledger,
    protocol::{Code, Refusal, Reply},
    scheduler::{Input, Scheduler},
    store::{Embedded, Store, StoreError},
};

/// Why a server ended that was not asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The disk failed. Whatever was acknowledged is there.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(#[from] io::Error),
    /// A thread ended that should not have: a fault of the server.
    #[error("the thread {0} has panicked; what was acknowledged is on disk")]
    Panicked(&'static str),
}

/// Serves connections of `listener` from the store in `config.data_dir`, until `shutdown` resolves. Then it accepts
/// and reads no more, commits and answers what it has read, and returns.
///
/// # Errors
///
/// If the store cannot be opened, or fails.
///
/// # Cancel safety
///
/// Dropping the future ends the server as a crash would: what was acknowledged is on disk.
pub async fn run(
    listener: TcpListener,
    config: Config,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let directory = config.data_dir.clone();
    let store = tokio::task::spawn_blocking(move || Embedded::open(&directory)).await;
    let store = store.map_err(|_| ServeError::Panicked("that opens the store"))??;
    let store = store.with_reserve(config.disk_reserve_mib << 20);
    run_with(
        listener,
        config,
        Arc::new(store),
        Arc::new(SystemClock::new()),
        shutdown,
    )
    .await
}

/// The same over another store, by another clock.
///
/// # Errors
///
/// If the store fails.
///
/// # Cancel safety
///
/// As [`run`].
pub async fn run_with<S: Store>(
    listener: TcpListener,
    config: Config,
    store: Arc<S>,
    clock: Arc<dyn Clock>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let config = Arc::new(config);
    let dedupe = config.dedupe_seconds.saturating_mul(1000);
    let ledger = Ledger::open(store.clone(), dedupe)?;
    let (events, inbox) = mpsc::channel();
    let (jobs, queue) = mpsc::channel();

    let scheduler = Scheduler::new(
        store.clone(),
        config.clone().into(),
        ledger.low_water(),
        clock.now(),
    );
    let driver = Driver {
        scheduler,
        events: inbox,
        sender: events.clone(),
        jobs,
        clock: clock.clone(),
        runtime: tokio::runtime::Handle::current(),
        outboxes: HashMap::new(),
        fates: HashMap::new(),
    };
    let (tell, clock_of_committer, sync) = (events.clone(), clock.clone(), config.sync);
    let store_of_committer = store.clone();
    let committer = start("committer", move || {
        let told = |committed| {
            let input = Input::Committed(committed);
            let _ = tell.send(Event::Input(input));
        };
        let result = committer::run(
            &*store_of_committer,
            ledger,
            sync,
            &queue,
            &*clock_of_committer,
            told,
        );
        if let Err(error) = result {
            tracing::error!(%error, "the store failed");
            let _ = tell.send(Event::Failed(error));
        }
        Ok(())
    })?;
    let mut scheduler = start("scheduler", move || driver.run())?;
    tracing::info!(address = %listener.local_addr()?, "listening");

    let (end, ending) = watch::channel(false);
    let shared = Arc::new(Shared {
        store,
        config,
        events: events.clone(),
        ending,
    });
    let mut connections = JoinSet::new();
    let ended = tokio::select! {
        ended = &mut scheduler => Some(ended),
        () = accept(&listener, &shared, &mut connections) => None,
        () = shutdown => None,
    };
    drop(listener);
    if let Some(ended) = ended {
        // The scheduler ends by itself only if the disk failed: there is nothing to be answered any more.
        return joined("scheduler", ended);
    }
    tracing::info!("stopping: no more is accepted, what was read is committed and answered");
    let _ = events.send(Event::Input(Input::Ending));
    let _ = end.send(true);
    settle(&events, connections).await;
    joined("scheduler", scheduler.await)?;
    joined("committer", committer.await)
}

/// Has all that was read committed and answered.
async fn settle(events: &Sender<Event>, mut connections: JoinSet<()>) {
    /// A connection that does not take its answers holds up the end no longer than this.
    const PATIENCE: Duration = Duration::from_secs(5);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(PATIENCE, all).await;
    let _ = events.send(Event::Drain);
}

async fn accept<S: Store>(
    listener: &TcpListener,
    shared: &Arc<Shared<S>>,
    connections: &mut JoinSet<()>,
) {
    /// How long to wait when there are no more file descriptors.
    const PAUSE: Duration = Duration::from_millis(50);
    let mut next = 0;
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(PAUSE).await;
                continue;
            }
        };
        if !shared.config.allowed_hosts.allows(address.ip()) {
            tracing::warn!(%address, "refused: the host is not in allowed_hosts");
            continue;
        }
        while connections.try_join_next().is_some() {}
        if connections.len() >= shared.config.max_connections {
            tracing::warn!(%address, "refused: there are max_connections connections");
            tokio::spawn(refuse(stream, shared.config.max_connections));
            continue;
        }
        next += 1;
        tracing::debug!(connection = next, %address, "connected");
        connections.spawn(connection::serve(shared.clone(), next, stream));
    }
}

/// Tells a connection that it is one too many.
async fn refuse(mut stream: TcpStream, most: usize) {
    let message =
        format!("there are {most} connections, which is max_connections: close some, or raise it");
    let mut line = Vec::new();
    Reply::Error(Refusal::new(Code::TooManyConnections, message)).encode(None, &mut line);
    if stream.try_write(&line).is_ok() && stream.shutdown().await.is_ok() {
        connection::linger(&mut stream).await;
    }
}

type Ended = Result<Result<(), StoreError>, oneshot::error::RecvError>;

/// Starts a thread; the receiver gets what it ends with, or an error if it panics.
fn start(
    name: &'static str,
    body: impl FnOnce() -> Result<(), StoreError> + Send + 'static,
) -> Result<oneshot::Receiver<Result<(), StoreError>>, io::Error> {
    let (ended, receiver) = oneshot::channel();
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            let _ = ended.send(body());
        })?;
    Ok(receiver)
}

fn joined(name: &'static str, ended: Ended) -> Result<(), ServeError> {
    match ended {
        Ok(result) => Ok(result?),
        Err(_) => Err(ServeError::Panicked(name)),
    }
}
