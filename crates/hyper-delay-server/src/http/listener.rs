use std::{
    future::pending,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::{self, MissedTickBehavior, sleep, timeout},
};

use super::{router::router, state::HttpState, tls::secure};
use crate::{
    connection::{linger, set_socket_options},
    connection_limiter::{ConnectionLimiter, LimitReached},
    log_limit::{LogLimit, Warning},
};
use hyper_delay_fjall::file_descriptors::Descriptors;
use hyper_delay_protocol::Code;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::http::listener";

/// One in this many connections is for programs on this machine, such as probes: others cannot take
/// them.
const LOCAL_SHARE: usize = 4;

/// The longest head of a request, and the least that hyper can buffer.
const MAX_HEAD_BYTES: usize = 8 << 10;

/// The time for the head of a request, from the end of the request before.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection is closed after this time, however busy it is.
const LIFETIME: Duration = Duration::from_secs(60);

/// The time for the request that is in flight then.
const REQUEST_GRACE: Duration = Duration::from_secs(10);

/// The time for all answers in flight when the listener closes.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// Refused connections that are kept open until their peers have read the reason.
const MAX_REFUSING: usize = 8;

/// The wait after a failed `accept`.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionInfo {
    pub(super) peer: IpAddr,
    pub(super) is_encrypted: bool,
    /// The same with the port.
    pub(super) address: SocketAddr,
    /// The address that the connection was made to.
    pub(super) local: IpAddr,
}

/// Accepts connections until the state is closed, or the future is dropped. Either closes them.
pub(super) async fn run(listener: TcpListener, state: Arc<HttpState>) {
    let mut closed = state.closed.subscribe();
    let most = Descriptors::of_process().http_connections();
    let mut acceptor = HttpAcceptor {
        limiter: ConnectionLimiter::new(most, (most / LOCAL_SHARE).max(1)),
        router: router(state.clone()),
        state,
        logs: Arc::new(LogLimit::of_http()),
        connections: JoinSet::new(),
        refusing: JoinSet::new(),
    };
    let mut flush = time::interval(Duration::from_secs(1));
    flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => acceptor.admit(stream, address),
                Err(error) => {
                    acceptor.logs.warn(Warning::Accept, error);
                    sleep(RETRY_DELAY).await;
                }
            },
            _ = flush.tick() => acceptor.logs.flush(),
            () = wait_until_true(&mut closed) => break,
        }
    }
    drop(listener);
    let answered = async { while acceptor.connections.join_next().await.is_some() {} };
    let _ = timeout(SHUTDOWN_GRACE, answered).await;
    acceptor.connections.shutdown().await;
    acceptor.refusing.shutdown().await;
}

struct HttpAcceptor {
    limiter: ConnectionLimiter,
    router: Router,
    state: Arc<HttpState>,
    logs: Arc<LogLimit>,
    connections: JoinSet<()>,
    refusing: JoinSet<()>,
}

impl HttpAcceptor {
    fn admit(&mut self, stream: TcpStream, address: SocketAddr) {
        while self.connections.try_join_next().is_some() {}
        let config = self.state.configs.borrow();
        let peer = address.ip().to_canonical();
        if !config.allowed_hosts.allows(peer) {
            self.logs.warn(Warning::Host, address);
            if let Ok(backend) = self.state.backend() {
                backend.metrics.refused_hosts.add(1);
            }
            return;
        }
        let Ok(local) = stream.local_addr() else {
            return;
        };
        if let Err(error) = set_socket_options(&stream, &config) {
            tracing::debug!(
                target: TARGET,
                %address,
                %error,
                "an option of the socket could not be set",
            );
        }
        drop(config);
        let permit = match self.limiter.acquire(peer) {
            Ok(permit) => permit,
            Err(why) => {
                self.logs.warn(Warning::Full, address);
                if let Ok(backend) = self.state.backend() {
                    backend.metrics.refuse(Code::TooManyConnections);
                }
                return self.refuse(stream, why);
            }
        };
        let (tls, logs) = (self.state.tls.current(), self.logs.clone());
        let metrics = self.state.backend().ok().map(|backend| backend.metrics);
        let info = ConnectionInfo {
            peer,
            is_encrypted: tls.is_some(),
            address: SocketAddr::new(peer, address.port()),
            local: local.ip().to_canonical(),
        };
        let router = self.router.clone().layer(Extension(info));
        let open = OpenConnectionGuard::new(&self.state.connections);
        let closed = self.state.closed.subscribe();
        self.connections.spawn(async move {
            match tls {
                None => serve(stream, router, closed).await,
                Some(tls) => {
                    if let Some(stream) =
                        secure(tls, stream, address, &logs, metrics.as_deref()).await
                    {
                        serve(stream, router, closed).await;
                    }
                }
            }
            drop((open, permit));
        });
    }

    /// Tells a peer why its connection is closed, and waits until it has read that, unless many
    /// others are being refused. With TLS this would take a handshake: the connection is only
    /// closed.
    fn refuse(&mut self, mut stream: TcpStream, why: LimitReached) {
        if self.state.tls.current().is_some() {
            return;
        }
        while self.refusing.try_join_next().is_some() {}
        let body = match why {
            LimitReached::Full(taken) => {
                format!("there are {taken} HTTP connections, as many as there may be: close some\n")
            }
            LimitReached::TooMany(own) => format!(
                "there are {own} HTTP connections from your address, which is its share: close some\n"
            ),
        };
        let reply = format!(
            "HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n\
             content-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
            body.len()
        );
        // Not `try_write`: the runtime does not know yet that a new socket is writable.
        let is_written = SockRef::from(&stream).send(reply.as_bytes()).is_ok();
        if is_written && self.refusing.len() < MAX_REFUSING {
            self.refusing.spawn(async move {
                if stream.shutdown().await.is_ok() {
                    linger(&mut stream).await;
                }
            });
        }
    }
}

/// Counts an open connection until it is dropped.
struct OpenConnectionGuard(Arc<AtomicUsize>);

impl OpenConnectionGuard {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for OpenConnectionGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits until the value is true. Never returns if it cannot be any more.
async fn wait_until_true(value: &mut watch::Receiver<bool>) {
    if value.wait_for(|value| *value).await.is_err() {
        pending::<()>().await;
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    router: Router,
    mut closed: watch::Receiver<bool>,
) {
    let service = TowerToHyperService::new(router);
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // A client that has ended its side after the request waits for the answer.
        .half_close(true)
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_header_size(MAX_HEAD_BYTES);
    {
        let io = TokioIo::new(&mut stream);
        let mut connection = pin!(builder.serve_connection(io, service));
        let has_ended = tokio::select! {
            _ = connection.as_mut() => true,
            () = sleep(LIFETIME) => false,
            () = wait_until_true(&mut closed) => false,
        };
        if !has_ended {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(REQUEST_GRACE, connection).await;
        }
    }
    if !*closed.borrow() {
        linger(&mut stream).await;
    }
}

#[cfg(test)]
mod tests;
