use std::{
    fmt, mem,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard, oneshot, watch},
    time::timeout,
};

use super::{
    HttpTls,
    v1::{SearchQuery, SearchResults, search},
};
use crate::{
    connection::{OneShotRequest, PendingReply},
    driver::{EventSender, ServerEvent},
    freshness::Freshness,
    log_limit::{LogLimit, Warning},
};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    ledger::LedgerView,
    metrics::{GaugeLimits, Gauges, MemoryGauges, Metrics},
};
use hyper_delay_protocol::{
    access::{Grant, TokenFailures, Tokens},
    secret::Secret,
};
use hyper_delay_store::{ReadStore, StoreError};

/// A thread or a disk that does not answer for this time is stuck.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// The time for which gauges are cached, so that frequent scrapes cost little.
const CACHE_LIFETIME: Duration = Duration::from_millis(200);

/// The state that all HTTP requests share.
#[derive(Debug)]
pub(super) struct HttpState {
    pub(super) configs: watch::Receiver<Config>,
    pub(super) tls: HttpTls,
    /// Open connections.
    pub(super) connections: Arc<AtomicUsize>,
    /// True once the listener is to end.
    pub(super) closed: watch::Sender<bool>,
    phase: Mutex<Phase>,
    /// Held while the store is read: one request at a time does. Has the gauges that were read
    /// last.
    gauges_cache: Arc<AsyncMutex<Option<CachedGauges>>>,
    /// The same for those of the page.
    page_gauges_cache: Arc<AsyncMutex<Option<CachedGauges>>>,
    /// Held while an id is looked for.
    search_lock: Arc<AsyncMutex<()>>,
}

/// Whether a route may be shown.
pub(super) type RouteFilter<'a> = &'a dyn Fn(&str) -> bool;

/// Gauges, and when they were read.
type CachedGauges = (Instant, Arc<Gauges>);

/// The phase of the server.
#[derive(Debug)]
pub(super) enum Phase {
    /// The store is being opened.
    Opening,
    Serving(HttpBackend),
    /// It is about to end.
    Stopping,
}

/// The sources of all answers.
#[derive(Clone)]
pub(crate) struct HttpBackend {
    pub(super) metrics: Arc<Metrics>,
    events: EventSender,
    store: Arc<dyn TaskSearch>,
    gauges: ReadGauges,
    freshness: Freshness,
    send: Arc<dyn Fn(OneShotRequest) -> PendingReply + Send + Sync>,
    access: Access,
}

impl fmt::Debug for HttpBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBackend").finish_non_exhaustive()
    }
}

/// Access control: the tokens, and the addresses that gave wrong ones.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    /// `None` if the server has no tokens.
    pub(crate) tokens: watch::Receiver<Option<Tokens>>,
    pub(crate) failures: Arc<TokenFailures>,
    pub(crate) logs: Arc<LogLimit>,
}

/// Reads gauges, given the tasks that the schedulers have in memory.
pub type ReadGauges =
    Arc<dyn Fn(&[MemoryGauges], &GaugeLimits) -> Result<Gauges, StoreError> + Send + Sync>;

/// A search in the store, without the type of the store.
trait TaskSearch: Send + Sync {
    fn search(
        &self,
        query: &SearchQuery,
        is_visible: RouteFilter<'_>,
    ) -> Result<SearchResults, StoreError>;
}

struct StoreSearch<S>(Arc<S>);

impl<S: ReadStore> TaskSearch for StoreSearch<S> {
    fn search(
        &self,
        query: &SearchQuery,
        is_visible: RouteFilter<'_>,
    ) -> Result<SearchResults, StoreError> {
        search(&LedgerView::new(self.0.clone()), query, is_visible)
    }
}

impl HttpBackend {
    pub(crate) fn new<S: ReadStore>(
        (store, gauges, freshness): (Arc<S>, ReadGauges, Freshness),
        counted: Arc<Metrics>,
        events: EventSender,
        send: impl Fn(OneShotRequest) -> PendingReply + Send + Sync + 'static,
        access: Access,
    ) -> Self {
        Self {
            metrics: counted,
            events,
            store: Arc::new(StoreSearch(store)),
            gauges,
            freshness,
            send: Arc::new(send),
            access,
        }
    }

    /// Returns the tokens, if the server has some.
    pub(super) fn tokens(&self) -> Option<Tokens> {
        self.access.tokens.borrow().clone()
    }

    /// Returns the grant of a peer's secret.
    ///
    /// # Errors
    ///
    /// The time that the answer must wait, if it is not the secret of a token.
    pub(super) fn check(
        &self,
        tokens: &Tokens,
        secret: Option<&Secret>,
        peer: IpAddr,
    ) -> Result<Arc<Grant>, Duration> {
        let Access { failures, logs, .. } = &self.access;
        failures.check(tokens, secret, peer).inspect_err(|_| {
            let id = secret.map_or("malformed", |secret| secret.id());
            self.metrics.wrong_tokens.add(1);
            logs.warn(Warning::Token, format_args!("{peer}: token {id}"));
        })
    }

    /// Sends a request of a client.
    pub(super) fn request(&self, request: OneShotRequest) -> PendingReply {
        (self.send)(request)
    }

