use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll},
};

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::Connector;
use crate::Resolve;

type BoxError = Box<dyn Error + Send + Sync>;

#[cfg_attr(docsrs, doc(cfg(feature = "hyper")))]
impl<R> Connector<R> {
    /// Whether a hyper client may only connect to `http` URIs. Default: `true`, because requests to
    /// others would be sent unencrypted. A layer that adds TLS sets it to `false`.
    #[must_use]
    pub fn enforce_http(mut self, is_enforced: bool) -> Self {
        self.enforce_http = is_enforced;
        self
    }
}

/// Connects to the host of a URI, on port 80 for `http` and `ws`, 443 for `https` and `wss`, if it
/// has none. TLS is the work of a layer around it, for which
/// [`enforce_http`](Connector::enforce_http) must be `false`.
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
            let (host, port) = target(&uri, connector.enforce_http)?;
            let connected = connector.connect(&host, port).await?;
            Ok(TokioIo::new(connected.connection))
        })
    }
}

/// Returns the host and the port of a URI.
fn target(uri: &Uri, enforce_http: bool) -> Result<(String, u16), String> {
    let scheme = uri.scheme_str().unwrap_or("");
    if enforce_http && scheme != "http" {
        return Err(format!(
            "the URI {uri} is not http, and its request would be sent unencrypted: put the connector \
             into one for TLS, and set `enforce_http(false)`"
        ));
    }
    let host = uri.host().filter(|host| !host.is_empty());
    let host = host
        .ok_or_else(|| format!("the URI {uri} has no host: give one, as in http://example.com/"))?;
    let port = match (uri.port_u16(), scheme) {
        (Some(port), _) => port,
        (None, "http" | "ws") => 80,
        (None, "https" | "wss") => 443,
        (None, _) => {
            return Err(format!(
                "the URI {uri} has no port, and its scheme has none: give one, as in {host}:1234"
            ));
        }
    };
    Ok((host.replace("%25", "%"), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(uri: &str) -> Result<(String, u16), String> {
        target(&uri.parse().unwrap(), false)
    }

    #[test]
    fn port_follows_from_the_scheme() {
        let cases = [
            ("http://a.test/", "a.test", 80),
            ("ws://a.test/", "a.test", 80),
            ("https://a.test/", "a.test", 443),
            ("wss://a.test/", "a.test", 443),
            ("https://a.test:8443/x", "a.test", 8_443),
            ("amqp://a.test:5672", "a.test", 5_672),
            ("http://[::1]/", "[::1]", 80),
            ("http://[::1]:8080/", "[::1]", 8_080),
        ];
        for (uri, host, port) in cases {
            assert_eq!(of(uri), Ok((host.to_owned(), port)), "{uri}");
        }
    }

    #[test]
    fn uri_without_port_or_host_is_an_error() {
        let error = of("amqp://a.test").unwrap_err();
        assert!(error.contains("amqp://a.test"), "{error}");
        assert!(error.contains("has no port"), "{error}");
        let error = of("/path").unwrap_err();
        assert!(error.contains("has no host"), "{error}");
    }

    #[test]
    fn only_http_is_taken_by_default() {
        for uri in ["https://a.test/", "wss://a.test", "/path", "a.test:80"] {
            let error = target(&uri.parse().unwrap(), true).unwrap_err();
            assert!(error.contains("enforce_http(false)"), "{error}");
        }
        assert!(target(&"http://a.test/".parse().unwrap(), true).is_ok());
    }
}
