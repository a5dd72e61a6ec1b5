use std::{future::Future, io, net::SocketAddr};

/// Makes one connection: the attempt of a connector.
///
/// Closures that take an address and return a future are dials. A type of your own has a name, for
/// a field of a struct: `Connector<SystemResolver, MyDial>`.
///
/// ```
/// use std::{io, net::SocketAddr};
/// use race_connect::Dial;
/// use tokio::net::TcpStream;
///
/// /// Connects through a proxy.
/// #[derive(Clone)]
/// struct Proxy(SocketAddr);
///
/// impl Dial for Proxy {
///     type Connection = TcpStream;
///
///     async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
///         let stream = TcpStream::connect(self.0).await?;
///         ask_for(&stream, address).await?;
///         Ok(stream)
///     }
/// }
/// # async fn ask_for(_: &TcpStream, _: SocketAddr) -> io::Result<()> { Ok(()) }
/// ```
pub trait Dial {
    /// The connection.
    type Connection: Send;

    /// Connects to an address. An error is a failure of the attempt. Called once for each attempt,
    /// when it starts.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when another attempt has won or a timeout expires.
    fn dial(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::Connection>> + Send;
}

impl<D, F, C> Dial for D
where
    D: Fn(SocketAddr) -> F,
    F: Future<Output = io::Result<C>> + Send,
    C: Send,
{
    type Connection = C;

    fn dial(&self, address: SocketAddr) -> impl Future<Output = io::Result<C>> + Send {
        self(address)
    }
}
