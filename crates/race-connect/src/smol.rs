//! Connections on smol.

use std::{io, net::SocketAddr};

use async_net::TcpStream;
use race_smol::SmolTimer;

use crate::{ConnectError, Connected, HappyEyeballs, network};

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
    network::connect::<Smol>(&HappyEyeballs::new(), host, port).await
}

/// Connects to hosts with settings of your own. Clones share the memory of the settings.
#[derive(Clone, Debug, Default)]
pub struct Connector {
    settings: HappyEyeballs,
}

impl Connector {
    /// Creates a connector.
    #[must_use]
    pub fn new(settings: HappyEyeballs) -> Self {
        Self { settings }
    }

    /// Connects to a host, given by its name or address.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops all attempts. The system's resolver may run on in its thread.
    pub async fn connect(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Connected<TcpStream>, ConnectError> {
        network::connect::<Smol>(&self.settings, host, port).await
    }
}

struct Smol;

impl network::Network for Smol {
    type Timer = SmolTimer;
    type Connection = TcpStream;

    async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        async_net::resolve((host, port)).await
    }

    async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
