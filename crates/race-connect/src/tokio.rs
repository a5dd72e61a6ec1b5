//! Connections on tokio.

#[cfg(feature = "hyper")]
mod hyper;
#[cfg(feature = "rustls")]
mod tls;

use std::{io, net::SocketAddr};

use futures_core::Stream;
pub use race_tokio::TokioTimer;
use socket2::Socket;
#[cfg(feature = "rustls")]
#[cfg_attr(docsrs, doc(cfg(feature = "rustls")))]
pub use tls::{MaybeTlsStream, Tls};
use tokio::net::{TcpSocket, TcpStream, lookup_host};

use crate::{
    Answer, ConnectError, Connected, GenericConnector, Resolve, Sockets, connector::Runtime,
    refuse_self_connection, resolve::OneAnswer, sockets::Connect,
};

/// Connects to hosts with settings and a resolver of your own. [`GenericConnector`] documents it.
///
/// ```no_run
/// use std::time::Duration;
/// use race_connect::{HappyEyeballs, tokio::Connector};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let settings = HappyEyeballs::new().deadline(Duration::from_secs(10));
/// let connected = Connector::new(settings).connect("example.com", 443).await?;
/// # Ok(()) }
/// ```
pub type Connector<R = SystemResolver, D = Sockets<Tokio>> = GenericConnector<Tokio, R, D>;

/// Connects to a host, given by its name or address, with the default settings and the system's
/// resolver.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let connected = race_connect::tokio::connect("example.com", 443).await?;
/// println!("{} after {:?}", connected.address, connected.elapsed);
/// let stream: tokio::net::TcpStream = connected.connection;
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// See [`ConnectError`].
///
/// # Cancel safety
///
/// Dropping the future drops all attempts. The system's resolver may run on in its thread.
pub async fn connect(host: &str, port: u16) -> Result<Connected<TcpStream>, ConnectError> {
    Connector::default().connect(host, port).await
}

/// The system's resolver, `getaddrinfo`, on a thread of tokio. It gives the addresses of both
/// families at once, in the order of RFC 6724.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> impl Stream<Item = Answer> + Send + 'a {
        OneAnswer::of(async move { Ok(lookup_host((host, port)).await?.collect()) })
    }
}

/// Names tokio's timer, resolver and sockets.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Tokio;

impl Runtime for Tokio {
    type Timer = TokioTimer;
    type Resolver = SystemResolver;
    type Dial = Sockets<Tokio>;
}

impl Connect for Tokio {
    type Stream = TcpStream;

    async fn connect(socket: Socket, address: SocketAddr) -> io::Result<TcpStream> {
        let socket = TcpSocket::from_std_stream(socket.into());
        let stream = socket.connect(address).await?;
        refuse_self_connection(&stream)?;
        Ok(stream)
    }
}
