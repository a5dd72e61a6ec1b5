//! One connection: a task that reads its lines, and one that writes to it.

mod authentication;
mod backup;
mod dead_letters;
mod dispatch;
mod idle_timeout;
mod list_cursor;
mod one_shot;
mod operator_queries;
mod reader;
mod responder;
mod slots;
mod socket_options;
mod stats;
mod stream_halves;
mod task_queries;
mod tls_handshake;
mod unfinished_lines;
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

pub(crate) use backup::MAX_BACKUPS;
pub use one_shot::{NoReply, OneShotClient, OneShotRequest, PendingReply};
pub(crate) use slots::{Slot, Slots};
pub use socket_options::detect_dead_peer;
pub(crate) use socket_options::set_socket_options;
pub(crate) use tls_handshake::{HANDSHAKE_TIMEOUT, Handshake, refuse};
pub use unfinished_lines::UnfinishedLines;

use crate::{
    driver::{EventSender, ServerEvent},
    freshness::Freshness,
    log_limit::LogLimit,
    outbox::ConnectionOutbox,
    tls,
};
use hyper_delay_config::Config;
use hyper_delay_engine::{
    clock::Clock, front::FrontInput, metrics::Metrics, scheduler::ConsumerId,
};
use hyper_delay_protocol::access::{TokenFailures, Tokens};
use hyper_delay_store::ReadStore;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::connection";

/// The context that all connections share.
pub struct ConnectionContext<S> {
    /// The stored tasks.
    pub store: Arc<S>,
    /// The configuration at the time when the connection was accepted.
    pub config: Arc<Config>,
    /// The TLS of new connections; `None`: they are plain.
    pub tls: Option<Arc<ServerConfig>>,
    /// The tokens in force; `None`: every client may do everything.
    pub tokens: watch::Receiver<Option<Tokens>>,
    /// The channel to the thread that serves connections.
    pub events: EventSender,
    /// Waits until the store may be read.
    pub freshness: Freshness,
    /// The clock of all threads.
    pub clock: Clock,
    /// True once the server shuts down.
    pub ending: watch::Receiver<bool>,
    /// The memory of lines that have not ended.
    pub unfinished: Arc<UnfinishedLines>,
    /// Limits the warnings of the log.
    pub logs: Arc<LogLimit>,
    /// Addresses that gave wrong tokens.
    pub failures: Arc<TokenFailures>,
    /// The backups that may be made at a time.
    pub backups: Arc<Semaphore>,
    /// The counters.
    pub metrics: Arc<Metrics>,
}

impl<S> fmt::Debug for ConnectionContext<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionContext").finish_non_exhaustive()
    }
}

impl<S> ConnectionContext<S> {
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
    shared: Arc<ConnectionContext<S>>,
    id: ConsumerId,
    stream: TcpStream,
    slot: Slot,
) {
    if let Err(error) = set_socket_options(&stream, &shared.config) {
        tracing::debug!(
            target: TARGET,
            connection = id,
            %error,
            "an option of the socket could not be set",
        );
    }
    let Some((stream, session)) = tls_handshake::secure(&shared, stream, &slot).await else {
        return;
    };
    let certificate = tls::client_certificate_names(session.as_ref());
    let (mut read, write) = stream_halves::split(stream, session);
    let outbox = Arc::new(ConnectionOutbox::new(
        id,
        shared.events.reports(),
        shared.config.connection_write_channel,
        shared.clock,
    ));
    let connected = ServerEvent::Connected(id, outbox.clone());
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
    let _ = shared
        .events
        .send(ServerEvent::Input(FrontInput::Closing(id)));
    if timeout(writer::STALL_TIMEOUT, outbox.stop_deliveries())
        .await
        .is_err()
    {
        writer.abort();
        let _ = (&mut *writer).await;
        written = true;
    }
    let _ = shared
        .events
        .send(ServerEvent::Input(FrontInput::Closed(id)));
    written = written
        || tokio::select! {
            () = outbox.all_answered() => false,
            _ = &mut *writer => true,
        };
    outbox.close();
    if !written {
        let _ = writer.await;
        linger(read.socket()).await;
    }
}

/// Reports the end of a connection, also if its task panics.
struct DisconnectGuard<'a>(&'a EventSender, ConsumerId);

impl Drop for DisconnectGuard<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(ServerEvent::Input(FrontInput::Closed(self.1)));
        let _ = self.0.send(ServerEvent::Disconnected(self.1));
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
