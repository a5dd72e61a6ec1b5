//! One member of etcd.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper_delay_etcd::{Client, Error, Options};
use tokio::{sync::SetOnce, time::timeout};

/// One member of etcd, and the connection to it, which all calls share.
///
/// With a user, a connection begins with an authentication, which costs etcd about 50 ms of
/// computing. So only one connection is made at a time, in a task of its own: a call that is given
/// up does not end it.
pub(super) struct EtcdEndpoint {
    url: Arc<str>,
    options: Options,
    connect_timeout: Arc<ConnectTimeout>,
    present: Mutex<Option<Arc<EtcdConnection>>>,
}

/// The time in which a connection must be made: twice as long as for the one before that was
/// too late, since etcd may check passwords slowly, until one is made.
#[derive(Debug)]
struct ConnectTimeout {
    least: Duration,
    now: Mutex<Duration>,
}

impl ConnectTimeout {
    /// It grows up to this, and is never without an end: a member can hang.
    const MOST: Duration = Duration::from_secs(30);

    const fn new(least: Duration) -> Self {
        let now = Mutex::new(least);
        Self { least, now }
    }

    fn now(&self) -> Duration {
        *self.lock()
    }

    /// A connection took longer than `waited`.
    fn grow(&self, waited: Duration) {
        *self.lock() = (2 * waited).min(Self::MOST).max(self.least);
    }

    /// A connection was made.
    fn reset(&self) {
        *self.lock() = self.least;
    }

    fn lock(&self) -> MutexGuard<'_, Duration> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection, which may still be made.
struct EtcdConnection {
    made: SetOnce<Result<Client, EtcdConnectError>>,
    /// The number of times that it has shown that it works.
    activity: AtomicU64,
}

/// A connection was not made.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum EtcdConnectError {
    /// etcd refused it, or could not be reached.
    #[error(transparent)]
    Client(Arc<Error>),
    /// etcd does not answer.
    #[error("no connection in {0:?}")]
    Late(Duration),
}

/// A call to a member of etcd.
#[derive(Clone)]
pub(super) struct EtcdCall {
    connection: Arc<EtcdConnection>,
    /// The activity of the connection when the call began.
    activity: u64,
}

impl EtcdEndpoint {
    /// Creates one that is not connected yet. A connection that takes longer than `patience` is
    /// made anew, and gets more time up to 30 s.
    pub(super) fn new(url: &str, options: Options, patience: Duration) -> Self {
        Self {
            url: url.into(),
            options,
            connect_timeout: Arc::new(ConnectTimeout::new(patience)),
            present: Mutex::default(),
        }
    }

    /// Returns where it is.
    pub(super) const fn url(&self) -> &Arc<str> {
        &self.url
    }

    /// Begins a call, inside a tokio runtime: over the present connection, or over a new one if
    /// there is none, or the present one could not be made.
    pub(super) fn call(&self) -> EtcdCall {
        let mut present = self.lock();
        let connection = match present.take().filter(|it| !it.has_failed()) {
            Some(connection) => connection,
            None => self.connect(),
        };
        *present = Some(connection.clone());
        let signs = connection.activity.load(Ordering::Relaxed);
        EtcdCall {
            connection,
            activity: signs,
        }
    }

    /// Uses a new connection from now on if that of a call which was not answered has shown nothing
    /// since that call began: it may lead nowhere, and that takes the operating system many minutes
    /// to find out.
    pub(super) fn forget(&self, unanswered: &EtcdCall) {
        self.lock().take_if(|present| {
            Arc::ptr_eq(present, &unanswered.connection)
                && present.made.get().is_some()
                && present.activity.load(Ordering::Relaxed) == unanswered.activity
        });
    }

