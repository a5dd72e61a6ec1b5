//! The TLS handshake of a connection that has taken its slot.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use rustls::{ServerConfig, ServerConnection};
use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{ConnectionContext, Slot, linger, reader::shutdown_started, stream_halves, writer};
use crate::log_limit::{LogLimit, Warning};
use hyper_delay_engine::metrics::Metrics;
use hyper_delay_protocol::{Code, Refusal, Reply};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::connection::handshake";

/// The longest handshake, from the first byte that could have arrived.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The first byte of a TLS connection. No line of the protocol can begin with it.
pub(super) const FIRST_BYTE: u8 = 22;

const PLAIN: &str = "this server accepts only TLS here, and the connection began without: connect \
    with TLS (`--tls-ca FILE` for the commands)";

/// A connection that is ready for lines.
pub(super) type SecuredStream = (TcpStream, Option<ServerConnection>);

/// The reason why there is no session.
enum HandshakeFailure {
    /// The client sent nothing, as a probe of a load balancer does.
    Silent,
    /// The client does not speak TLS.
    Plain(TcpStream),
    Refused(io::Error, TcpStream),
}

/// The handshakes of a listener.
pub(crate) struct Handshake<'a> {
    pub(crate) tls: Arc<ServerConfig>,
    pub(crate) limit: Duration,
    /// The answer to a client that does not speak TLS.
    pub(crate) plain: Vec<u8>,
    pub(crate) logs: &'a LogLimit,
    pub(crate) metrics: Option<&'a Metrics>,
}

impl Handshake<'_> {
    /// Completes a handshake. Returns `None` if the connection has ended: it has failed, which is
    /// logged and counted, or taken too long.
    pub(crate) async fn complete(
        self,
        stream: TcpStream,
        address: SocketAddr,
    ) -> Option<TlsStream<TcpStream>> {
        let Ok(accepted) = timeout(self.limit, accept_tls(self.tls.clone(), stream)).await else {
            let limit = self.limit;
            self.record_failure(format!("{address}: no handshake within {limit:?}"));
            return None;
        };
        let mut stream = match accepted {
            Ok(stream) => return Some(stream),
            Err(HandshakeFailure::Silent) => {
                tracing::debug!(target: TARGET, %address, "closed before the TLS handshake");
                return None;
            }
            Err(HandshakeFailure::Plain(mut stream)) => {
                self.record_failure(format!("{address}: the client does not speak TLS"));
                // The buffer of a new socket has room for this: it does not wait.
                let _ = stream.write_all(&self.plain).await;
                stream
            }
            Err(HandshakeFailure::Refused(error, stream)) => {
                self.record_failure(format!("{address}: {error}"));
                stream
            }
        };
        // The client reads why: the library has sent an alert, or it has got a plain answer.
        if stream.shutdown().await.is_ok() {
            linger(&mut stream).await;
        }
        None
    }

    fn record_failure(&self, cause: String) {
        if let Some(metrics) = self.metrics {
            metrics.failed_handshakes.add(1);
        }
        self.logs.warn(Warning::Tls, cause);
    }
}

/// Completes the handshake if the server has TLS. Returns `None` if the connection has ended: it
/// has failed, taken too long, or the server shuts down.
pub(super) async fn secure<S>(
    shared: &ConnectionContext<S>,
    stream: TcpStream,
    slot: &Slot,
) -> Option<SecuredStream> {
    let Some(tls) = &shared.tls else {
        return Some((stream, None));
    };
    let address = stream.peer_addr().ok()?;
    let mut plain = Vec::new();
    Reply::Error(Refusal::new(Code::TlsRequired, PLAIN)).encode(None, &mut plain);
    let handshake = Handshake {
        tls: tls.clone(),
        limit: slot
            .idle_timeout(&shared.config)
            .map_or(HANDSHAKE_TIMEOUT, |idle| idle.min(HANDSHAKE_TIMEOUT)),
        plain,
        logs: &shared.logs,
        metrics: Some(&shared.metrics),
    };
    let mut ending = shared.ending.clone();
    let accepted = tokio::select! {
        // Boxed: the future of a connection lives much longer than its handshake.
        accepted = Box::pin(handshake.complete(stream, address)) => accepted,
        () = shutdown_started(&mut ending) => None,
    };
    let (stream, session) = accepted?.into_inner();
    Some((stream, Some(session)))
}

/// Completes the handshake of a connection that has no slot, and tells it why. Short, because such
/// connections take spare file descriptors.
pub(crate) async fn refuse(tls: Arc<ServerConfig>, stream: TcpStream, line: &[u8]) {
    const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(1);
    let Ok(Ok(stream)) = timeout(HANDSHAKE_TIMEOUT, accept_tls(tls, stream)).await else {
        return;
    };
    let (stream, session) = stream.into_inner();
    let (mut read, mut write) = stream_halves::split(stream, Some(session));
    let sent = async {
        writer::write_all(&mut write, line).await?;
        writer::close(&mut write).await
    };
    if matches!(timeout(HANDSHAKE_TIMEOUT, sent).await, Ok(Ok(()))) {
        linger(read.socket()).await;
    }
}

async fn accept_tls(
    tls: Arc<ServerConfig>,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, HandshakeFailure> {
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(0) | Err(_) => return Err(HandshakeFailure::Silent),
        Ok(_) if first != [FIRST_BYTE] => return Err(HandshakeFailure::Plain(stream)),
        Ok(_) => {}
    }
    let accepting = TlsAcceptor::from(tls).accept(stream).into_fallible();
    let accepted = accepting.await;
    accepted.map_err(|(error, stream)| HandshakeFailure::Refused(error, stream))
}
