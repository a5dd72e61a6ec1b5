//! Connections on smol.

use std::{io, net::SocketAddr};

use async_net::TcpStream;
use futures_core::Stream;
pub use race_smol::SmolTimer;

use crate::{
    Answer, ConnectError, Connected, GenericConnector, Resolve, connector::Network,
    resolve::OneAnswer,
};

/// Connects to hosts with settings and a resolver of your own. [`GenericConnector`] documents it.
pub type Connector<R = SystemResolver> = GenericConnector<Smol, R>;

/// Connects to a host, given by its name or address, with the default settings and the system's
/// resolver.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let connected = race_connect::smol::connect("example.com", 443).await?;
/// println!("{} after {:?}", connected.address, connected.elapsed);
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

/// The system's resolver, `getaddrinfo`, on a thread of smol. It gives the addresses of both
/// families at once, in the order of RFC 6724.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> impl Stream<Item = Answer> + Send + 'a {
        OneAnswer::of(async_net::resolve((host, port)))
    }
}

/// Names smol's timer, resolver and sockets.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Smol;

impl Network for Smol {
    type Timer = SmolTimer;
    type Resolver = SystemResolver;
    type Connection = TcpStream;

    async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
