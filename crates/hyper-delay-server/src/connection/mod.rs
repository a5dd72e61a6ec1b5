//! One connection: a task that reads its lines, and one that writes to it.

mod asker;
mod authentication;
mod backup;
mod cursor;
mod dead;
mod guest;
mod halves;
mod handshake;
mod idle;
mod look;
mod operations;
mod reader;
mod requests;
mod slots;
mod socket;
mod stats;
mod unfinished;
mod writer;

use std::{fmt, sync::Arc, time::Duration};

use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::TcpStream,
    sync::{Semaphore, watch},
    task::JoinHandle,
    time::timeout,
};

pub(crate) use backup::MOST as MOST_BACKUPS;
pub use guest::{Answer, Asked, Guests, NoReply};
pub(crate) use handshake::{Handshake, LONGEST as LONGEST_HANDSHAKE, refuse};
pub(crate) use slots::{Slot, Slots};
pub(crate) use socket::configure;
pub use socket::watch_over;
pub use unfinished::Unfinished;

use crate::{
    driver::{Event, Events},
    freshness::Freshness,
    log_limit::LogLimit,
    outbox::Outbox,
    tls,
};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    clock::Clock,
    metrics::Metrics,
    scheduler::{ConsumerId, Input},
};
use hyper_delay_protocol::access::{Failures, Tokens};
use hyper_delay_store::ReadStore;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::connection";

/// What all connections share.
pub struct Shared<S> {
    /// What is read of the stored tasks.
    pub store: Arc<S>,
    /// The configuration at the time when the connection was accepted.
    pub config: Arc<Config>,
    /// What TLS needs for new connections; `None`: they are plain.
    pub tls: Option<Arc<ServerConfig>>,
    /// The tokens in force; `None`: every client may do everything.
    pub tokens: watch::Receiver<Option<Tokens>>,
    /// The way to the thread that serves connections.
    pub events: Events,
    /// Waits until the store may be read.
    pub freshness: Freshness,
    /// The clock of all threads.
    pub clock: Clock,
    /// True once the server shuts down.
    pub ending: watch::Receiver<bool>,
    /// The memory of lines that have not ended.
    pub unfinished: Arc<Unfinished>,
    /// Limits the warnings of the log.
    pub logs: Arc<LogLimit>,
    /// Addresses that gave wrong tokens.
    pub failures: Arc<Failures>,
    /// The backups that may be made at a time.
    pub backups: Arc<Semaphore>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

impl<S> fmt::Debug for Shared<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl<S> Shared<S> {
    /// Returns the same for connections that are accepted from now on.
    pub(crate) fn with_config(&self, config: Arc<Config>, tls: Option<Arc<ServerConfig>>) -> Self {
        Self {
            store: self.store.clone(),
            config,
            tls,
            tokens: self.tokens.clone(),
            events: self.events.clone(),
            freshness: self.freshness.clone(),
            clock: self.clock,
            ending: self.ending.clone(),
            unfinished: self.unfinished.clone(),
            logs: self.logs.clone(),
            failures: self.failures.clone(),
            backups: self.backups.clone(),
            metrics: self.metrics.clone(),
        }
    }
}

/// Serves a connection. Returns once everything that was read is answered and the replies are
/// written, or once the connection cannot be written to.
pub(crate) async fn serve<S: ReadStore>(
    shared: Arc<Shared<S>>,
    id: ConsumerId,
    stream: TcpStream,
    slot: Slot,
) {
    if let Err(error) = configure(&stream, &shared.config) {
        tracing::debug!(
            target: TARGET,
            connection = id,
            %error,
            "an option of the socket could not be set",
        );
    }
    let Some((stream, session)) = handshake::secure(&shared, stream, &slot).await else {
        return;
    };
    let certificate = tls::names(session.as_ref());
    let (mut read, write) = halves::split(stream, session);
    let outbox = Arc::new(Outbox::new(
        id,
        shared.events.reports(),
        shared.config.connection_write_channel,
        shared.clock,
    ));
    let connected = Event::Connected(id, outbox.clone());
    if shared.events.send(connected).is_err() {
        return;
    }
    let _guard = DisconnectGuard(&shared.events, id);
    let writer = tokio::spawn(writer::run(shared.clone(), outbox.clone(), write));
    let mut writer = AbortOnDrop(writer);
    let writer = &mut writer.0;
    let (why, mut written) = tokio::select! {
        why = reader::run(&shared, id, &outbox, &mut read, (&slot, certificate)) => (why, false),
        why = &mut *writer => (why.unwrap_or("the writer panicked"), true),
    };
    tracing::debug!(target: TARGET, connection = id, why, "the connection ends");
    // Replies are still to be written, but nothing more is to be delivered. The copies fail once
    // none of them is being written: a cancel may say then that they are not in flight.
    let _ = shared.events.send(Event::Input(Input::Closing(id)));
    if timeout(writer::STALLED, outbox.stop_deliveries())
        .await
        .is_err()
    {
        writer.abort();
        let _ = (&mut *writer).await;
        written = true;
    }
    let _ = shared.events.send(Event::Input(Input::Closed(id)));
    written = written
        || tokio::select! {
            () = outbox.answered() => false,
            _ = &mut *writer => true,
        };
    outbox.close();
    if !written {
        let _ = writer.await;
        linger(read.socket()).await;
    }
}

/// Reports the end of a connection, also if its task panics.
struct DisconnectGuard<'a>(&'a Events, ConsumerId);

impl Drop for DisconnectGuard<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Input(Input::Closed(self.1)));
        let _ = self.0.send(Event::Disconnected(self.1));
    }
}

/// Ends the task that writes when the connection's own task is aborted or panics. The peer may read
/// nothing, so closing the outbox would not end it soon.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Reads and discards for a moment. Closing a socket that has unread bytes resets the connection,
/// which can destroy what the peer has not read yet.
pub(crate) async fn linger(read: &mut (impl AsyncRead + Unpin)) {
    const MOMENT: Duration = Duration::from_secs(1);
    let mut bytes = [0; 4096];
    let to_the_end = async { while matches!(read.read(&mut bytes).await, Ok(1..)) {} };
    let _ = timeout(MOMENT, to_the_end).await;
}

#[cfg(test)]
mod tests;
