//! Addresses for a reqwest client.
//!
//! reqwest 0.13 accepts no connector: a connector layer can neither make nor clone what it passes
//! on, so it can start a connection once only. reqwest itself tries the addresses of the first
//! family one after the other, and begins with those of the other family 300 ms later. It accepts a
//! resolver; [`Resolver`] sorts its answers by RFC 6724, so that the best address comes first.
//!
//! reqwest opens its own sockets, so the hooks of [`Connector`](crate::tokio::Connector) do not
//! apply. Of what they can do, `reqwest::ClientBuilder` has `local_address`, `interface`,
//! `tcp_keepalive`, `tcp_nodelay` and `proxy`. It can neither set a mark nor take a dial of your
//! own, and it does not [refuse](crate::refuse_self_connection) a connection of a socket to itself.
//! Where that matters, use a hyper client.

use std::{future::poll_fn, net::SocketAddr, pin::pin, sync::Arc, task::Poll, time::Duration};

use futures_core::Stream;
use race_core::Moment;
use reqwest::dns::{Addrs, Name, Resolving};
use tokio::time::timeout;

use crate::{
    Answer, Candidates, ConnectError, Next, Resolve, plan::Plan as _, resolution::Resolution,
    sort_destinations, source_address,
};

/// A resolver for `reqwest::ClientBuilder::dns_resolver`.
///
/// It waits for both families, for the one that comes later at most the Resolution Delay, and sorts
/// the addresses by RFC 6724. The addresses of one answer stay in their order, because a resolver
/// that gives both families at once has sorted them.
///
/// ```
/// use futures::{Stream, stream};
/// use race_connect::{Answer, Resolve, reqwest::Resolver};
///
/// struct Here;
///
/// impl Resolve for Here {
///     fn resolve(&self, _: &str, port: u16) -> impl Stream<Item = Answer> + Send {
///         let answers = ["[::1]:0", "127.0.0.1:0"].map(|address| {
///             let mut address: std::net::SocketAddr = address.parse().expect("an address");
///             address.set_port(port);
///             Answer::Addresses(vec![address])
///         });
///         stream::iter(answers)
///     }
/// }
///
/// let client = reqwest::Client::builder().dns_resolver(Resolver::new(Here)).build()?;
/// # Ok::<(), reqwest::Error>(())
/// ```
#[derive(Debug)]
pub struct Resolver<R> {
    resolver: Arc<R>,
    resolution_delay: Duration,
}

impl<R: Resolve> Resolver<R> {
    /// Creates a resolver that asks this one.
    #[must_use]
    pub fn new(resolver: R) -> Self {
        Self {
            resolver: Arc::new(resolver),
            resolution_delay: Duration::from_millis(50),
        }
    }

    /// Sets the Resolution Delay: how long to wait for further answers when the first addresses
    /// have arrived. Default: 50 ms.
    #[must_use]
    pub fn resolution_delay(mut self, delay: Duration) -> Self {
        self.resolution_delay = delay;
        self
    }
}

impl<R> Clone for Resolver<R> {
    fn clone(&self) -> Self {
        Self {
            resolver: Arc::clone(&self.resolver),
            resolution_delay: self.resolution_delay,
        }
    }
}

impl<R: Resolve + Send + Sync + 'static> reqwest::dns::Resolve for Resolver<R> {
    fn resolve(&self, name: Name) -> Resolving {
        let Self {
            resolver,
            resolution_delay,
        } = self.clone();
        Box::pin(async move {
            let host = name.as_str();
            // reqwest replaces port 0.
            let answers = pin!(resolver.resolve(host, 0));
            let mut resolution = Resolution::new(answers, Candidates::new(Duration::ZERO));
            resolve_until(&mut resolution, |it| it.address_answers() > 0).await;
            let rest = resolve_until(&mut resolution, |_| false);
            let _late = timeout(resolution_delay, rest).await;
            let addresses = sorted(resolution).map_err(|error| error.to(host))?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Waits until both families have ended, or until `is_enough`.
async fn resolve_until<A>(
    resolution: &mut Resolution<A>,
    is_enough: impl Fn(&Resolution<A>) -> bool,
) where
    A: Stream<Item = Answer> + Unpin,
{
    poll_fn(|cx| {
        resolution.poll(Moment::ZERO, cx);
        match resolution.has_ended() || is_enough(resolution) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

fn sorted(
    mut resolution: Resolution<impl Stream<Item = Answer> + Unpin>,
) -> Result<Vec<SocketAddr>, ConnectError> {
    let mut addresses = Vec::new();
    while let Next::Start(address) = resolution.next(Moment::ZERO, None) {
        resolution.started(&address, Moment::ZERO);
        addresses.push(address);
    }
    if addresses.is_empty() {
        return Err(ConnectError::without_addresses(resolution.take_errors()));
    }
    if resolution.address_answers() > 1 {
        sort_destinations(&mut addresses, source_address);
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests;
