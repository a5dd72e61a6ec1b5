use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll},
};

use http::Uri;
use hyper_util::rt::TokioIo;
use tower_service::Service;

use super::Connector;
use crate::{Dial, plan::Discover, v3::Origin};

type BoxError = Box<dyn Error + Send + Sync>;

#[cfg_attr(docsrs, doc(cfg(feature = "hyper")))]
impl<R, D> Connector<R, D> {
    /// Whether a hyper client may only connect to `http` URIs, and after `tls` (feature `rustls`) to
    /// those of `https` and `wss`. Default: `true`, because requests to others would be sent
    /// unencrypted. A layer that adds TLS sets it to `false`.
    #[must_use]
    pub fn enforce_http(mut self, is_enforced: bool) -> Self {
        self.enforce_http = is_enforced;
        self
    }
}

/// Connects to the host and the port of a URI. Without a port it is 80 for `http` and `ws`, and 443
/// for `https` and `wss`. Add TLS with `tls` (feature `rustls`), or with a layer and with
/// [`enforce_http`](Connector::enforce_http) set to `false` for it.
#[cfg_attr(docsrs, doc(cfg(feature = "hyper")))]
impl<R, D> Service<Uri> for Connector<R, D>
where
    R: Discover + Clone + Send + Sync + 'static,
    D: Dial + Clone + Send + Sync + 'static,
{
    type Response = TokioIo<D::Connection>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let schemes = match (connector.enforce_http, D::IS_SECURE) {
                (false, _) => Schemes::All,
                (true, false) => Schemes::Http,
                (true, true) => Schemes::HttpAndHttps,
            };
            let origin = origin(&uri, schemes)?;
            let connected = connector.connect_to(&origin).await?;
            Ok(TokioIo::new(connected.connection))
        })
    }
}

/// The schemes of URIs that a hyper client may connect to.
#[derive(Clone, Copy)]
enum Schemes {
    All,
    Http,
    HttpAndHttps,
}

/// Returns the origin of a URI. Errors do not contain what else is in it: it may be secret.
fn origin(uri: &Uri, schemes: Schemes) -> Result<Origin, String> {
    let scheme = uri.scheme_str().unwrap_or("");
    let host = uri.host().unwrap_or("");
    match (schemes, scheme) {
        (Schemes::All, _) | (_, "http") | (Schemes::HttpAndHttps, "https" | "wss") => {}
        (Schemes::Http, _) => {
            return Err(format!(
                "the scheme `{scheme}` for the host `{host}` is not `http`, and the request would \
                 be sent unencrypted: add TLS with `tls` (feature `rustls`), or put the connector \
                 into one for TLS and set `enforce_http(false)`"
            ));
        }
        (Schemes::HttpAndHttps, _) => {
            return Err(format!(
                "the scheme `{scheme}` for the host `{host}` is none of `http`, `https` and `wss`, \
                 and the request would be sent unencrypted: to allow that, set \
                 `enforce_http(false)`"
            ));
        }
    }
    if host.is_empty() {
        return Err("the URI has no host: give one, as in http://example.com/".to_owned());
    }
    let port = match (port(uri)?, scheme) {
        (Some(port), _) => port,
        (None, "http" | "ws") => 80,
        (None, "https" | "wss") => 443,
        (None, _) => {
            return Err(format!(
                "no default port is known for the scheme `{scheme}`: give one, as in {host}:1234"
            ));
        }
    };
    let host = host.replace("%25", "%");
    Ok(match scheme {
        "https" | "wss" => Origin::https(&host, port),
        _ => Origin::http(&host, port),
    })
}

/// Returns the port of a URI. `port_u16` has none, too, if the port is out of range.
fn port(uri: &Uri) -> Result<Option<u16>, String> {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let after_host = authority.rsplit(['@', ']']).next().unwrap_or("");
    match after_host.split_once(':') {
        None | Some((_, "")) => Ok(None),
        Some((_, port)) => port.parse().map(Some).map_err(|_| {
            format!("the port {port} of the URI is out of range: give one of 0 to 65535")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(uri: &str) -> Result<Origin, String> {
        origin(&uri.parse().unwrap(), Schemes::All)
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
            ("http://[fe80::1%25lo]:8080/", "[fe80::1%lo]", 8_080),
            ("http://user:secret@a.test/", "a.test", 80),
            ("http://user:secret@a.test:81/", "a.test", 81),
            ("http://a.test:/", "a.test", 80),
        ];
        for (uri, host, port) in cases {
            let is_secure = uri.starts_with("https:") || uri.starts_with("wss:");
            let expected = match is_secure {
                true => Origin::https(host, port),
                false => Origin::http(host, port),
            };
            assert_eq!(of(uri), Ok(expected), "{uri}");
        }
    }

    #[test]
    fn uri_without_port_or_host_is_an_error() {
        let error = of("amqp://a.test").unwrap_err();
        assert!(error.contains("no default port"), "{error}");
        assert!(error.contains("`amqp`"), "{error}");
        let error = of("/path").unwrap_err();
        assert!(error.contains("has no host"), "{error}");
    }

    #[test]
    fn port_out_of_range_is_an_error() {
        for uri in [
            "http://a.test:65536/",
            "http://[::1]:99999/",
            "http://u@a.test:70000",
        ] {
            let error = of(uri).unwrap_err();
            assert!(error.contains("out of range"), "{error}");
        }
    }

    #[test]
    fn errors_contain_no_password() {
        for uri in [
            "https://user:secret@a.test/",
            "ftp://user:secret@a.test/?token=secret",
        ] {
            let error = origin(&uri.parse().unwrap(), Schemes::Http).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
            assert!(error.contains("a.test"), "{error}");
        }
    }

    #[test]
    fn only_http_is_taken_by_default() {
        for uri in ["https://a.test/", "wss://a.test", "/path", "a.test:80"] {
            let error = origin(&uri.parse().unwrap(), Schemes::Http).unwrap_err();
            assert!(error.contains("enforce_http(false)"), "{error}");
        }
        assert!(origin(&"http://a.test/".parse().unwrap(), Schemes::Http).is_ok());
    }

    #[test]
    fn https_is_taken_with_tls() {
        let of = |uri: &str| origin(&uri.parse().unwrap(), Schemes::HttpAndHttps);
        for uri in ["http://a.test/", "https://a.test/", "wss://a.test/"] {
            assert!(of(uri).is_ok(), "{uri}");
        }
        for uri in ["ws://a.test", "amqps://a.test:5671", "/path", "a.test:80"] {
            let error = of(uri).unwrap_err();
            assert!(error.contains("enforce_http(false)"), "{error}");
        }
    }
}
