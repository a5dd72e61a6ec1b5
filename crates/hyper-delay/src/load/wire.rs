//! A connection that sends and receives concurrently in one task.

use std::{
    error::Error as _,
    fmt,
    future::poll_fn,
    net::SocketAddr,
    pin::pin,
    task::{Context, Poll},
};

use hyper_delay_client::Tls;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{LoadError, reply::LoadReply};
use hyper_delay_protocol::Lines;

/// The longest line that a server can send: the highest `max_line_bytes`.
const LONGEST: usize = 16 << 20;

/// A connection with a buffer of bytes to send and one of received lines.
pub struct Wire {
    stream: Box<dyn Duplex>,
    lines: Lines,
    /// The bytes to send. [`exchange`](Self::exchange) clears the buffer once all are sent.
    pub out: Vec<u8>,
    /// The number of bytes of `out` that are sent.
    sent: usize,
    /// Whether it is encrypted or stays on this machine.
    is_private: bool,
}

/// A plain or an encrypted connection.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

impl Wire {
    /// Connects to a host and a port, encrypted if `tls` is given.
    ///
    /// # Errors
    ///
    /// The connection cannot be opened, or the TLS handshake fails.
    pub async fn connect(address: &str, tls: Option<&Tls>) -> Result<Self, LoadError> {
        let connected = async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        let stream = connected.await.map_err(|source| LoadError::Connect {
            address: address.to_owned(),
            source,
        })?;
        let is_loopback = |peer: SocketAddr| peer.ip().to_canonical().is_loopback();
        let is_private = tls.is_some() || stream.peer_addr().is_ok_and(is_loopback);
        let stream: Box<dyn Duplex> = match tls {
            None => Box::new(stream),
            Some(tls) => {
                let encrypted = tls.handshake(address, stream).await;
                Box::new(encrypted.map_err(|error| LoadError::Tls {
                    address: address.to_owned(),
                    reason: match error.source() {
                        Some(cause) => format!("{error}: {cause}"),
                        None => error.to_string(),
                    },
                })?)
            }
        };
        Ok(Self {
            stream,
            lines: Lines::new(LONGEST),
            out: Vec::new(),
            sent: 0,
            is_private,
        })
    }

    /// Returns whether a token may be sent: the connection is encrypted or stays on this machine.
    pub(super) const fn is_private(&self) -> bool {
        self.is_private
    }

    /// Sends `out` as far as the socket accepts it, and waits until bytes are received.
    ///
    /// # Errors
    ///
    /// The connection is broken or closed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no bytes in either direction.
    pub async fn exchange(&mut self) -> Result<(), LoadError> {
        poll_fn(|context| {
            self.send(context)?;
            match pin!(self.stream.read_buf(self.lines.room())).poll(context)? {
                Poll::Ready(0) => Poll::Ready(Err(LoadError::Closed)),
                Poll::Ready(_) => Poll::Ready(Ok(())),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    fn send(&mut self, context: &mut Context<'_>) -> Result<(), LoadError> {
        while self.sent < self.out.len() {
            match pin!(self.stream.write(&self.out[self.sent..])).poll(context)? {
                Poll::Ready(sent) => self.sent += sent,
                Poll::Pending => return Ok(()),
            }
        }
        self.out.clear();
        self.sent = 0;
        // Encrypted bytes that the socket does not take now are sent by the next call.
        let _ = pin!(self.stream.flush()).poll(context)?;
        Ok(())
    }

    /// Returns the next received line, of any protocol. `None` if none is complete.
    pub fn line(&mut self) -> Option<Result<&[u8], LoadError>> {
        let line = self.lines.next()?;
        Some(line.map_err(|too_long| LoadError::Answer(too_long.to_string())))
    }

    /// Returns the next received line as a [`LoadReply`]. `None` if none is complete.
    pub(super) fn next(&mut self) -> Option<Result<LoadReply, LoadError>> {
        Some(self.line()?.and_then(LoadReply::read))
    }
}
