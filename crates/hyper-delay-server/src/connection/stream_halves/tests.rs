//! An encrypted connection whose socket takes few bytes at a time.

use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{ClientConfig, RootCertStore, ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use tokio::{
    net::TcpSocket,
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client::TlsStream};

use super::*;
use crate::connection::writer::{close, write_all};

const PATIENCE: Duration = Duration::from_secs(60);

/// More than the buffers of both sockets, less than that of the session.
const BYTES: usize = 48 << 10;

async fn connect() -> (TlsStream<TcpStream>, ReadHalf, WriteHalf) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let provider = Arc::new(ring::default_provider());
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    // The client would not read them, and closing it would reset the connection.
    server.send_tls13_tickets = 0;
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();

    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(4096).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let connecting = socket.connect(listener.local_addr().unwrap());
    let (stream, accepted) = tokio::join!(connecting, listener.accept());
    let name = "localhost".try_into().unwrap();
    let (client, server) = tokio::join!(
        TlsConnector::from(Arc::new(client)).connect(name, stream.unwrap()),
        TlsAcceptor::from(Arc::new(server)).accept(accepted.unwrap().0),
    );
    let (stream, session) = server.unwrap().into_inner();
    let (read, write) = split(stream, Some(session));
    (client.unwrap(), read, write)
}

#[tokio::test]
async fn a_write_ends_once_the_socket_has_taken_every_encrypted_byte() {
    let (mut client, _read, mut write) = connect().await;
    let writing = tokio::spawn(async move {
        let written = write_all(&mut write, &[7; BYTES]).await;
        (written, write)
    });
    sleep(Duration::from_millis(200)).await;
    assert!(!writing.is_finished(), "the client has read nothing");
    let mut bytes = vec![0; BYTES];
    let reading = client.read_exact(&mut bytes);
    timeout(PATIENCE, reading).await.unwrap().unwrap();
    assert_eq!(bytes, [7; BYTES]);
    let (written, mut write) = writing.await.unwrap();
    written.unwrap();
    close(&mut write).await.unwrap();
    // An end that is not announced is an error.
    assert_eq!(client.read(&mut bytes).await.unwrap(), 0);
}

#[tokio::test]
async fn a_read_without_bytes_would_block_and_an_end_is_an_end() {
    let (mut client, mut read, _write) = connect().await;
    let mut lines = Lines::new(1024);
    let nothing = read.try_read(&mut lines).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    client.write_all(b"one\n").await.unwrap();
    assert_eq!(read.read(&mut lines).await.unwrap(), 4);
    assert_eq!(lines.next().unwrap().unwrap(), b"one");
    assert!(lines.next().is_none());
    drop(client);
    assert_eq!(read.read(&mut lines).await.unwrap(), 0);
}
