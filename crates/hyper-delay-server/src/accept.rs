//! Accepting and refusing connections.

use std::{
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use socket2::SockRef;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc, watch},
    task::JoinSet,
    time::{self, MissedTickBehavior, sleep},
};

use crate::{
    connection::{self, ConnectionContext, Slot, Slots},
    driver::ServerEvent,
    http::HttpTls,
    log_limit::Warning,
    progress::ServerProgress,
    reload::{ServerSecurity, ServerUpdate},
    tls::ServerTls,
};
use hyper_delay_config::Config;
use hyper_delay_engine::front::FrontInput;
use hyper_delay_engine::scheduler::ConsumerId;
use hyper_delay_fjall::file_descriptors::Descriptors;
use hyper_delay_protocol::{Code, Refusal, Reply, access::Tokens};
use hyper_delay_store::ReadStore;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::server::accept";

/// The maximum wait for a free file descriptor before `accept` is retried.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// Refused connections that are kept open until their peers have read the reason. Each takes a file
/// descriptor from the spare ones.
const MAX_REFUSING: usize = 8;

/// Accepts connections, and applies new configurations.
pub(super) struct ConnectionAcceptor<S> {
    listener: TcpListener,
    updates: mpsc::Receiver<ServerUpdate>,
    /// Publishes the tokens in force to all connections.
    tokens: watch::Sender<Option<Tokens>>,
    /// The other listener, if there is one.
    http: Option<HttpTls>,
    shared: Arc<ConnectionContext<S>>,
    /// Publishes `shared` for one-shot requests.
    context: watch::Sender<Arc<ConnectionContext<S>>>,
    slots: Slots,
    connections: JoinSet<()>,
    refusing: Arc<Semaphore>,
    last_id: ConsumerId,
    progress: Arc<ServerProgress>,
}

impl<S: ReadStore> ConnectionAcceptor<S> {
    pub(super) fn new(
        listener: TcpListener,
        updates: mpsc::Receiver<ServerUpdate>,
        context: watch::Sender<Arc<ConnectionContext<S>>>,
        tokens: watch::Sender<Option<Tokens>>,
        http: Option<HttpTls>,
        progress: Arc<ServerProgress>,
    ) -> Self {
        let shared = context.borrow().clone();
        let slots = Slots::new(&shared.config, descriptors(http.is_some()));
        Self {
            listener,
            updates,
            tokens,
            http,
            shared,
            context,
            slots,
            connections: JoinSet::new(),
            refusing: Arc::new(Semaphore::new(MAX_REFUSING)),
            last_id: 0,
            progress,
        }
    }

