//! Accepting and refusing connections.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use socket2::SockRef;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{self, MissedTickBehavior, sleep},
};

use crate::{
    config::Config,
    connection::{self, Shared, Slot, Slots},
    descriptors::Descriptors,
    driver::Event,
    log_limit::Warning,
    protocol::{Code, Refusal, Reply},
    scheduler::{ConsumerId, Input},
    store::Store,
};

/// The longest wait for a free file descriptor before `accept` is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// Refused connections that are kept open until their peers have read the reason. Each takes a file
/// descriptor from the spare ones.
const REFUSING: usize = 8;

/// Accepts connections, and applies new configurations.
pub(super) struct Acceptor<S> {
    listener: TcpListener,
    configs: watch::Receiver<Config>,
    shared: Arc<Shared<S>>,
    slots: Slots,
    connections: JoinSet<()>,
    refusing: Arc<Semaphore>,
    last: ConsumerId,
}

impl<S: Store> Acceptor<S> {
    pub(super) fn new(
        listener: TcpListener,
        configs: watch::Receiver<Config>,
        shared: Shared<S>,
    ) -> Self {
        let slots = Slots::new(&shared.config, Descriptors::of_process());
        Self {
            listener,
            configs,
            shared: Arc::new(shared),
            slots,
            connections: JoinSet::new(),
            refusing: Arc::new(Semaphore::new(REFUSING)),
            last: 0,
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
                    Err(error) => self.recover(&error).await,
                },
                config = next(&mut self.configs) => self.apply(config),
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
            self.shared.logs.warn(Warning::Host, address);
            return;
        }
        let Some(slot) = self.slots.take(host) else {
            self.shared.logs.warn(Warning::Full, address);
            self.refuse(stream);
            return;
        };
        self.serve(stream, address, slot);
    }

    fn serve(&mut self, stream: TcpStream, address: SocketAddr, slot: Slot) {
        self.last += 1;
        tracing::debug!(connection = self.last, %address, "connected");
        let shared = self.shared.clone();
        self.connections
            .spawn(connection::serve(shared, self.last, stream, slot));
    }

    /// Tells a connection why it is closed. Waits until it has read that, unless many others are
    /// being refused.
    fn refuse(&self, mut stream: TcpStream) {
        let mut line = Vec::new();
        let refusal = Refusal::new(Code::TooManyConnections, self.slots.full());
        Reply::Error(refusal).encode(None, &mut line);
        let permit = self.refusing.clone().try_acquire_owned();
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
    async fn recover(&mut self, error: &io::Error) {
        self.shared.logs.warn(Warning::Accept, error);
        let is_of_the_peer = matches!(
            error.kind(),
            ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
        );
        if !is_of_the_peer {
            tokio::select! {
                Some(_) = self.connections.join_next() => {}
                () = sleep(PAUSE) => {}
            }
        }
    }

    /// Applies a new configuration. Connections that are open keep the old limits.
    fn apply(&mut self, new: Config) {
        let (config, changes) = self.shared.config.reloaded(new);
        let config = Arc::new(config);
        self.slots.resize(&config, Descriptors::of_process());
        self.shared
            .unfinished
            .set_limit(config.max_unfinished_bytes);
        let settings = Input::Settings(Box::new(config.clone().into()));
        let _ = self.shared.events.send(Event::Input(settings));
        self.shared = Arc::new(self.shared.with_config(config));
        tracing::info!(applied = %changes.applied.join(","), "the configuration was reloaded");
        if !changes.restart.is_empty() {
            tracing::warn!(
                fields = %changes.restart.join(","),
                "these fields have changed and take effect only after a restart"
            );
        }
    }
}

/// Waits for the next configuration. Never resolves once no more can come.
async fn next(configs: &mut watch::Receiver<Config>) -> Config {
    if configs.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
    configs.borrow_and_update().clone()
}
