use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll},
};

use http::{Uri, uri::Scheme};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::Connector;
use crate::Resolve;

type BoxError = Box<dyn Error + Send + Sync>;

/// Connects to the host of a URI, on port 80 or 443 if it has none. TLS is the work of a layer
/// around it.
#[cfg_attr(docsrs, doc(cfg(feature = "hyper")))]
impl<R: Resolve + Clone + Send + Sync + 'static> Service<Uri> for Connector<R> {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let host = uri.host().ok_or_else(|| {
                format!("the URI {uri} has no host: give one, as in http://example.com/")
            })?;
            let port = uri.port_u16().unwrap_or_else(|| match uri.scheme() {
                Some(scheme) if *scheme == Scheme::HTTPS => 443,
                _ => 80,
            });
            let connected = connector.connect(host, port).await?;
            Ok(TokioIo::new(connected.connection))
        })
    }
}