    /// Waits until the scheduler has answered. Returns `None` if it does not.
    pub(super) async fn ask<T>(
        &self,
        event: impl FnOnce(oneshot::Sender<T>) -> ServerEvent,
    ) -> Option<T> {
        let (sender, answer) = oneshot::channel();
        self.events.send(event(sender)).ok()?;
        timeout(TIMEOUT, answer).await.ok()?.ok()
    }
}

/// The reason why the server cannot answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotServing {
    Opening,
    /// The same for a node of a cluster.
    Joining,
    Stopping,
}

impl NotServing {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Opening => "the store is being opened: wait",
            Self::Joining => {
                "the stores are being opened, or etcd does not answer yet: wait, or look at the log"
            }
            Self::Stopping => "the server is shutting down: wait for its restart",
        }
    }
}

impl From<NotServing> for String {
    fn from(reason: NotServing) -> Self {
        reason.as_str().to_owned()
    }
}

impl HttpState {
    pub(super) fn new(configs: watch::Receiver<Config>, tls: HttpTls) -> Self {
        Self {
            configs,
            tls,
            connections: Arc::default(),
            closed: watch::Sender::new(false),
            phase: Mutex::new(Phase::Opening),
            gauges_cache: Arc::default(),
            page_gauges_cache: Arc::default(),
            search_lock: Arc::default(),
        }
    }

    pub(super) fn set(&self, phase: Phase) {
        let mut current = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let before = mem::replace(&mut *current, phase);
        drop(current);
        drop(before);
    }

    /// Returns the sources of answers, or why there are none.
    pub(super) fn backend(&self) -> Result<HttpBackend, NotServing> {
        let phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        match &*phase {
            Phase::Opening => Err(match self.configs.borrow().cluster {
                None => NotServing::Opening,
                Some(_) => NotServing::Joining,
            }),
            Phase::Serving(backend) => Ok(backend.clone()),
            Phase::Stopping => Err(NotServing::Stopping),
        }
    }

    /// Returns the gauges of `/metrics`, or why they cannot be read.
    pub(super) async fn gauges(&self, backend: HttpBackend) -> Result<Arc<Gauges>, String> {
        read_gauges(&self.gauges_cache, backend, GaugeLimits::SCRAPE).await
    }

    /// Returns the gauges of the page, or why they cannot be read.
    pub(super) async fn page_gauges(&self, backend: HttpBackend) -> Result<Arc<Gauges>, String> {
        read_gauges(&self.page_gauges_cache, backend, GaugeLimits::PAGE).await
    }

    /// Looks for the tasks with an id, on the routes that are seen.
    pub(super) async fn search(
        &self,
        backend: HttpBackend,
        query: SearchQuery,
        is_visible: impl Fn(&str) -> bool + Send + 'static,
    ) -> Result<SearchResults, String> {
        let fresh = backend.freshness.wait(None).await;
        fresh.map_err(|refusal| refusal.message.to_string())?;
        let guard = lock_in_time(&self.search_lock).await?;
        read_blocking(guard, move |()| backend.store.search(&query, &is_visible)).await
    }

    /// Waits until no request reads the store.
    pub(super) async fn wait_for_reads(&self) {
        drop(self.gauges_cache.lock().await);
        drop(self.page_gauges_cache.lock().await);
        drop(self.search_lock.lock().await);
    }
}

async fn lock_in_time<L>(mutex: &Arc<AsyncMutex<L>>) -> Result<OwnedMutexGuard<L>, String> {
    let guard = timeout(TIMEOUT, mutex.clone().lock_owned()).await;
    guard.map_err(|_| STUCK.to_owned())
}

async fn read_gauges(
    cache: &Arc<AsyncMutex<Option<CachedGauges>>>,
    backend: HttpBackend,
    limits: GaugeLimits,
) -> Result<Arc<Gauges>, String> {
    let guard = lock_in_time(cache).await?;
    if let Some((read, gauges)) = &*guard
        && read.elapsed() < CACHE_LIFETIME
    {
        return Ok(gauges.clone());
    }
    let memory = backend.ask(ServerEvent::InMemory).await;
    let memory = memory.ok_or(SCHEDULER)?;
    read_blocking(guard, move |last| {
        let gauges = Arc::new((backend.gauges)(&memory, &limits)?);
        *last = Some((Instant::now(), gauges.clone()));
        Ok(gauges)
    })
    .await
}

pub(super) const SCHEDULER: &str = "the scheduler does not answer: look at the log";

const STUCK: &str = "the disk of data_dir does not answer: check it";

/// Reads from the store on a thread that may block. A read that panics has met damage that no
/// checksum shows. The turn is over when the read is, even if nothing waits for it any more.
async fn read_blocking<T: Send + 'static, L: Send + 'static>(
    mut guard: OwnedMutexGuard<L>,
    read: impl FnOnce(&mut L) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, String> {
    let reading = tokio::task::spawn_blocking(move || read(&mut guard));
    match timeout(TIMEOUT, reading).await {
        Ok(Ok(Ok(read))) => Ok(read),
        Ok(Ok(Err(error))) => Err(error.to_string()),
        Ok(Err(_)) => {
            Err("the read of the store has panicked: run `hyper-delay verify`".to_owned())
        }
        Err(_) => Err(STUCK.to_owned()),
    }
}
