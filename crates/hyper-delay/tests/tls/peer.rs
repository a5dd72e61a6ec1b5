//! A client of the server that speaks TLS, one line at a time.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::Arc,
    time::Instant,
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    version::TLS13,
};
use serde_json::Value;
use testkit::PATIENCE;

use crate::{
    authority::{Authority, Identity},
    server::Server,
};

/// Whom a client trusts, and who it is.
pub(crate) struct Options<'a> {
    pub(crate) authority: &'a Authority,
    pub(crate) identity: Option<&'a Identity>,
    pub(crate) version: &'static SupportedProtocolVersion,
    pub(crate) protocols: &'a [&'a str],
}

impl<'a> Options<'a> {
    pub(crate) fn of(server: &'a Server) -> Self {
        Self {
            authority: &server.authority,
            identity: None,
            version: &TLS13,
            protocols: &[],
        }
    }

    pub(crate) fn showing(self, identity: &'a Identity) -> Self {
        Self {
            identity: Some(identity),
            ..self
        }
    }

    pub(crate) fn session(&self) -> ClientConnection {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[self.version])
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
                builder
                    .with_client_auth_cert(vec![identity.der.clone()], key)
                    .unwrap()
            }
        };
        let protocols = self.protocols.iter();
        config.alpn_protocols = protocols.map(|name| name.as_bytes().to_vec()).collect();
        ClientConnection::new(Arc::new(config), "127.0.0.1".try_into().unwrap()).unwrap()
    }

    /// Connects, and completes the handshake as far as the client's side of it goes.
    pub(crate) fn connect(&self, address: SocketAddr) -> io::Result<Peer> {
        let mut stream = tcp(address);
        let mut session = self.session();
        while session.is_handshaking() {
            session.complete_io(&mut stream)?;
        }
        Ok(Peer(BufReader::new(StreamOwned::new(session, stream))))
    }

    /// Connects, and sends the last message of the handshake and the announced end in one segment.
    pub(crate) fn connect_and_end(&self, address: SocketAddr) -> Peer {
        let mut stream = tcp(address);
        let mut session = self.session();
        while session.is_handshaking() {
            if session.wants_write() {
                session.write_tls(&mut stream).unwrap();
            }
            session.read_tls(&mut stream).unwrap();
            session.process_new_packets().unwrap();
        }
        let mut peer = Peer(BufReader::new(StreamOwned::new(session, stream)));
        peer.end_at_once("");
        peer
    }

    /// The error of a connection, in the handshake or in the first reply.
    pub(crate) fn refused(&self, address: SocketAddr) -> String {
        let first = || {
            let mut peer = self.connect(address)?;
            peer.try_send(r#"{"kind":"ping"}"#)?;
            peer.try_line()
        };
        match first() {
            Ok(line) => panic!("it was served: {line:?}"),
            Err(error) => error.to_string(),
        }
    }
}

/// A plain connection.
pub(crate) fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

#[derive(Debug)]
pub(crate) struct Peer(BufReader<StreamOwned<ClientConnection, TcpStream>>);

impl Peer {
    pub(crate) fn connect(server: &Server) -> Self {
        Options::of(server).connect(server.address).unwrap()
    }

    /// Connects to a server whose only slot becomes free about now.
    pub(crate) fn connect_when_free(server: &Server) -> Self {
        let start = Instant::now();
        loop {
            let mut peer = Self::connect(server);
            if peer.ask(r#"{"kind":"ping"}"#)["kind"] == "pong" {
                return peer;
            }
            assert!(start.elapsed() < PATIENCE, "the slot stays taken");
        }
    }

    /// The certificate that the server has shown.
    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        let shown = self.0.get_ref().conn.peer_certificates().unwrap();
        shown[0].clone().into_owned()
    }

    fn try_send(&mut self, line: &str) -> io::Result<()> {
        let stream = self.0.get_mut();
        stream.write_all(format!("{line}\n").as_bytes())?;
        stream.flush()
    }

    fn try_line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line)?;
        Ok((read > 0).then(|| line.trim_end_matches('\n').to_owned()))
    }

    /// Sends a line, in one record.
    pub(crate) fn send(&mut self, line: &str) {
        self.try_send(line).unwrap();
    }

    /// Sends each byte in a record of its own.
    pub(crate) fn send_bytewise(&mut self, line: &str) {
        for byte in format!("{line}\n").bytes() {
            let stream = self.0.get_mut();
            stream.write_all(&[byte]).unwrap();
            stream.flush().unwrap();
        }
    }

    /// Sends new keys, and asks the server for the same.
    pub(crate) fn renew_keys(&mut self) {
        let stream = self.0.get_mut();
        stream.conn.refresh_traffic_keys().unwrap();
        stream.flush().unwrap();
    }

    /// The next line; `None` after the server has announced the end.
    pub(crate) fn line(&mut self) -> Option<String> {
        self.try_line().unwrap()
    }

    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.send(line);
        serde_json::from_str(&self.line().unwrap()).unwrap()
    }

    pub(crate) fn pings(&mut self) {
        assert_eq!(self.ask(r#"{"kind":"ping"}"#)["kind"], "pong");
    }

    /// Sends these bytes and announces the end, in one segment. The socket stays open.
    pub(crate) fn end_at_once(&mut self, bytes: &str) {
        let stream = self.0.get_mut();
        stream.conn.writer().write_all(bytes.as_bytes()).unwrap();
        stream.conn.send_close_notify();
        let mut segment = Vec::new();
        while stream.conn.wants_write() {
            stream.conn.write_tls(&mut segment).unwrap();
        }
        stream.sock.write_all(&segment).unwrap();
    }

    /// Announces the end of the client's side.
    pub(crate) fn finish_writing(&mut self) {
        let stream = self.0.get_mut();
        stream.conn.send_close_notify();
        stream.flush().unwrap();
        stream.sock.shutdown(Shutdown::Write).unwrap();
    }
}
