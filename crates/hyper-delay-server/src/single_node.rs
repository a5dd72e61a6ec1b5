//! A server alone: opens the store, starts the threads, accepts connections, and shuts down in
//! order.

use std::{
    pin::pin,
    sync::{Arc, mpsc},
};

use tokio::{net::TcpListener, sync::watch};

use crate::{
    ServeError, ServeOptions,
    driver::{EventSender, SchedulerDriver, SchedulerThreadMessage, ServerEvent},
    freshness::Freshness,
    frontend::{Backend, Frontend, ServerThreads},
    http::Http,
    outbox::ConnectionOutboxes,
    progress::ServerProgress,
    reload,
    threads::{self, ThreadHandle},
};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    committer::committer,
    ledger::{Ledger, mend_after_loss},
    metrics::{self, GaugeLimits, MemoryGauges},
    scheduler::{OperatorState, RunningBulkJob, Scheduler, SchedulerSettings},
    single_server::SingleServer,
    sizes::Sizes,
};
use hyper_delay_fjall::{
    Embedded, OpenOptions,
    data_directory::warn_if_world_accessible,
    file_descriptors::{self, Descriptors},
};
use hyper_delay_store::Store;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::server";

/// Starts to listen for HTTP, if there is a listener for it.
///
/// # Errors
///
/// If the process may open too few files, the configuration does not protect the address of the
/// server, or the files of TLS cannot be used.
pub fn start_http(
    listener: &TcpListener,
    configs: &watch::Receiver<Config>,
    http: Option<TcpListener>,
) -> Result<Option<Http>, ServeError> {
    let limit = Descriptors::of_process().limit();
    if limit < file_descriptors::MIN_LIMIT {
        return Err(ServeError::TooFewFiles { limit });
    }
    let address = listener.local_addr().map_err(ServeError::Listener)?;
    let tls = reload::load(&configs.borrow(), address)?.tls;
    let tls = tls.map(|tls| tls.config);
    let start = |listener| Http::start(listener, configs.clone(), tls);
    http.map(start).transpose().map_err(ServeError::Listener)
}

/// Serves connections of `listener` from the store in `data_dir`, as `hyper_delay::run_reloadable`
/// does without a cluster, and updates `progress`.
///
/// # Errors
///
/// Those of `hyper_delay::run`.
pub async fn run(
    listener: TcpListener,
    configs: watch::Receiver<Config>,
    options: ServeOptions,
    progress: Arc<ServerProgress>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let options = options.into_parts();
    let sizes = options.sizes;
    let http = start_http(&listener, &configs, options.http)?;
    let directory = configs.borrow().data_dir.clone();
    let opening = OpenOptions {
        accept_loss: options.accept_loss,
        ..OpenOptions::default()
    };
    // A thread of its own: the end of a runtime waits for its blocking threads.
    let mut opener = ThreadHandle::start("opener", move || {
        let store = Embedded::open_with(&directory, opening)?;
        warn_if_world_accessible(&directory);
        mend_after_loss(&store, sizes)?;
        Ok(store)
    })?;
    let mut shutdown = pin!(shutdown);
    let store = tokio::select! {
        opened = opener.ended() => opened?,
        // The end of the process interrupts the opening as a crash would. Nothing was accepted yet.
        () = &mut shutdown => {
            tracing::info!(target: TARGET, "stopping before the store is open");
            return Ok(());
        }
    };
    let store = store.with_reserve(configs.borrow().disk_reserve_mib << 20);
    let frontend = Frontend::prepare(listener, configs, http, progress).await?;
    serve(frontend, Arc::new(store), sizes, shutdown).await
}

async fn serve<S: Store>(
    frontend: Frontend,
    store: Arc<S>,
    sizes: Sizes,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let (config, clock) = (&frontend.config, frontend.clock);
    let dedupe = config.dedupe_seconds.saturating_mul(1000);
    let ledger = Ledger::open(store.clone(), dedupe, sizes)?;
    let (messages, inbox) = mpsc::channel();
    let events = EventSender::new(messages.clone(), SchedulerThreadMessage::Event);
    // The thread that writes keeps the channel open, so the scheduler must be told to end.
    let _guard = AbandonGuard(events.clone());
    let (jobs, queue) = mpsc::channel();

    let scheduler = Scheduler::new(
        store.clone(),
        SchedulerSettings::from(config.clone()).with_sizes(sizes),
        ledger.low_water(),
        clock.now(),
    )
    .with_operator_state(OperatorState {
        paused: ledger.paused().cloned().collect(),
        jobs: ledger
            .running_jobs()
            .map(|(id, job)| RunningBulkJob::from_stored(id, job))
            .collect(),
    });
    let metrics = scheduler.metrics();
    metrics.forecast.begin(ledger.low_water());
    let driver = SchedulerDriver {
        server: SingleServer::new(scheduler, clock.now()),
        messages: inbox,
        jobs,
        clock,
        outboxes: ConnectionOutboxes::default(),
        pulses: frontend.progress.pulses.clone(),
    };
    let (applier, writer) = committer(store.clone(), ledger, config.sync, queue, clock);
    let applier = applier
        .with_metrics(metrics.clone())
        .with_progress(frontend.progress.pulses.clone());
    let writer = writer
        .with_metrics(metrics.clone())
        .with_progress(frontend.progress.pulses.clone());
    let threads = SingleNodeThreads {
        writer: threads::writer(writer, store.clone(), messages)?,
        applier: ThreadHandle::start("applier", move || {
            applier.run();
            Ok(())
        })?,
        scheduler: threads::scheduler(driver, store.clone())?,
    };
    let read = store.clone();
    let backend = Backend {
        store,
        gauges: Arc::new(move |memory: &[MemoryGauges], limits: &GaugeLimits| {
            let of_scheduler = memory.first().expect("there is one scheduler");
            metrics::read_gauges(&read, of_scheduler, limits)
        }),
        metrics,
        freshness: Freshness::default(),
    };
    frontend.serve(events, backend, threads, shutdown).await
}

/// The threads of a single node.
struct SingleNodeThreads {
    writer: ThreadHandle,
    applier: ThreadHandle,
    /// Ends by itself if another thread panics or the disk fails.
    scheduler: ThreadHandle,
}

impl ServerThreads for SingleNodeThreads {
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
#[derive(Debug)]
pub struct AbandonGuard(pub EventSender);

impl Drop for AbandonGuard {
    fn drop(&mut self) {
        let _ = self.0.send(ServerEvent::Abandoned);
    }
}

#[cfg(test)]
mod tests;
