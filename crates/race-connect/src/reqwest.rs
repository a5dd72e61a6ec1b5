//! Addresses for a reqwest client.
//!
//! reqwest 0.13 has no place for a connector: a connector layer can neither make nor clone what it
//! passes on, so it can start a connection once only. reqwest itself tries the addresses of the
//! first family one after the other, and begins with those of the other family 300 ms later. What
//! it takes is a resolver; [`Resolver`] sorts, so that the best address of the right family comes
//! first.

use std::{
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use futures_core::Stream;
use reqwest::dns::{Addrs, Name, Resolving};
use tokio::time::timeout;

use crate::{Answer, ConnectError, Resolve, sort_destinations, source_address};

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

    /// Sets the Resolution Delay: how long to wait for further answers when the first addresses have
    /// arrived. Default: 50 ms.
    #[must_use]
    pub fn resolution_delay(mut self, delay: Duration) -> Self {
        self.resolution_delay = delay;
        self
    }
}

impl<R: Resolve + Send + Sync + 'static> reqwest::dns::Resolve for Resolver<R> {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = Arc::clone(&self.resolver);
        let delay = self.resolution_delay;
        Box::pin(async move {
            // reqwest replaces port 0.
            let answers = pin!(resolver.resolve(name.as_str(), 0));
            let addresses = Gathered::from(answers, delay).await.sorted(name.as_str())?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// What a resolver has answered.
#[derive(Default)]
struct Gathered {
    addresses: Vec<SocketAddr>,
    /// The number of answers with addresses.
    answers: usize,
    errors: Vec<io::Error>,
}

impl Gathered {
    async fn from(mut answers: Pin<&mut impl Stream<Item = Answer>>, delay: Duration) -> Self {
        let mut gathered = Self::default();
        while gathered.addresses.is_empty() {
            let Some(answer) = poll_fn(|cx| answers.as_mut().poll_next(cx)).await else {
                return gathered;
            };
            gathered.take_in(answer);
        }
        let rest = async {
            while let Some(answer) = poll_fn(|cx| answers.as_mut().poll_next(cx)).await {
                gathered.take_in(answer);
            }
        };
        let _late = timeout(delay, rest).await;
        gathered
    }

    fn take_in(&mut self, answer: Answer) {
        match answer {
            Answer::Addresses(addresses) => {
                self.answers += usize::from(!addresses.is_empty());
                for address in addresses {
                    if !self.addresses.contains(&address) {
                        self.addresses.push(address);
                    }
                }
            }
            Answer::Ended(_) => {}
            Answer::Failed(_, error) | Answer::FailedForBoth(error) => self.errors.push(error),
            Answer::Withdrawn(withdrawn) => {
                self.addresses
                    .retain(|address| !withdrawn.contains(address));
            }
        }
    }

    fn sorted(mut self, host: &str) -> Result<Vec<SocketAddr>, ConnectError> {
        if self.addresses.is_empty() {
            return Err(ConnectError::without_addresses(self.errors).to(host));
        }
        if self.answers > 1 {
            sort_destinations(&mut self.addresses, source_address);
        }
        Ok(self.addresses)
    }
}

#[cfg(test)]
mod tests;
