use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(feature = "tls")]
use tokio_rustls::client::TlsStream;

use crate::ConnectError;
use crate::settings::Settings;

/// A connection to a server.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    #[cfg(feature = "tls")]
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    pub(super) async fn open(settings: &Settings) -> Result<Self, ConnectError> {
        let address = || settings.address.clone();
        let broken = |source| ConnectError::of(address(), source);
        check(&settings.address).map_err(broken)?;
        let stream = TcpStream::connect(&settings.address)
            .await
            .map_err(broken)?;
        stream.set_nodelay(true).map_err(broken)?;
        #[cfg(feature = "tls")]
        if let Some(tls) = &settings.tls {
            let stream = tls.connect(&settings.address, stream).await;
            let stream = stream.map_err(|source| ConnectError::Tls {
                address: address(),
                source,
            })?;
            return Ok(Self::Tls(Box::new(stream)));
        }
        Ok(Self::Tcp(stream))
    }

    /// Returns whether the connection is encrypted or stays on this machine.
    pub(super) fn is_private(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream
                .peer_addr()
                .is_ok_and(|address| address.ip().to_canonical().is_loopback()),
            #[cfg(feature = "tls")]
            Self::Tls(_) => true,
        }
    }
}

/// Refuses what is no host with a port: the error of the system names neither.
fn check(address: &str) -> io::Result<()> {
    let wrong = match address.rsplit_once(':') {
        _ if address.parse::<IpAddr>().is_ok() => "it has no port",
        None => "it has no port",
        Some((host, _)) if host.contains("//") => "it is a URL",
        Some(("", _)) => "it has no host",
        Some((_, port)) if port.parse::<u16>().is_err() => "its port is no number from 0 to 65535",
        Some(_) => return Ok(()),
    };
    let message = format!("{wrong}: give HOST:PORT, for example localhost:7000 or [::1]:7000");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Writes some bytes and flushes as far as the socket takes it now. Returns how many bytes need not
/// be written again, and sets `flushed`. With no bytes it only flushes. Cancel safe.
pub(super) async fn put(
    write: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    flushed: &mut bool,
) -> io::Result<usize> {
    poll_fn(|cx| {
        let mut written = 0;
        if !bytes.is_empty() {
            written = ready!(Pin::new(&mut *write).poll_write(cx, bytes))?;
        }
        let flush = Pin::new(&mut *write).poll_flush(cx)?;
        *flushed = flush.is_ready();
        match flush {
            Poll::Pending if written == 0 => Poll::Pending,
            _ => Poll::Ready(Ok(written)),
        }
    })
    .await
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
