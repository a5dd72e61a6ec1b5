use std::{
    fmt, io,
    marker::PhantomData,
    net::{Ipv6Addr, SocketAddr},
    pin::pin,
};

use futures_core::Stream;
use race_core::{Timer, observe::Clock};

use crate::{Answer, ConnectError, Connected, Dial, HappyEyeballs, Resolve, resolve::OneAnswer};

/// The timer, the resolver and the sockets of a runtime.
#[doc(hidden)]
pub trait Network {
    type Timer: Timer + Clock + Clone + Default + Unpin + Send;
    type Resolver: Resolve + Default;
    type Dial: Dial + Default;
}

/// Connects to hosts with settings and a resolver of your own.
///
/// `tokio::Connector` and `smol::Connector` are its aliases for the runtimes. Clones share the
/// memory of the settings. With the feature `hyper`, `tokio::Connector` is a connector of the
/// client of `hyper_util`.
///
/// - `N` is the network of a runtime.
/// - `R`, a [`Resolve`], is the resolver: by default the system's.
/// - `D`, a [`Dial`], makes the attempts: by default, TCP sockets of the runtime.
#[derive(Clone)]
pub struct GenericConnector<N, R, D> {
    settings: HappyEyeballs,
    resolver: R,
    pub(crate) dial: D,
    #[cfg(feature = "hyper")]
    pub(crate) enforce_http: bool,
    network: PhantomData<fn() -> N>,
}

impl<N: Network> GenericConnector<N, N::Resolver, N::Dial> {
    /// Creates a connector that uses the system's resolver.
    #[must_use]
    pub fn new(settings: HappyEyeballs) -> Self {
        Self {
            settings,
            resolver: N::Resolver::default(),
            dial: N::Dial::default(),
            #[cfg(feature = "hyper")]
            enforce_http: true,
            network: PhantomData,
        }
    }
}

impl<N: Network> Default for GenericConnector<N, N::Resolver, N::Dial> {
    fn default() -> Self {
        Self::new(HappyEyeballs::default())
    }
}

impl<N, R: fmt::Debug, D> fmt::Debug for GenericConnector<N, R, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut connector = f.debug_struct("GenericConnector");
        connector.field("settings", &self.settings);
        connector.field("resolver", &self.resolver);
        connector.finish_non_exhaustive() // a closure that dials has no `Debug`
    }
}

impl<N, R, D> GenericConnector<N, R, D> {
    /// Asks this resolver instead.
    #[must_use]
    pub fn resolver<R2: Resolve>(self, resolver: R2) -> GenericConnector<N, R2, D> {
        GenericConnector {
            settings: self.settings,
            resolver,
            dial: self.dial,
            #[cfg(feature = "hyper")]
            enforce_http: self.enforce_http,
            network: PhantomData,
        }
    }

    /// Makes each attempt with this [`Dial`], such as a closure that connects through a proxy. An
    /// error is a failure of the attempt, and the race continues with the next address. It replaces
    /// the sockets of the runtime together with their hook.
    ///
    /// The addresses are still those that the resolver gives. To let a proxy resolve names, connect
    /// to the host of the proxy, and pass the name on over the connection.
    ///
    /// For the connector of a hyper client, the dial must be `Clone`, `Send`, `Sync` and `'static`,
    /// and its connection an IO type of tokio that implements `Connection` of `hyper_util`, as
    /// `TcpStream` does.
    ///
    /// ```
    /// use race_connect::{refuse_self_connection, tokio::Connector};
    /// use tokio::net::TcpStream;
    /// # use std::{io, net::SocketAddr};
    /// # async fn ask_for(_: &mut TcpStream, _: SocketAddr) -> io::Result<()> { Ok(()) }
    ///
    /// let proxy = "192.0.2.1:3128";
    /// let connector = Connector::default().dial(move |address| async move {
    ///     let mut stream = TcpStream::connect(proxy).await?;
    ///     refuse_self_connection(&stream)?;
    ///     ask_for(&mut stream, address).await?;
    ///     Ok(stream)
    /// });
    /// # let _ = connector;
    /// ```
    #[must_use]
    pub fn dial<D2: Dial>(self, dial: D2) -> GenericConnector<N, R, D2> {
        GenericConnector {
            settings: self.settings,
            resolver: self.resolver,
            dial,
            #[cfg(feature = "hyper")]
            enforce_http: self.enforce_http,
            network: PhantomData,
        }
    }
}

impl<N: Network, R: Resolve, D: Dial> GenericConnector<N, R, D> {
    /// Connects to a host, given by its name or address. An IPv6 address may be in brackets, and
    /// have a zone, as in `fe80::1%eth0`, which the system resolves.
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
    ) -> Result<Connected<D::Connection>, ConnectError> {
        let name = unbracketed(host);
        let connected = if name.is_empty() {
            let error =
                io::Error::new(io::ErrorKind::InvalidInput, "the name of the host is empty");
            Err(ConnectError::without_addresses(vec![error]))
        } else if let Ok(ip) = name.parse() {
            let address = SocketAddr::new(ip, port);
            self.race(OneAnswer::of(async move { Ok(vec![address]) }))
                .await
        } else if has_zone(name) {
            let system = N::Resolver::default();
            self.race(system.resolve(name, port)).await
        } else {
            self.race(self.resolver.resolve(name, port)).await
        };
        connected.map_err(|error| {
            let name = name.escape_debug();
            error.to(match host.contains(':') {
                true => format!("[{name}]:{port}"),
                false => format!("{name}:{port}"),
            })
        })
    }

    async fn race(
        &self,
        answers: impl Stream<Item = Answer>,
    ) -> Result<Connected<D::Connection>, ConnectError> {
        let dial = |address, _| self.dial.dial(address);
        self.settings
            .race(N::Timer::default(), pin!(answers), dial)
            .await
    }
}

/// Returns an IPv6 address without its brackets.
fn unbracketed(host: &str) -> &str {
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    inner.filter(|inner| inner.contains(':')).unwrap_or(host)
}

/// Whether a host is an IPv6 address with a zone, as in `fe80::1%eth0`.
fn has_zone(host: &str) -> bool {
    let address = host.split_once('%').map(|(address, _)| address);
    address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests;
