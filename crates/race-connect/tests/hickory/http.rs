//! Clients that connect to a name.

use std::{error::Error as _, time::Duration};

use race_connect::{HappyEyeballs, reqwest::Resolver, tokio::Connector};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::{
    HOST, PATIENCE,
    dns::{Dns, Reply},
    patient,
};

/// Starts a server on IPv4 that answers `hello`. Returns its port.
async fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0);
            }
            let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello";
            stream.write_all(answer).await.unwrap();
        }
    });
    port
}

#[tokio::test]
async fn connector_asks_the_given_resolver() {
    let dns = Dns::start(Reply::Nothing, Reply::Addresses(&["127.0.0.1"])).await;
    let port = server().await;
    let connector = Connector::new(patient().deadline(PATIENCE)).resolver(dns.resolver.clone());
    let connected = connector.connect(HOST, port).await.unwrap();
    assert_eq!(connected.connection.peer_addr().unwrap(), connected.address);
    assert_eq!(dns.asked().len(), 2);

    // An address is not a name. The system resolves zones.
    let zones: &[&str] = if cfg!(target_os = "linux") {
        &["fe80::1%lo", "[fe80::1%lo]"]
    } else {
        &[]
    };
    for host in ["127.0.0.1", "::1", "[::1]"].iter().chain(zones) {
        let address = match connector.connect(host, port).await {
            Ok(connected) => connected.address,
            Err(error) => {
                assert!(error.to_string().contains(host), "{error}");
                error.failed().first().expect("it has an address").0.address
            }
        };
        assert!(
            host.contains(&address.ip().to_string()),
            "{host}: {address}"
        );
        assert_eq!(dns.asked().len(), 2);
    }
}

#[tokio::test]
async fn hyper_client_asks_the_given_resolver() {
    use http_body_util::{BodyExt as _, Empty};
    use hyper_util::{client::legacy::Client, rt::TokioExecutor};

    let dns = Dns::start(Reply::Nothing, Reply::Addresses(&["127.0.0.1"])).await;
    let port = server().await;
    let connector = Connector::new(HappyEyeballs::new()).resolver(dns.resolver);
    let client: Client<_, Empty<&'static [u8]>> =
        Client::builder(TokioExecutor::new()).build(connector);
    let uri = format!("http://{HOST}:{port}/").parse().unwrap();
    let answer = tokio::spawn(client.get(uri)).await.unwrap().unwrap();
    assert_eq!(
        answer.into_body().collect().await.unwrap().to_bytes(),
        "hello"
    );
}

#[tokio::test]
async fn hyper_client_sends_no_https_request_unencrypted() {
    use http_body_util::Empty;
    use hyper_util::{client::legacy::Client, rt::TokioExecutor};

    let client: Client<_, Empty<&'static [u8]>> =
        Client::builder(TokioExecutor::new()).build(Connector::default());
    let uri = format!("https://127.0.0.1:{}/", server().await);
    let error = client.get(uri.parse().unwrap()).await.unwrap_err();
    let source = error.source().unwrap().to_string();
    assert!(source.contains("enforce_http(false)"), "{source}");
}

fn reqwest_client(dns: Dns) -> reqwest::Client {
    let resolver = Resolver::new(dns.resolver).resolution_delay(Duration::from_millis(100));
    let client = reqwest::Client::builder().dns_resolver(resolver).no_proxy();
    client.timeout(PATIENCE).build().unwrap()
}

#[tokio::test]
async fn reqwest_client_tries_the_best_address_first() {
    // Nothing listens on the other one. The system needs minutes to find out, if it drops packets.
    let addresses = Reply::Addresses(&["192.0.2.1", "127.0.0.1"]);
    for v6 in [Reply::Nothing, Reply::Never] {
        let dns = Dns::start(v6, addresses.clone()).await;
        let url = format!("http://{HOST}:{}/", server().await);
        let answer = reqwest_client(dns).get(url).send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), "hello");
    }
}

#[tokio::test]
async fn reqwest_client_reports_the_failure_of_the_resolver() {
    let dns = Dns::start(Reply::Nothing, Reply::Nothing).await;
    let client = reqwest_client(dns);
    let error = client
        .get(format!("http://{HOST}/"))
        .send()
        .await
        .unwrap_err();
    assert!(error.is_dns() || error.is_connect(), "{error:?}");
    let mut source = error.source();
    let mut said = String::new();
    while let Some(error) = source {
        said += &error.to_string();
        source = error.source();
    }
    assert!(said.contains("host.example has no addresses"), "{said}");
}
