//! Connections on smol.

use std::{
    io,
    net::{self, SocketAddr},
};

use async_io::Async;
use async_net::TcpStream;
use futures_core::Stream;
pub use race_smol::SmolTimer;
use socket2::Socket;

use crate::{
    Answer, ConnectError, Connected, GenericConnector, Resolve, Sockets, connector::Runtime,
    refuse_self_connection, resolve::OneAnswer, sockets::Connect,
};

/// Connects to hosts with settings and a resolver of your own. [`GenericConnector`] documents it.
pub type Connector<R = SystemResolver, D = Sockets<Smol>> = GenericConnector<Smol, R, D>;

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

impl Runtime for Smol {
    type Timer = SmolTimer;
    type Resolver = SystemResolver;
    type Dial = Sockets<Smol>;
}

impl Connect for Smol {
    type Stream = TcpStream;

    async fn connect(socket: Socket, address: SocketAddr) -> io::Result<TcpStream> {
        match socket.connect(&address.into()) {
            Err(error) if !is_in_progress(&error) => return Err(error),
            _ => {}
        }
        let stream = Async::new_nonblocking(net::TcpStream::from(socket))?;
        stream.writable().await?; // connected, or failed
        if let Some(error) = stream.get_ref().take_error()? {
            return Err(error);
        }
        refuse_self_connection(&stream)?;
        Ok(stream.into())
    }
}

/// Whether a socket that does not block has begun to connect.
fn is_in_progress(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(libc::EINPROGRESS);
    #[cfg(not(unix))]
    return error.kind() == io::ErrorKind::WouldBlock;
}
