use std::{
    fmt, mem,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use tokio::{
    sync::{Mutex as Turn, OwnedMutexGuard, oneshot, watch},
    time::timeout,
};

use super::{
    HttpTls,
    v1::{Found, Wanted, search},
};
use crate::{
    connection::{Answer, Asked},
    driver::{Event, Events},
    freshness::Freshness,
    log_limit::{LogLimit, Warning},
};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    ledger::View,
    metrics::{Gauges, InMemory, Limits, Metrics},
};
use hyper_delay_protocol::{
    access::{Failures, Grant, Tokens},
    secret::Secret,
};
use hyper_delay_store::{ReadStore, StoreError};

/// A thread or a disk that does not answer for this time is stuck.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How long gauges are shown again, so that scrapes cost little however many there are.
const FRESH: Duration = Duration::from_millis(200);

/// What the requests share.
#[derive(Debug)]
pub(super) struct State {
    pub(super) configs: watch::Receiver<Config>,
    pub(super) tls: HttpTls,
    /// Open connections.
    pub(super) connections: Arc<AtomicUsize>,
    /// True once the listener is to end.
    pub(super) closed: watch::Sender<bool>,
    phase: Mutex<Phase>,
    /// Held while the store is read: one request at a time does. Has the gauges that were read
    /// last.
    turn: Arc<Turn<Option<Last>>>,
    /// The same for those of the page.
    page_turn: Arc<Turn<Option<Last>>>,
    /// Held while an id is looked for.
    search_turn: Arc<Turn<()>>,
}

/// Whether a route may be shown.
pub(super) type Sees<'a> = &'a dyn Fn(&str) -> bool;

/// Gauges, and when they were read.
type Last = (Instant, Arc<Gauges>);

/// How far the server is.
#[derive(Debug)]
pub(super) enum Phase {
    /// The store is being opened.
    Opening,
    Serving(Serving),
    /// It is about to end.
    Stopping,
}

/// What the answers are read from.
#[derive(Clone)]
pub struct Serving {
    pub(super) metrics: Arc<Metrics>,
    events: Events,
    store: Arc<dyn Reads>,
    gauges: ReadGauges,
    freshness: Freshness,
    ask: Arc<dyn Fn(Asked) -> Answer + Send + Sync>,
    access: Access,
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").finish_non_exhaustive()
    }
}

/// Who may send what.
#[derive(Debug, Clone)]
pub struct Access {
    /// `None` if the server has no tokens.
    pub(crate) tokens: watch::Receiver<Option<Tokens>>,
    pub(crate) failures: Arc<Failures>,
    pub(crate) logs: Arc<LogLimit>,
}

/// Reads gauges, with what the schedulers have in memory.
pub type ReadGauges = Arc<dyn Fn(&[InMemory], &Limits) -> Result<Gauges, StoreError> + Send + Sync>;

/// What is read from the store, whose type the router need not know.
trait Reads: Send + Sync {
    fn search(&self, wanted: &Wanted, sees: Sees<'_>) -> Result<Found, StoreError>;
}

struct Reader<S>(Arc<S>);

impl<S: ReadStore> Reads for Reader<S> {
    fn search(&self, wanted: &Wanted, sees: Sees<'_>) -> Result<Found, StoreError> {
        search(&View::new(self.0.clone()), wanted, sees)
    }
}

impl Serving {
    pub(crate) fn new<S: ReadStore>(
        (store, gauges, freshness): (Arc<S>, ReadGauges, Freshness),
        counted: Arc<Metrics>,
        events: Events,
        ask: impl Fn(Asked) -> Answer + Send + Sync + 'static,
        access: Access,
    ) -> Self {
        Self {
            metrics: counted,
            events,
            store: Arc::new(Reader(store)),
            gauges,
            freshness,
            ask: Arc::new(ask),
            access,
        }
    }

    /// Returns the tokens, if the server has some.
    pub(super) fn tokens(&self) -> Option<Tokens> {
        self.access.tokens.borrow().clone()
    }

    /// Returns what a secret of a peer gives.
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
    pub(super) fn request(&self, asked: Asked) -> Answer {
        (self.ask)(asked)
    }

