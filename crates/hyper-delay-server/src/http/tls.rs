//! TLS of a listener that other machines reach.

use std::{net::SocketAddr, sync::Arc};

use rustls::ServerConfig;
use tokio::{net::TcpStream, sync::watch};
use tokio_rustls::server::TlsStream;

use crate::{
    connection::{HANDSHAKE_TIMEOUT, Handshake},
    log_limit::LogLimit,
    tls,
};
use hyper_delay_engine::metrics::Metrics;

/// The TLS configuration of new connections. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct HttpTls {
    current: watch::Sender<Option<Arc<ServerConfig>>>,
    /// Whether only programs on this machine reach the listener. It is plain then.
    is_local: bool,
}

impl HttpTls {
    pub(super) fn new(listener: SocketAddr, tls: Option<Arc<ServerConfig>>) -> Self {
        let made = Self {
            current: watch::Sender::new(None),
            is_local: listener.ip().to_canonical().is_loopback(),
        };
        made.renew(tls);
        made
    }

    /// Sets the configuration of connections that are accepted from now on. `None`: they are plain.
    pub(crate) fn renew(&self, tls: Option<Arc<ServerConfig>>) {
        if !self.is_local {
            self.current
                .send_replace(tls.map(|tls| tls::for_http(&tls)));
        }
    }

    /// Returns the configuration of a connection that is accepted now.
    pub(super) fn current(&self) -> Option<Arc<ServerConfig>> {
        self.current.borrow().clone()
    }
}

const PLAIN: &str = "this listener speaks HTTPS, because `tls` is set and other machines reach it: \
    ask for https://\n";

/// Completes the handshake. Returns `None` if it has failed or taken too long.
pub(super) async fn secure(
    tls: Arc<ServerConfig>,
    stream: TcpStream,
    address: SocketAddr,
    logs: &LogLimit,
    metrics: Option<&Metrics>,
) -> Option<TlsStream<TcpStream>> {
    let plain = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{PLAIN}",
        PLAIN.len()
    );
    let handshake = Handshake {
        tls,
        limit: HANDSHAKE_TIMEOUT,
        plain: plain.into_bytes(),
        logs,
        metrics,
    };
    Box::pin(handshake.complete(stream, address)).await
}
