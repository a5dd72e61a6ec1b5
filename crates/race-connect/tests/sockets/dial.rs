//! Dials of one's own.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use race_connect::{Destination, Dial, HappyEyeballs, refuse_self_connection, tokio::Connector};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

use crate::host::{Addresses, HOST, server};

/// A proxy that reads the address as a line, and answers with a line.
#[derive(Clone)]
pub(crate) struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Proxy {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self {
            address: listener.local_addr().unwrap(),
            asked: Arc::default(),
        };
        let asked = Arc::clone(&proxy.asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(forward(stream, Arc::clone(&asked)));
            }
        });
        proxy
    }

    /// The addresses that clients asked for.
    pub(crate) fn asked(&self) -> Vec<SocketAddr> {
        self.asked.lock().unwrap().clone()
    }
}

async fn forward(stream: TcpStream, asked: Arc<Mutex<Vec<SocketAddr>>>) -> io::Result<()> {
    let mut client = BufReader::new(stream);
    let mut line = String::new();
    client.read_line(&mut line).await?;
    let target: SocketAddr = line.trim_end().parse().unwrap();
    asked.lock().unwrap().push(target);
    match TcpStream::connect(target).await {
        Ok(mut target) => {
            client.write_all(b"+").await?;
            tokio::io::copy_bidirectional(&mut client, &mut target).await?;
        }
        Err(_) => client.write_all(b"-").await?,
    }
    Ok(())
}

impl Dial for Proxy {
    type Connection = TcpStream;

    async fn dial(&self, to: Destination) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.address).await?;
        refuse_self_connection(&stream)?;
        let request = format!("{}\n", to.address());
        stream.write_all(request.as_bytes()).await?;
        match stream.read_u8().await? {
            b'+' => Ok(stream),
            _ => Err(io::Error::other("the proxy cannot reach it")),
        }
    }
}

#[tokio::test]
async fn attempts_go_through_the_dial() {
    let proxy = Proxy::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = listener.local_addr().unwrap();
    // A port that is bound and does not listen refuses connections.
    let closed = crate::self_connection::bound(([127, 0, 0, 1], 0).into()).unwrap();
    let refused = closed.local_addr().unwrap().as_socket().unwrap();
    let connector = Connector::new(HappyEyeballs::new())
        .resolver(Addresses(vec![refused, target]))
        .dial(proxy.clone());

    let mut connected = connector.connect(HOST, 0).await.unwrap();
    assert_eq!(connected.address, target);
    assert_eq!(connected.connection.peer_addr().unwrap(), proxy.address);
    assert_eq!(proxy.asked(), [refused, target]);
    let (mut server, _) = listener.accept().await.unwrap();
    connected.connection.write_all(b"hello").await.unwrap();
    let mut heard = [0; 5];
    server.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"hello");

    let connector = connector.resolver(Addresses(vec![refused]));
    let error = connector.connect(HOST, 0).await.unwrap_err();
    let text = error.to_string();
    assert!(text.ends_with("the proxy cannot reach it"), "{text}");
}

/// The dial replaces the sockets, so a connection can be of any type.
#[test]
fn closure_is_a_dial() {
    let addresses = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let dial = |to: Destination| async move {
        match to.address().port() {
            1 => Err(io::Error::other("not this one")),
            port => Ok(format!("connection {port}")),
        }
    };
    let connector = race_connect::smol::Connector::new(HappyEyeballs::new())
        .resolver(Addresses(addresses.to_vec()))
        .dial(dial);
    let connected = smol::block_on(connector.connect(HOST, 0)).unwrap();
    assert_eq!(connected.connection, "connection 2");
    assert_eq!(connected.address, addresses[1]);
}

#[tokio::test]
async fn async_closure_is_a_dial_and_its_connector_can_be_spawned() {
    let (listener, address) = server();
    let connector = Connector::new(HappyEyeballs::new())
        .resolver(Addresses(vec![address]))
        .dial(async |to: Destination| TcpStream::connect(to.address()).await);
    let connected = tokio::spawn(async move { connector.connect(HOST, 0).await });
    let stream = connected.await.unwrap().unwrap().connection;
    assert_eq!(listener.accept().unwrap().1, stream.local_addr().unwrap());
}
