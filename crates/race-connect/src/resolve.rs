use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use crate::Answer;

/// A resolver of host names.
///
/// The system's resolvers are `tokio::SystemResolver` and `smol::SystemResolver`. With the features
/// `hickory` and `tokio`, a `hickory_resolver::TokioResolver` is one, on tokio only. Your own can
/// answer over time: see [`Answer`]. References and `Arc`s of resolvers are resolvers.
///
/// ```
/// use futures::{Stream, stream};
/// use race_connect::{Answer, Resolve};
///
/// /// Resolves every host to 127.0.0.1.
/// struct Here;
///
/// impl Resolve for Here {
///     fn resolve(&self, _: &str, port: u16) -> impl Stream<Item = Answer> + Send {
///         let here = ([127, 0, 0, 1], port).into();
///         stream::iter([Answer::Addresses(vec![here])])
///     }
/// }
/// ```
pub trait Resolve {
    /// Asks for the addresses of a host, with this port. The host is a name: connectors do not ask
    /// for IP addresses. The stream ends after the last answer.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> impl Stream<Item = Answer> + Send + 'a;
}

impl<R: Resolve> Resolve for &R {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> impl Stream<Item = Answer> + Send + 'a {
        (**self).resolve(host, port)
    }
}

impl<R: Resolve> Resolve for Arc<R> {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> impl Stream<Item = Answer> + Send + 'a {
        (**self).resolve(host, port)
    }
}

type Addresses<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// The one answer of a resolver that has all addresses of both families in order.
pub(crate) struct OneAnswer<'a>(Option<Addresses<'a>>);

impl<'a> OneAnswer<'a> {
    pub(crate) fn of(
        addresses: impl Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a,
    ) -> Self {
        Self(Some(Box::pin(addresses)))
    }
}

impl Stream for OneAnswer<'_> {
    type Item = Answer;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Answer>> {
        let Some(addresses) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let resolved = ready!(addresses.as_mut().poll(cx));
        self.0 = None;
        Poll::Ready(Some(match resolved {
            Ok(addresses) => Answer::Addresses(addresses),
            Err(error) => Answer::FailedForBoth(error),
        }))
    }
}