    /// Accepts connections until the future is dropped.
    pub(super) async fn run(&mut self) {
        let mut flush = time::interval(Duration::from_secs(1));
        flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, address)) => self.admit(stream, address),
                    Err(error) => self.wait_after_error(&error).await,
                },
                Some(update) = self.updates.recv() => match update {
                    ServerUpdate::Config(config, security) => self.apply_config(*config, security),
                    ServerUpdate::Tls(tls) => self.set_tls(self.shared.config.clone(), Some(tls)),
                    ServerUpdate::Tokens(tokens) => {
                        self.tokens.send_replace(Some(tokens));
                    }
                },
                _ = flush.tick() => self.shared.logs.flush(),
            }
        }
    }

    /// Closes the listener, and returns the connections that are open.
    pub(super) fn into_connections(self) -> JoinSet<()> {
        self.connections
    }

    fn admit(&mut self, stream: TcpStream, address: SocketAddr) {
        while self.connections.try_join_next().is_some() {}
        let host = address.ip().to_canonical();
        if !self.shared.config.allowed_hosts.allows(host) {
            self.shared.metrics.refused_hosts.add(1);
            self.shared.logs.warn(Warning::Host, address);
            return;
        }
        let must_authenticate = self.shared.tokens.borrow().is_some();
        let Some(slot) = self.slots.take(host, must_authenticate) else {
            self.shared.metrics.refuse(Code::TooManyConnections);
            self.shared.logs.warn(Warning::Full, address);
            self.refuse(stream, host, must_authenticate);
            return;
        };
        self.serve(stream, address, slot);
    }

    fn serve(&mut self, stream: TcpStream, address: SocketAddr, slot: Slot) {
        self.last_id += 1;
        tracing::debug!(target: TARGET, connection = self.last_id, %address, "connected");
        let shared = self.shared.clone();
        self.connections
            .spawn(connection::serve(shared, self.last_id, stream, slot));
    }

    /// Sends the reason for closing to a connection. Waits until it has read that, unless many
    /// others are being refused. With TLS this takes a handshake, and the others are only closed.
    fn refuse(&self, mut stream: TcpStream, host: IpAddr, must_authenticate: bool) {
        let mut line = Vec::new();
        let refusal = Refusal::new(
            Code::TooManyConnections,
            self.slots.full_message(host, must_authenticate),
        );
        Reply::Error(refusal).encode(None, &mut line);
        let permit = self.refusing.clone().try_acquire_owned();
        if let Some(tls) = self.shared.tls.clone() {
            if let Ok(permit) = permit {
                tokio::spawn(async move {
                    connection::refuse(tls, stream, &line).await;
                    drop(permit);
                });
            }
            return;
        }
        // Not `try_write`: the runtime does not know yet that a new socket is writable.
        let written = SockRef::from(&stream).send(&line).is_ok();
        if let (Ok(permit), true) = (permit, written) {
            tokio::spawn(async move {
                if stream.shutdown().await.is_ok() {
                    connection::linger(&mut stream).await;
                }
                drop(stream);
                drop(permit);
            });
        }
    }

    /// Waits after a failed `accept` until it can succeed again: until a connection has ended, or
    /// another process has closed files.
    async fn wait_after_error(&mut self, error: &io::Error) {
        self.shared.logs.warn(Warning::Accept, error);
        let is_of_the_peer = matches!(
            error.kind(),
            ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
        );
        if !is_of_the_peer {
            tokio::select! {
                Some(_) = self.connections.join_next() => {}
                () = sleep(RETRY_DELAY) => {}
            }
        }
    }

    /// Applies a new configuration. Connections that are open keep the old limits.
    fn apply_config(&mut self, new: Config, security: ServerSecurity) {
        let (config, changes) = self.shared.config.reloaded(new);
        let config = Arc::new(config);
        self.slots.resize(&config, descriptors(self.http.is_some()));
        self.shared
            .unfinished
            .set_limit(config.max_unfinished_bytes);
        let settings = FrontInput::Settings(Box::new(config.clone().into()));
        let _ = self.shared.events.send(ServerEvent::Input(settings));
        let ServerSecurity { tls, tokens } = security;
        self.set_tls(config, tls);
        self.tokens.send_replace(tokens);
        self.progress.reload_answered();
        tracing::info!(
            target: TARGET,
            applied = %changes.applied.join(","),
            "the configuration was reloaded",
        );
        if !changes.restart.is_empty() {
            tracing::warn!(
                target: TARGET,
                fields = %changes.restart.join(","),
                "these fields have changed and take effect only after a restart",
            );
        }
    }

    /// Gives this configuration and these TLS files to connections, and to peers without one, that
    /// come from now on.
    fn set_tls(&mut self, config: Arc<Config>, tls: Option<ServerTls>) {
        self.shared
            .metrics
            .set_tls_expiry(tls.as_ref().and_then(ServerTls::expiry));
        let tls = tls.map(|tls| tls.config);
        if let Some(http) = &self.http {
            http.renew(tls.clone());
        }
        self.shared = Arc::new(self.shared.with_config(config, tls));
        self.context.send_replace(self.shared.clone());
    }
}

fn descriptors(has_http: bool) -> Descriptors {
    let descriptors = Descriptors::of_process();
    match has_http {
        true => descriptors.with_http(),
        false => descriptors,
    }
}