    /// Makes a connection. Without a user, it is made with the first request.
    fn connect(&self) -> Arc<EtcdConnection> {
        let connection = Arc::new(EtcdConnection {
            made: SetOnce::new(),
            activity: AtomicU64::new(0),
        });
        let made = connection.clone();
        let (url, options, patience) = (
            self.url.clone(),
            self.options.clone(),
            self.connect_timeout.clone(),
        );
        tokio::spawn(async move {
            let limit = patience.now();
            let client = match timeout(limit, Client::connect(&url, options)).await {
                Ok(Ok(client)) => {
                    patience.reset();
                    Ok(client)
                }
                Ok(Err(error)) => Err(EtcdConnectError::Client(error.into())),
                Err(_) => {
                    patience.grow(limit);
                    Err(EtcdConnectError::Late(limit))
                }
            };
            // Calls that have waited for the connection do not tell that it leads nowhere.
            made.note_activity();
            made.made.set(client).expect("it is set here only");
        });
        connection
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<EtcdConnection>>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EtcdConnection {
    fn has_failed(&self) -> bool {
        self.made.get().is_some_and(Result::is_err)
    }

    fn note_activity(&self) {
        self.activity.fetch_add(1, Ordering::Relaxed);
    }
}

impl EtcdCall {
    /// Returns the client of the connection.
    ///
    /// # Errors
    ///
    /// If etcd requires a user and does not let this one in. Otherwise the connection is made with
    /// the first request.
    ///
    /// # Cancel safety
    ///
    /// The connection is made nevertheless.
    pub(super) async fn client(&self) -> Result<Client, EtcdConnectError> {
        self.connection.made.wait().await.clone()
    }

    /// Notes that the call was answered, so the connection works.
    pub(super) fn answered(&self) {
        self.connection.note_activity();
    }
}

impl std::fmt::Debug for EtcdEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut endpoint = f.debug_struct("EtcdEndpoint");
        endpoint.field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// Nothing is sent to it: without a user, a connection is made with the first request.
    fn endpoint() -> EtcdEndpoint {
        EtcdEndpoint::new("http://127.0.0.1:1", Options::new(), PATIENCE)
    }

    async fn connected(endpoint: &EtcdEndpoint) -> EtcdCall {
        let call = endpoint.call();
        call.client().await.unwrap();
        endpoint.call()
    }

    fn share(one: &EtcdCall, other: &EtcdCall) -> bool {
        Arc::ptr_eq(&one.connection, &other.connection)
    }

    #[tokio::test]
    async fn unanswered_call_ends_the_use_of_its_own_connection_only() {
        let endpoint = endpoint();
        let (late, failed) = (connected(&endpoint).await, connected(&endpoint).await);
        assert!(share(&late, &failed));
        endpoint.forget(&failed);
        let next = connected(&endpoint).await;
        assert!(!share(&next, &failed));
        endpoint.forget(&late);
        assert!(share(&next, &endpoint.call()));
    }

    #[test]
    fn patience_grows_until_a_connection_is_made() {
        let patience = ConnectTimeout::new(Duration::from_secs(1));
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            let limit = patience.now();
            assert_eq!(limit, Duration::from_secs(seconds));
            patience.grow(limit);
        }
        patience.reset();
        assert_eq!(patience.now(), Duration::from_secs(1));
        // One that is longer from the start stays so.
        let long = ConnectTimeout::new(PATIENCE);
        long.grow(PATIENCE);
        assert_eq!(long.now(), PATIENCE);
    }

    /// A member that takes connections and answers nothing.
    #[tokio::test]
    async fn connection_that_is_late_gets_twice_the_time() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let options = Options::new().user("name", "password");
        let endpoint = EtcdEndpoint::new(&url, options, Duration::from_millis(1));
        for limit in [1, 2, 4] {
            let error = endpoint.call().client().await.unwrap_err();
            assert_eq!(error.to_string(), format!("no connection in {limit}ms"));
        }
    }

    #[tokio::test]
    async fn connection_over_which_an_answer_came_meanwhile_stays() {
        let endpoint = endpoint();
        let (failed, answered) = (connected(&endpoint).await, endpoint.call());
        answered.answered();
        endpoint.forget(&failed);
        assert!(share(&failed, &endpoint.call()));
        endpoint.forget(&endpoint.call());
        assert!(!share(&failed, &endpoint.call()));
    }

    #[tokio::test]
    async fn call_that_has_waited_for_the_connection_does_not_end_its_use() {
        let endpoint = endpoint();
        let waited = endpoint.call();
        endpoint.forget(&waited);
        assert!(share(&waited, &endpoint.call()));
        waited.client().await.unwrap();
        endpoint.forget(&waited);
        assert!(share(&waited, &endpoint.call()));
    }

    #[tokio::test]
    async fn connection_that_could_not_be_made_is_made_anew() {
        let endpoint = EtcdEndpoint::new("no URL", Options::new(), PATIENCE);
        let failed = endpoint.call();
        let waits_too = endpoint.call();
        assert!(share(&failed, &waits_too));
        assert!(failed.client().await.is_err() && waits_too.client().await.is_err());
        assert!(!share(&failed, &endpoint.call()));
    }
}
