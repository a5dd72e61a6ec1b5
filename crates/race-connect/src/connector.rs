use std::{
    fmt,
    marker::PhantomData,
    net::{Ipv6Addr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use race_core::{Moment, Timer, observe::Clock};

use crate::{
    Answer, ConnectError, Connected, Dial, HappyEyeballs, Resolve,
    plan::{Discover, Plan},
    resolution::Resolution,
    resolve::OneAnswer,
    v3::Origin,
};

/// The timer, the resolver and the sockets of a runtime.
#[doc(hidden)]
pub trait Runtime {
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
/// - `N` is the runtime.
/// - `R` is the resolver: a [`Resolve`], by default the system's, or a
///   [`v3::Discovery`](crate::v3::Discovery).
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

impl<N: Runtime> GenericConnector<N, N::Resolver, N::Dial> {
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

impl<N: Runtime> Default for GenericConnector<N, N::Resolver, N::Dial> {
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
    /// Asks this resolver instead: a [`Resolve`], or a [`v3::Discovery`](crate::v3::Discovery).
    #[must_use]
    pub fn resolver<R2: Discover>(self, resolver: R2) -> GenericConnector<N, R2, D> {
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
    /// the sockets of the runtime together with their hook, and TLS: add that afterwards.
    ///
    /// The addresses are still those that the resolver gives. To let a proxy resolve names, connect
    /// to the host of the proxy, and pass the name on over the connection.
    ///
    /// For the connector of a hyper client, the dial must be `Clone`, `Send`, `Sync` and `'static`,
    /// and its connection an IO type of tokio that implements `Connection` of `hyper_util`, as
    /// `TcpStream` does.
    ///
    /// ```
    /// use race_connect::{Destination, refuse_self_connection, tokio::Connector};
    /// use tokio::net::TcpStream;
    /// # use std::{io, net::SocketAddr};
    /// # async fn ask_for(_: &mut TcpStream, _: SocketAddr) -> io::Result<()> { Ok(()) }
    ///
    /// let proxy = "192.0.2.1:3128";
    /// let connector = Connector::default().dial(move |to: Destination| async move {
    ///     let mut stream = TcpStream::connect(proxy).await?;
    ///     refuse_self_connection(&stream)?;
    ///     ask_for(&mut stream, to.address()).await?;
    ///     Ok(stream)
    /// });
    /// # let _ = connector;
    /// ```
    #[must_use]
    pub fn dial<D2: Dial>(self, dial: D2) -> GenericConnector<N, R, D2> {
        self.map_dial(|_| dial)
    }

    pub(crate) fn map_dial<D2>(self, map: impl FnOnce(D) -> D2) -> GenericConnector<N, R, D2> {
        GenericConnector {
            settings: self.settings,
            resolver: self.resolver,
            dial: map(self.dial),
            #[cfg(feature = "hyper")]
            enforce_http: self.enforce_http,
            network: PhantomData,
        }
    }
}

impl<N: Runtime, R: Discover, D: Dial> GenericConnector<N, R, D> {
    /// Connects to a host, given by its name or address. An IPv6 address may be in brackets, and
    /// have a zone, as in `fe80::1%eth0`, which the system resolves. With TLS, this is
    /// [`connect_to`](Self::connect_to) an origin of `https`.
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
        self.connect_to(&match D::IS_SECURE {
            true => Origin::https(host, port),
            false => Origin::http(host, port),
        })
        .await
    }

    /// Connects to an origin. For one of `https`, a [`v3::Discovery`](crate::v3::Discovery) asks for
    /// HTTPS records, and the dial makes a connection with TLS or QUIC.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops all attempts. The system's resolver may run on in its thread.
    pub async fn connect_to(
        &self,
        origin: &Origin,
    ) -> Result<Connected<D::Connection>, ConnectError> {
        let name = origin.given();
        let timer = N::Timer::default();
        let now = timer.now();
        let dial = |to| self.dial.dial(to);
        let connected = if name.is_empty() {
            Err(ConnectError::empty_host())
        } else if has_zone(name) {
            let system = N::Resolver::default();
            let plan = system.plan(&self.settings, origin, now);
            self.settings.run_plan(timer, plan, dial).await
        } else {
            let plan = self.resolver.plan(&self.settings, origin, now);
            self.settings.run_plan(timer, plan, dial).await
        };
        connected.map_err(|error| error.of(origin))
    }
}

impl<R: Resolve> Discover for R {
    fn plan<'a>(
        &'a self,
        settings: &HappyEyeballs,
        origin: &'a Origin,
        now: Moment,
    ) -> impl Plan + Send + 'a {
        let answers = match origin.ip() {
            Some(ip) => {
                let address = SocketAddr::new(ip, origin.port());
                Either::Left(OneAnswer::of(async move { Ok(vec![address]) }))
            }
            None => Either::Right(Box::pin(self.resolve(origin.given(), origin.port()))),
        };
        Resolution::new(answers, settings.candidates(now)).of(origin.clone())
    }
}

/// The answers for an address, or those of a resolver.
enum Either<A, B> {
    Left(A),
    Right(B),
}

impl<A, B> Stream for Either<A, B>
where
    A: Stream<Item = Answer> + Unpin,
    B: Stream<Item = Answer> + Unpin,
{
    type Item = Answer;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Answer>> {
        match self.get_mut() {
            Self::Left(answers) => Pin::new(answers).poll_next(cx),
            Self::Right(answers) => Pin::new(answers).poll_next(cx),
        }
    }
}

/// Whether a host is an IPv6 address with a zone, as in `fe80::1%eth0`.
fn has_zone(host: &str) -> bool {
    let address = host.split_once('%').map(|(address, _)| address);
    address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests;
