//! TLS inside the attempts.

use std::{
    fmt, io,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, pki_types::ServerName},
};

use super::Connector;
use crate::{Destination, Dial};

#[cfg_attr(docsrs, doc(cfg(feature = "rustls")))]
impl<R, D> Connector<R, D>
where
    D: Dial,
    D::Connection: AsyncRead + AsyncWrite + Unpin,
{
    /// Makes TLS a part of each attempt to an origin of `https`: an attempt wins when its handshake
    /// has succeeded, so that a proxy that accepts TCP for a server that is down does not. After
    /// TCP the attempt reports progress, and the next one starts an attempt delay later.
    ///
    /// A handshake that never ends keeps nothing else from starting; limit it with
    /// [`attempt_timeout`](crate::HappyEyeballs::attempt_timeout). Certificates are checked by the
    /// host of the origin, whatever the HTTPS records name. The protocols (ALPN) are those of
    /// `config`; with a [`v3::Discovery`](crate::v3::Discovery) its preferences should name the
    /// same. ECH is not used.
    ///
    /// [`connect`](Self::connect) then connects by TLS. For a hyper client, set the protocols:
    /// `h2`, if it speaks that, and `http/1.1`.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use race_connect::{HappyEyeballs, rustls::{ClientConfig, RootCertStore}, tokio::Connector};
    ///
    /// # async fn example(roots: RootCertStore) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    /// config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    /// let connector = Connector::new(HappyEyeballs::new()).tls(Arc::new(config));
    /// let connected = connector.connect("example.com", 443).await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn tls(self, config: Arc<ClientConfig>) -> Connector<R, Tls<D>> {
        self.map_dial(|inner| Tls { inner, config })
    }
}

/// The [`Dial`] of a connector with TLS: the inner dial, then a handshake.
#[derive(Clone)]
pub struct Tls<D> {
    inner: D,
    config: Arc<ClientConfig>,
}

impl<D> fmt::Debug for Tls<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl<D> Dial for Tls<D>
where
    D: Dial + Sync,
    D::Connection: AsyncRead + AsyncWrite + Unpin,
{
    type Connection = MaybeTlsStream<D::Connection>;

    const IS_SECURE: bool = true;

    async fn dial(&self, to: Destination) -> io::Result<Self::Connection> {
        if !to.origin.is_secure() {
            return Ok(MaybeTlsStream::Plain(self.inner.dial(to).await?));
        }
        let name = server_name(to.host().as_str())?;
        let stream = self.inner.dial(to.clone()).await?;
        to.progress();
        to.handshake().await?;
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let stream = connector.connect(name, stream).await?;
        Ok(MaybeTlsStream::Tls(Box::new(stream)))
    }
}

/// Returns the name in the certificate of a host. The zone of an address, as in `fe80::1%eth0`, has
/// a meaning on this host only.
fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    let address = host.split_once('%').map_or(host, |(address, _)| address);
    if let Ok(ip) = address.parse::<IpAddr>() {
        return Ok(ip.into());
    }
    ServerName::try_from(host.to_owned()).map_err(|_| {
        let text = format!("no certificate can have the name `{}`", host.escape_debug());
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })
}

/// A connection with TLS, or without for an origin that is not secure.
#[derive(Debug)]
pub enum MaybeTlsStream<S> {
    /// Without TLS.
    Plain(S),
    /// With TLS, after the handshake.
    Tls(Box<TlsStream<S>>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for MaybeTlsStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for MaybeTlsStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, data),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, data),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, data),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(all(feature = "hyper", feature = "rustls"))]
impl<S> hyper_util::client::legacy::connect::Connection for MaybeTlsStream<S>
where
    S: AsyncRead + AsyncWrite + Unpin + hyper_util::client::legacy::connect::Connection,
{
    fn connected(&self) -> hyper_util::client::legacy::connect::Connected {
        match self {
            Self::Plain(stream) => stream.connected(),
            Self::Tls(tls) => {
                let (stream, session) = tls.get_ref();
                let connected = stream.connected();
                match session.alpn_protocol() {
                    Some(b"h2") => connected.negotiated_h2(),
                    _ => connected,
                }
            }
        }
    }
}
