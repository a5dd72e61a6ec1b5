use std::{
    future::Future,
    io,
    marker::PhantomData,
    net::{IpAddr, SocketAddr},
    pin::pin,
};

use race_core::{Clock, Timer};

use crate::{ConnectError, Connected, HappyEyeballs, Resolve, resolve::OneAnswer};

/// What a runtime gives: a timer, a resolver and sockets.
#[doc(hidden)]
pub trait Network {
    type Timer: Timer + Clock + Clone + Default + Unpin + Send;
    type Resolver: Resolve + Default;
    type Connection: Send;

    fn connect(address: SocketAddr) -> impl Future<Output = io::Result<Self::Connection>> + Send;
}

/// Connects to hosts with settings and a resolver of your own.
///
/// Use it by its aliases `tokio::Connector` and `smol::Connector`. Clones share the memory of the
/// settings. With the feature `hyper`, `tokio::Connector` is a connector of the client of
/// `hyper_util`.
///
/// - `N` is the network of a runtime.
/// - `R`, a [`Resolve`], is the resolver: by default the system's.
#[derive(Clone, Debug)]
pub struct GenericConnector<N, R> {
    settings: HappyEyeballs,
    resolver: R,
    network: PhantomData<fn() -> N>,
}

impl<N: Network> GenericConnector<N, N::Resolver> {
    /// Creates a connector that uses the system's resolver.
    #[must_use]
    pub fn new(settings: HappyEyeballs) -> Self {
        Self {
            settings,
            resolver: N::Resolver::default(),
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
            network: PhantomData,
        }
    }
}

impl<N: Network, R: Resolve> GenericConnector<N, R> {
    /// Connects to a host, given by its name or address. An IPv6 address may be in brackets.
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
        let timer = N::Timer::default();
        let dial = |address, _| N::connect(address);
        if let Some(ip) = literal(host) {
            let address = SocketAddr::new(ip, port);
            let answers = OneAnswer::of(async move { Ok(vec![address]) });
            return self.settings.race(timer, answers, dial).await;
        }
        let answers = pin!(self.resolver.resolve(host, port));
        self.settings.race(timer, answers, dial).await
    }
}

/// Returns the address that a host is, if it is one.
fn literal(host: &str) -> Option<IpAddr> {
    let bracketed = host.strip_prefix('[');
    let inner = bracketed.and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host).parse().ok()
}
