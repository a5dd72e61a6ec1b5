use std::{fs, path::PathBuf};

use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, ServerConnection, SupportedProtocolVersion,
    version::{TLS12, TLS13},
};

use super::*;

fn files(directory: &Path) -> TlsFiles {
    for name in ["cert", "key", "client_ca"] {
        fs::write(directory.join(name), name).unwrap();
    }
    let file = |name: &str| -> PathBuf { directory.join(name) };
    TlsFiles {
        cert: file("cert"),
        key: file("key"),
        client_ca: Some(file("client_ca")),
    }
}

#[test]
fn a_stamp_changes_with_each_content_and_only_then() {
    let directory = tempfile::tempdir().unwrap();
    let files = files(directory.path());
    let stamp = || Material::read(&files).stamp();
    let first = stamp();
    for name in ["cert", "key", "client_ca"] {
        let file = directory.path().join(name);
        fs::write(&file, "other").unwrap();
        assert_ne!(stamp(), first, "{name}");
        fs::remove_file(&file).unwrap();
        let missing = stamp();
        assert_ne!(missing, first, "{name}");
        assert_eq!(missing, stamp());
        fs::write(&file, name).unwrap();
        assert_eq!(stamp(), first, "{name}");
    }
}

#[test]
fn a_file_of_more_than_a_mebibyte_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let files = files(directory.path());
    let file = File::create(&files.key).unwrap();
    file.set_len(MOST).unwrap();
    assert!(read(&files.key).is_ok());
    file.set_len(MOST + 1).unwrap();
    let error = read(&files.key).unwrap_err();
    assert_eq!(error.to_string(), "it is larger than 1 MiB");
}

/// Sends what each side has for the other one until neither has more.
fn pump(client: &mut ClientConnection, server: &mut ServerConnection) {
    while client.wants_write() || server.wants_write() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        server.read_tls(&mut &bytes[..]).unwrap();
        server.process_new_packets().unwrap();
        bytes.clear();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        client.read_tls(&mut &bytes[..]).unwrap();
        client.process_new_packets().unwrap();
    }
}

/// The handshakes of three connections of one client, which remembers sessions and tickets.
fn handshakes(
    server: &Arc<ServerConfig>,
    authority: &CertificateDer<'static>,
    version: &'static SupportedProtocolVersion,
) -> [HandshakeKind; 3] {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone()).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = Arc::new(client);
    [0; 3].map(|_| {
        let name = "localhost".try_into().unwrap();
        let mut client = ClientConnection::new(client.clone(), name).unwrap();
        let mut server = ServerConnection::new(server.clone()).unwrap();
        pump(&mut client, &mut server);
        assert!(!client.is_handshaking() && !server.is_handshaking());
        client.handshake_kind().unwrap()
    })
}

#[test]
fn sessions_are_not_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let mut files = files(directory.path());
    files.client_ca = None;
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(&files.cert, made.cert.pem()).unwrap();
    fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    let config = Material::read(&files).into_server_tls().unwrap().config;
    let authority = made.cert.der();
    for version in [&TLS12, &TLS13] {
        let kinds = handshakes(&config, authority, version);
        assert_eq!(kinds, [HandshakeKind::Full; 3], "{version:?}");
    }

    // With the defaults of the library they are.
    let mut resuming = ServerConfig::clone(&config);
    resuming.session_storage = rustls::server::ServerSessionMemoryCache::new(8);
    resuming.send_tls13_tickets = 2;
    let resuming = Arc::new(resuming);
    for version in [&TLS12, &TLS13] {
        let kinds = handshakes(&resuming, authority, version);
        assert_eq!(kinds[1..], [HandshakeKind::Resumed; 2], "{version:?}");
    }
}
