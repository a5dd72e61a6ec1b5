//! Hyper clients over the connector.

use std::{error::Error as _, net::SocketAddr, sync::Arc, time::Duration};

use http_body_util::{BodyExt as _, Empty, Full};
use hyper_util::{
    client::legacy::{Client, connect::Connect},
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use race_connect::{HappyEyeballs, tokio::Connector};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use crate::server::{Addresses, Identity};

/// Answers with the version of HTTP.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let service = hyper::service::service_fn(|request: http::Request<_>| async move {
        let _: &hyper::body::Incoming = request.body();
        let version = format!("{:?}", request.version());
        Ok::<_, std::convert::Infallible>(http::Response::new(Full::new(hyper::body::Bytes::from(
            version,
        ))))
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    // The client may close its connection at any time.
    let _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// Starts a server, with TLS if there is an identity.
async fn server(identity: Option<&Identity>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = identity.map(|it| TlsAcceptor::from(Arc::clone(&it.server)));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                match acceptor {
                    Some(acceptor) => serve(acceptor.accept(stream).await.unwrap()).await,
                    None => serve(stream).await,
                }
            });
        }
    });
    address
}

/// Returns the version of HTTP, or the text of the error.
async fn get(
    connector: impl Connect + Clone + Send + Sync + 'static,
    uri: &str,
) -> Result<String, String> {
    let client: Client<_, Empty<&'static [u8]>> =
        Client::builder(TokioExecutor::new()).build(connector);
    let answer = tokio::spawn(client.get(uri.parse().unwrap()));
    match answer.await.unwrap() {
        Ok(answer) => {
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            Ok(String::from_utf8(body.to_vec()).unwrap())
        }
        Err(error) => Err(error.source().unwrap().to_string()),
    }
}

fn settings() -> HappyEyeballs {
    HappyEyeballs::new().deadline(Duration::from_secs(60))
}

#[tokio::test]
async fn protocol_is_the_one_that_tls_negotiates() {
    for (protocols, version) in [
        (&["h2", "http/1.1"][..], "HTTP/2.0"),
        (&["http/1.1"], "HTTP/1.1"),
        (&[], "HTTP/1.1"),
    ] {
        let identity = Identity::new(&["a.test"], protocols);
        let address = server(Some(&identity)).await;
        let connector = Connector::new(settings())
            .resolver(Addresses(vec![address]))
            .tls(Identity::client(&[&identity]));
        let answer = get(connector, "https://a.test/").await;
        assert_eq!(answer.as_deref(), Ok(version));
    }
}

#[tokio::test]
async fn http_uri_is_connected_to_without_tls() {
    let address = server(None).await;
    let connector = Connector::new(settings())
        .resolver(Addresses(vec![address]))
        .tls(Identity::client(&[]));
    let answer = get(connector, "http://a.test/").await;
    assert_eq!(answer.as_deref(), Ok("HTTP/1.1"));
}

#[tokio::test]
async fn https_uri_without_tls_is_refused_unless_that_is_allowed() {
    let address = server(None).await;
    let connector = Connector::new(settings()).resolver(Addresses(vec![address]));
    let error = get(connector.clone(), "https://a.test/").await.unwrap_err();
    assert!(error.contains("enforce_http(false)"), "{error}");
    let answer = get(connector.enforce_http(false), "https://a.test/").await;
    assert_eq!(answer.as_deref(), Ok("HTTP/1.1"));
}

/// A connector with TLS sends no other scheme unencrypted.
#[tokio::test]
async fn other_scheme_is_refused_with_tls_too() {
    let address = server(None).await;
    let connector = Connector::new(settings())
        .resolver(Addresses(vec![address]))
        .tls(Identity::client(&[]));
    let error = get(connector.clone(), "grpcs://a.test:443/")
        .await
        .unwrap_err();
    assert!(error.contains("enforce_http(false)"), "{error}");
    let answer = get(connector.enforce_http(false), "grpcs://a.test:443/").await;
    assert_eq!(answer.as_deref(), Ok("HTTP/1.1"));
}

#[tokio::test]
async fn untrusted_certificate_is_the_error_of_the_request() {
    let identity = Identity::new(&["a.test"], &["h2"]);
    let address = identity.listen().await;
    let connector = Connector::new(settings())
        .resolver(Addresses(vec![address]))
        .tls(Identity::client(&[]));
    let error = get(connector, "https://a.test/").await.unwrap_err();
    assert!(error.contains(&address.to_string()), "{error}");
    assert!(error.contains("UnknownIssuer"), "{error}");
}
