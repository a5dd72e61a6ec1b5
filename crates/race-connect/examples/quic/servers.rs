//! Servers of TLS and QUIC that accept connections and answer nothing.

use std::sync::Arc;

use quinn::crypto::rustls::QuicServerConfig;
use race_connect::rustls::{
    ClientConfig, RootCertStore, ServerConfig, pki_types::PrivatePkcs8KeyDer,
};
use tokio::{
    io::{copy, sink},
    net::{TcpListener, UdpSocket},
};
use tokio_rustls::TlsAcceptor;

pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// Makes a certificate for these names. Returns the configurations of a server that has it and of
/// a client that trusts it.
pub(crate) fn certified(names: &[&str]) -> Result<(ServerConfig, ClientConfig), Error> {
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    let certified = rcgen::generate_simple_self_signed(names)?;
    let certificate = certified.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let client = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((server, client))
}

/// Serves TLS with the protocol `h2`.
pub(crate) fn serve_tls(listener: TcpListener, mut server: ServerConfig) {
    server.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(server));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await?;
                copy(&mut stream, &mut sink()).await // until the client closes it
            });
        }
    });
}

/// Serves QUIC with the protocol `h3`.
pub(crate) fn serve_quic(socket: UdpSocket, mut server: ServerConfig) -> Result<(), Error> {
    server.alpn_protocols = vec![b"h3".to_vec()];
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server)?));
    let runtime = Arc::new(quinn::TokioRuntime);
    let socket = socket.into_std()?;
    let endpoint = quinn::Endpoint::new(Default::default(), Some(config), socket, runtime)?;
    tokio::spawn(async move {
        let mut connections = Vec::new(); // a connection that is dropped is closed
        while let Some(incoming) = endpoint.accept().await {
            connections.extend(incoming.await);
        }
    });
    Ok(())
}
