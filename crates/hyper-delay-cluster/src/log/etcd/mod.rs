//! The log in etcd.
//!
//! Each request is one transaction, or a read. A call asks one member of etcd, and another one if
//! that one is silent, for a quarter of a lease altogether. So each request can be carried out more
//! than once, and late: `request` documents for each why that is harmless.
//!
//! # Why not etcd's leases
//!
//! A lease of etcd can end although it was kept alive: before 3.4.31 and 3.5.13 a leader of etcd
//! that was stopped for longer than a lease, and continues, ends leases that its successor has kept
//! alive (<https://github.com/etcd-io/etcd/issues/15247>). So etcd is asked for no time: a
//! heartbeat is an ordinary key, and the nodes count (`heartbeat`).
//!
//! # Reading
//!
//! Every read is linearizable. The server never compacts etcd's revisions: its operator configures
//! that.

pub mod config;
mod endpoint;
mod endpoints;
mod error;
mod key;
mod request;
#[cfg(feature = "internals")]
pub mod standalone;
#[cfg(test)]
mod tests;
mod value;
mod watch;

use std::{
    fmt::Display,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{Log, LogAnswer, LogEvent, LogRequest, LogUnanswered};
use config::{EtcdConfig, EtcdConfigError};
use endpoint::EtcdEndpoint;
use endpoints::EtcdEndpoints;
use hyper_delay_store::record::sharded_number::MAX_SHARDS;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::log::etcd";

// A cluster is made in one transaction, and etcd allows 128 operations in one.
const _: () = assert!(MAX_SHARDS < 128, "a cluster is made in one transaction");

/// The log in etcd. See the [module](self).
///
/// It connects with the first call, inside a tokio runtime.
#[derive(Debug)]
pub struct Etcd {
    endpoints: EtcdEndpoints,
    warnings: ThrottledWarnings,
}

impl Etcd {
    /// Creates the log. Reads the files of TLS, and connects to nothing yet.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used.
    pub fn new(config: &EtcdConfig) -> Result<Self, EtcdConfigError> {
        let connections = config.connections()?.into_iter();
        let deadline = config.lease / 4;
        // A call is given up, and the next one still finds the connection that it has begun.
        let endpoint = |(url, options): (String, _)| EtcdEndpoint::new(&url, options, 2 * deadline);
        Ok(Self {
            endpoints: EtcdEndpoints::new(connections.map(endpoint), deadline),
            warnings: ThrottledWarnings::default(),
        })
    }
}

impl Log for Etcd {
    async fn call(&self, request: LogRequest) -> Result<LogAnswer, LogUnanswered> {
        let request = Arc::new(request);
        let pace = request::pace(&request);
        let run = |client| {
            let request = request.clone();
            async move { request::carry_out(&client, &request).await }
        };
        let answer = self.endpoints.ask(pace, run).await;
        if let Err(error) = &answer {
            self.warnings.warn(error);
        }
        answer
    }

    async fn watch(&self, mut tell: impl FnMut(LogEvent) + Send) {
        let patience = self.endpoints.deadline();
        let mut ended = 0;
        loop {
            let endpoint = self.endpoints.at(ended);
            let call = endpoint.call();
            let complain = |error: &_| self.warnings.warn(error);
            let why = watch::follow(&call, patience, &mut tell, complain).await;
            let url = endpoint.url();
            self.warnings
                .warn(format_args!("the watch of etcd at {url}: {why}"));
            endpoint.forget(&call);
            ended += 1;
            tokio::time::sleep(patience / 4).await;
        }
    }
}

/// Logs what is wrong with etcd, at most one line in ten seconds.
#[derive(Debug, Default)]
struct ThrottledWarnings {
    last: Mutex<Option<Instant>>,
}

impl ThrottledWarnings {
    const PAUSE: Duration = Duration::from_secs(10);

    fn warn(&self, what: impl Display) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() >= Self::PAUSE) {
            *last = Some(Instant::now());
            tracing::warn!(target: TARGET, "{what}");
        }
    }
}