    /// Waits until the scheduler has answered. Returns `None` if it does not.
    pub(super) async fn ask<T>(
        &self,
        event: impl FnOnce(oneshot::Sender<T>) -> Event,
    ) -> Option<T> {
        let (tell, told) = oneshot::channel();
        self.events.send(event(tell)).ok()?;
        timeout(PATIENCE, told).await.ok()?.ok()
    }
}

/// Why there is nothing that an answer could be read from.
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

impl State {
    pub(super) fn new(configs: watch::Receiver<Config>, tls: HttpTls) -> Self {
        Self {
            configs,
            tls,
            connections: Arc::default(),
            closed: watch::Sender::new(false),
            phase: Mutex::new(Phase::Opening),
            turn: Arc::default(),
            page_turn: Arc::default(),
            search_turn: Arc::default(),
        }
    }

    pub(super) fn set(&self, phase: Phase) {
        let mut current = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let before = mem::replace(&mut *current, phase);
        drop(current);
        drop(before);
    }

    /// Returns what the answers are read from, or why there is nothing.
    pub(super) fn serving(&self) -> Result<Serving, NotServing> {
        let phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        match &*phase {
            Phase::Opening => Err(match self.configs.borrow().cluster {
                None => NotServing::Opening,
                Some(_) => NotServing::Joining,
            }),
            Phase::Serving(serving) => Ok(serving.clone()),
            Phase::Stopping => Err(NotServing::Stopping),
        }
    }

    /// Returns the gauges of `/metrics`, or why they cannot be read.
    pub(super) async fn gauges(&self, serving: Serving) -> Result<Arc<Gauges>, String> {
        read_gauges(&self.turn, serving, Limits::SCRAPE).await
    }

    /// Returns the gauges of the page, or why they cannot be read.
    pub(super) async fn page_gauges(&self, serving: Serving) -> Result<Arc<Gauges>, String> {
        read_gauges(&self.page_turn, serving, Limits::PAGE).await
    }

    /// Looks for the tasks with an id, on the routes that are seen.
    pub(super) async fn search(
        &self,
        serving: Serving,
        wanted: Wanted,
        sees: impl Fn(&str) -> bool + Send + 'static,
    ) -> Result<Found, String> {
        let fresh = serving.freshness.wait(None).await;
        fresh.map_err(|refusal| refusal.message.to_string())?;
        let turn = take(&self.search_turn).await?;
        blocking(turn, move |()| serving.store.search(&wanted, &sees)).await
    }

    /// Waits until no request reads the store.
    pub(super) async fn read_is_over(&self) {
        drop(self.turn.lock().await);
        drop(self.page_turn.lock().await);
        drop(self.search_turn.lock().await);
    }
}

async fn take<L>(turn: &Arc<Turn<L>>) -> Result<OwnedMutexGuard<L>, String> {
    let turn = timeout(PATIENCE, turn.clone().lock_owned()).await;
    turn.map_err(|_| STUCK.to_owned())
}

async fn read_gauges(
    turn: &Arc<Turn<Option<Last>>>,
    serving: Serving,
    limits: Limits,
) -> Result<Arc<Gauges>, String> {
    let turn = take(turn).await?;
    if let Some((read, gauges)) = &*turn
        && read.elapsed() < FRESH
    {
        return Ok(gauges.clone());
    }
    let memory = serving.ask(Event::InMemory).await;
    let memory = memory.ok_or(SCHEDULER)?;
    blocking(turn, move |last| {
        let gauges = Arc::new((serving.gauges)(&memory, &limits)?);
        *last = Some((Instant::now(), gauges.clone()));
        Ok(gauges)
    })
    .await
}

pub(super) const SCHEDULER: &str = "the scheduler does not answer: look at the log";

const STUCK: &str = "the disk of data_dir does not answer: check it";

/// Reads from the store on a thread that may block. A read that panics has met damage that no
/// checksum shows. The turn is over when the read is, even if nothing waits for it any more.
async fn blocking<T: Send + 'static, L: Send + 'static>(
    mut turn: OwnedMutexGuard<L>,
    read: impl FnOnce(&mut L) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, String> {
    let reading = tokio::task::spawn_blocking(move || read(&mut turn));
    match timeout(PATIENCE, reading).await {
        Ok(Ok(Ok(read))) => Ok(read),
        Ok(Ok(Err(error))) => Err(error.to_string()),
        Ok(Err(_)) => {
            Err("the read of the store has panicked: run `hyper-delay verify`".to_owned())
        }
        Err(_) => Err(STUCK.to_owned()),
    }
}
