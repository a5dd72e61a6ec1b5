//! Hyper clients with hooks.

use std::net::SocketAddr;

use http_body_util::{BodyExt as _, Empty};
use hyper_util::{
    client::legacy::{Client, connect::Connect},
    rt::TokioExecutor,
};
use race_connect::{Destination, HappyEyeballs, tokio::Connector};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::{
    dial::Proxy,
    host::{Addresses, HOST},
};

/// Starts a server that answers with the address of its client.
async fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, peer)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0);
            }
            let peer = peer.ip().to_string();
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length";
            let answer = format!("{head}: {}\r\n\r\n{peer}", peer.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    address
}

/// Returns the address that the server sees.
async fn seen_by_server(connector: impl Connect + Clone + Send + Sync + 'static) -> String {
    let client: Client<_, Empty<&'static [u8]>> =
        Client::builder(TokioExecutor::new()).build(connector);
    let uri = format!("http://{HOST}/").parse().unwrap();
    let answer = tokio::spawn(client.get(uri)).await.unwrap().unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn client_connects_from_the_address_that_the_hook_binds() {
    let source: SocketAddr = "127.0.0.2:0".parse().unwrap();
    let connector = Connector::new(HappyEyeballs::new())
        .resolver(Addresses(vec![server().await]))
        .socket(move |socket, _| socket.bind(&source.into()));
    assert_eq!(seen_by_server(connector).await, "127.0.0.2");
}

#[tokio::test]
async fn client_connects_through_the_dial() {
    let (proxy, target) = (Proxy::start().await, server().await);
    let connector = Connector::new(HappyEyeballs::new())
        .resolver(Addresses(vec![target]))
        .dial(proxy.clone());
    assert_eq!(seen_by_server(connector).await, "127.0.0.1");
    assert_eq!(proxy.asked(), [target]);
}

#[tokio::test]
async fn client_takes_a_function_as_its_dial() {
    async fn dial(to: Destination) -> std::io::Result<TcpStream> {
        TcpStream::connect(to.address()).await
    }
    let connector = Connector::new(HappyEyeballs::new())
        .resolver(Addresses(vec![server().await]))
        .dial(dial);
    assert_eq!(seen_by_server(connector).await, "127.0.0.1");
}
