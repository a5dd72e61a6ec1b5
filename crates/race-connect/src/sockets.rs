use std::{fmt, future::Future, io, marker::PhantomData, net::SocketAddr, sync::Arc};

use socket2::{Domain, Protocol, Socket, Type};

use crate::{Destination, Dial, GenericConnector, connector::Runtime, v3::Transport};

/// Connects the sockets of a runtime.
#[doc(hidden)]
pub trait Connect {
    type Stream: Send;

    /// Connects a socket that does not block. Refuses a connection to itself.
    fn connect(
        socket: Socket,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

type Hook = Arc<dyn Fn(&Socket, SocketAddr) -> io::Result<()> + Send + Sync>;

/// The default [`Dial`] of the connectors: a TCP socket of the runtime `N`, with `TCP_NODELAY`.
///
/// It [refuses](crate::refuse_self_connection) a connection of a socket to itself.
pub struct Sockets<N> {
    hook: Option<Hook>,
    network: PhantomData<fn() -> N>,
}

impl<N> Sockets<N> {
    fn open(&self, address: SocketAddr) -> io::Result<Socket> {
        let domain = Domain::for_address(address);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        if let Some(hook) = &self.hook {
            hook(&socket, address)?;
        }
        Ok(socket)
    }
}

impl<N: Connect> Dial for Sockets<N> {
    type Connection = N::Stream;

    /// A QUIC endpoint is not supported: a discovery that knows QUIC needs a dial that does.
    async fn dial(&self, to: Destination) -> io::Result<N::Stream> {
        if let Transport::Quic = to.endpoint.transport {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "sockets connect over TCP only: give the connector a dial for QUIC, or no protocols \
                 over QUIC",
            ));
        }
        let address = to.address();
        N::connect(self.open(address)?, address).await
    }
}

impl<N> Default for Sockets<N> {
    fn default() -> Self {
        Self {
            hook: None,
            network: PhantomData,
        }
    }
}

impl<N> Clone for Sockets<N> {
    fn clone(&self) -> Self {
        Self {
            hook: self.hook.clone(),
            network: PhantomData,
        }
    }
}

impl<N> fmt::Debug for Sockets<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sockets = f.debug_struct("Sockets");
        sockets.field("has_hook", &self.hook.is_some());
        sockets.finish()
    }
}

#[cfg_attr(docsrs, doc(cfg(any(feature = "smol", feature = "tokio"))))]
impl<N: Runtime, R> GenericConnector<N, R, Sockets<N>> {
    /// Calls this function with the socket of each attempt before it connects, and with the address
    /// that it will connect to: to bind the socket to a source address or a device, or to set
    /// options. A second function replaces the first. Default: none.
    ///
    /// The socket is of the family of the address, and does not block. `TCP_NODELAY` is set; the
    /// function may clear it. An error is a failure of the attempt, and the race continues with the
    /// next address. The function must not block, connect the socket, or make it block.
    ///
    /// ```
    /// use std::{net::Ipv4Addr, time::Duration};
    /// use race_connect::{socket2::TcpKeepalive, tokio::Connector};
    ///
    /// let connector = Connector::default().socket(|socket, address| {
    ///     if address.is_ipv4() {
    ///         let source = std::net::SocketAddr::from((Ipv4Addr::new(192, 0, 2, 7), 0));
    ///         socket.bind(&source.into())?; // port 0: any
    ///     }
    ///     #[cfg(target_os = "linux")]
    ///     socket.set_mark(7)?; // also: bind_device(Some(b"eth0"))
    ///     socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(Duration::from_secs(60)))
    /// });
    /// # let _ = connector;
    /// ```
    #[must_use]
    pub fn socket(
        mut self,
        hook: impl Fn(&Socket, SocketAddr) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.dial.hook = Some(Arc::new(hook));
        self
    }
}
