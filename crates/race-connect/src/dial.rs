use std::{future::Future, io};

use crate::Destination;

/// Makes one connection: the attempt of a connector.
///
/// Closures that take a [`Destination`] and return a future are dials. A type of your own has a
/// name, for a field of a struct: `Connector<SystemResolver, MyDial>`.
///
/// ```
/// use std::{io, net::SocketAddr};
/// use race_connect::{Destination, Dial};
/// use tokio::net::TcpStream;
///
/// /// Connects through a proxy.
/// #[derive(Clone)]
/// struct Proxy(SocketAddr);
///
/// impl Dial for Proxy {
///     type Connection = TcpStream;
///
///     async fn dial(&self, to: Destination) -> io::Result<TcpStream> {
///         let stream = TcpStream::connect(self.0).await?;
///         ask_for(&stream, to.address()).await?;
///         Ok(stream)
///     }
/// }
/// # async fn ask_for(_: &TcpStream, _: SocketAddr) -> io::Result<()> { Ok(()) }
/// ```
pub trait Dial {
    /// The connection.
    type Connection: Send;

    /// Whether `connect` of a connector asks for a connection with TLS, so that it is to an origin
    /// of `https`. Default: `false`.
    const IS_SECURE: bool = false;

    /// Connects to an endpoint. An error is a failure of the attempt. Called once for each attempt,
    /// when it starts.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when another attempt has won or a timeout expires.
    fn dial(&self, to: Destination) -> impl Future<Output = io::Result<Self::Connection>> + Send;
}

impl<D, F, C> Dial for D
where
    D: Fn(Destination) -> F,
    F: Future<Output = io::Result<C>> + Send,
    C: Send,
{
    type Connection = C;

    fn dial(&self, to: Destination) -> impl Future<Output = io::Result<C>> + Send {
        self(to)
    }
}
