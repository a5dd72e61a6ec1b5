use std::{
    future::Future,
    io,
    marker::PhantomData,
    net::{Ipv6Addr, SocketAddr},
    pin::pin,
};

use futures_core::Stream;
use race_core::{Clock, Timer};

use crate::{Answer, ConnectError, Connected, HappyEyeballs, Resolve, resolve::OneAnswer};

/// The timer, the resolver and the sockets of a runtime.
#[doc(hidden)]
pub trait Network {
    type Timer: Timer + Clock + Clone + Default + Unpin + Send;
    type Resolver: Resolve + Default;
    type Connection: Send;

    fn connect(address: SocketAddr) -> impl Future<Output = io::Result<Self::Connection>> + Send;
}

/// Connects to hosts with settings and a resolver of your own.
///
/// `tokio::Connector` and `smol::Connector` are its aliases for the runtimes. Clones share the
/// memory of the settings. With the feature `hyper`, `tokio::Connector` is a connector of the
/// client of `hyper_util`.
///
/// - `N` is the network of a runtime.
/// - `R`, a [`Resolve`], is the resolver: by default the system's.
#[derive(Clone, Debug)]
pub struct GenericConnector<N, R> {
    settings: HappyEyeballs,
    resolver: R,
    #[cfg(feature = "hyper")]
    pub(crate) enforce_http: bool,
    network: PhantomData<fn() -> N>,
}

impl<N: Network> GenericConnector<N, N::Resolver> {
    /// Creates a connector that uses the system's resolver.
    #[must_use]
    pub fn new(settings: HappyEyeballs) -> Self {
        Self {
            settings,
            resolver: N::Resolver::default(),
            #[cfg(feature = "hyper")]
            enforce_http: true,
            network: PhantomData,
        }
    }
}

impl<N: Network> Default for GenericConnector<N, N::Resolver> {
    fn default() -> Self {
        Self::new(HappyEyeballs::default())
    }
}

impl<N, R> GenericConnector<N, R> {
    /// Asks this resolver instead.
    #[must_use]
    pub fn resolver<R2: Resolve>(self, resolver: R2) -> GenericConnector<N, R2> {
        GenericConnector {
            settings: self.settings,
            resolver,
            #[cfg(feature = "hyper")]
            enforce_http: self.enforce_http,
            network: PhantomData,
        }
    }
}

impl<N: Network, R: Resolve> GenericConnector<N, R> {
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
    ) -> Result<Connected<N::Connection>, ConnectError> {
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
    ) -> Result<Connected<N::Connection>, ConnectError> {
        let dial = |address, _| N::connect(address);
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
