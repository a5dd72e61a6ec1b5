//! What a runtime gives: a timer, a resolver and sockets.

use std::{
    future::{Future, ready},
    io,
    net::{IpAddr, SocketAddr},
    pin::{Pin, pin},
    task::{self, Context, Poll},
};

use futures_core::Stream;
use race_core::{Clock, Timer};

use crate::{Answer, ConnectError, Connected, Family, HappyEyeballs};

/// The network of a runtime.
pub(crate) trait Network {
    type Timer: Timer + Clock + Clone + Default + Unpin + Send;
    type Connection: Send;

    /// Asks the system's resolver.
    fn resolve(host: &str, port: u16) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;

    fn connect(address: SocketAddr) -> impl Future<Output = io::Result<Self::Connection>> + Send;
}

/// Connects to a host by name or address.
pub(crate) async fn connect<N: Network>(
    settings: &HappyEyeballs,
    host: &str,
    port: u16,
) -> Result<Connected<N::Connection>, ConnectError> {
    let timer = N::Timer::default();
    let dial = |address, _| N::connect(address);
    let literal = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    if let Ok(ip) = literal.unwrap_or(host).parse::<IpAddr>() {
        let address = SocketAddr::new(ip, port);
        let answers = Once(Some(ready(Ok(vec![address]))));
        return settings.race(timer, answers, dial).await;
    }
    let answers = pin!(N::resolve(host, port));
    settings.race(timer, Once(Some(answers)), dial).await
}

/// The one answer of a resolver, which has all addresses of both families in order.
struct Once<F>(Option<F>);

impl<F: Future<Output = io::Result<Vec<SocketAddr>>> + Unpin> Stream for Once<F> {
    type Item = Answer;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Answer>> {
        let Some(resolve) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let resolved = task::ready!(Pin::new(resolve).poll(cx));
        self.0 = None;
        Poll::Ready(Some(match resolved {
            Ok(addresses) => Answer::Addresses(addresses),
            // The end of the stream ends the other family.
            Err(error) => Answer::Failed(Family::V6, error),
        }))
    }
}
