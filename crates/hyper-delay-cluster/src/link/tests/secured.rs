//! TLS between nodes.

use std::{fs, path::Path, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tokio::net::TcpStream;

use super::fixture::{ByHand, Options, TestNode, next, node_with, side, soon};
use crate::{
    ShardId,
    link::{
        error::LinkError,
        frame::FrameReader,
        handshake,
        outgoing_links::LinkEvent,
        tls::{LinkTls, LinkTlsFiles},
    },
};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Writes the files of a node whose certificate has this name and is signed by `signer`.
fn files(directory: &Path, name: &str, signer: &Authority, ca: &Authority) -> LinkTlsFiles {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([name.to_owned()]).unwrap();
    let cert = params.signed_by(&key, signer).unwrap();
    let write = |file: &str, text: String| {
        let file = directory.join(file);
        fs::write(&file, text).unwrap();
        file
    };
    LinkTlsFiles {
        cert: write("cert", cert.pem()),
        key: write("key", key.serialize_pem()),
        ca: write("ca", ca.pem()),
    }
}

fn tls(name: &str, signer: &Authority, ca: &Authority) -> LinkTls {
    let directory = TempDir::new().unwrap();
    LinkTls::load(&files(directory.path(), name, signer, ca)).unwrap()
}

async fn node(name: &'static str, tls: LinkTls) -> TestNode {
    let options = Options {
        tls: Some(tls),
        ..Options::default()
    };
    node_with(name, options).await
}

/// Makes a link with these certificates. Returns how that ends.
async fn link(to: &TestNode, tls: &LinkTls) -> Result<(), LinkError> {
    let stream = TcpStream::connect(to.address).await.unwrap();
    let address = Arc::from(to.address.to_string());
    let stream = tls.connect(&address, stream).await?;
    let (reader, mut writer) = tokio::io::split(stream);
    let mut frames = FrameReader::new(reader, handshake::LONGEST);
    let ours = side("x");
    let called = handshake::call(&mut frames, &mut writer, &ours);
    called.await.map(drop)
}

#[tokio::test]
async fn nodes_of_one_authority_are_linked_and_others_are_not() {
    let (ours, theirs) = (authority(), authority());
    let good = || tls("127.0.0.1", &ours, &ours);
    let mut serving = node("a", good()).await;
    let mut leading = node("b", good()).await;
    serving
        .links
        .set_leader(ShardId(0), Some(&leading.leader()));
    let event = next(&mut serving.link_events).await;
    assert!(matches!(event, LinkEvent::Linked(..)), "{event:?}");

    // The other side checks the certificate of the one that connects, which may learn of it late.
    let stranger = tls("127.0.0.1", &theirs, &ours);
    let error = link(&leading, &stranger).await.unwrap_err();
    let is_refused = matches!(error, LinkError::Tls(_) | LinkError::Broken(_));
    assert!(is_refused, "{error:?}");
    // The side that calls checks the one that answers: its authority, and its name.
    let careful = tls("127.0.0.1", &ours, &theirs);
    let misnamed = node("c", tls("10.0.0.1", &ours, &ours)).await;
    for (to, tls) in [(&leading, careful), (&misnamed, good())] {
        let error = link(to, &tls).await.unwrap_err();
        assert!(matches!(error, LinkError::Tls(_)), "{error:?}");
        assert!(error.to_string().contains("signed by `ca`"), "{error}");
    }
    assert!(leading.events.try_recv().is_err());
    link(&leading, &good()).await.unwrap();
}

#[tokio::test]
async fn a_plain_node_is_not_linked_to_one_with_tls() {
    let ours = authority();
    let mut leading = node("b", tls("127.0.0.1", &ours, &ours)).await;
    let mut plain = ByHand::connect(leading.address).await;
    let error = soon(plain.call(&side("a"))).await.unwrap_err();
    let is_refused = matches!(
        error,
        LinkError::NotANode | LinkError::Broken(_) | LinkError::Closed
    );
    assert!(is_refused, "{error:?}");
    assert!(leading.events.try_recv().is_err());
}

#[test]
fn a_certificate_that_other_nodes_refuse_is_known_before() {
    let (ours, theirs) = (authority(), authority());
    let directory = TempDir::new().unwrap();
    let trouble = |files: &LinkTlsFiles, advertise: &str| {
        let tls = LinkTls::load(files).unwrap();
        tls.trouble(advertise).unwrap_or_default()
    };
    let good = files(directory.path(), "a.example", &ours, &ours);
    assert_eq!(trouble(&good, "a.example:7002"), "");
    let error = trouble(&good, "b.example:7002");
    assert!(
        error.starts_with("other nodes refuse the certificate"),
        "{error}"
    );
    assert!(error.contains("b.example"), "{error}");
    // A byte order mark is no part of a file.
    for file in [&good.cert, &good.key, &good.ca] {
        let text = fs::read_to_string(file).unwrap();
        fs::write(file, format!("\u{feff}{text}")).unwrap();
    }
    assert_eq!(trouble(&good, "a.example:7002"), "");
    let foreign = files(directory.path(), "a.example", &theirs, &ours);
    assert_ne!(trouble(&foreign, "a.example:7002"), "");

    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["a.example".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    params.not_before = rcgen::date_time_ymd(2000, 1, 1);
    let expired = params.signed_by(&key, &ours).unwrap();
    fs::write(&good.cert, expired.pem()).unwrap();
    fs::write(&good.key, key.serialize_pem()).unwrap();
    let error = trouble(&good, "a.example:7002");
    assert!(error.contains("expired"), "{error}");
}

#[test]
fn an_authority_is_no_node() {
    let (ours, directory) = (authority(), TempDir::new().unwrap());
    let files = files(directory.path(), "a", &ours, &ours);
    fs::write(&files.cert, ours.pem()).unwrap();
    fs::write(&files.key, ours.key().serialize_pem()).unwrap();
    let error = LinkTls::load(&files).unwrap_err().to_string();
    assert!(error.starts_with("cluster.tls.cert is "), "{error}");
    assert!(error.contains("CA:TRUE"), "{error}");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let (ours, directory) = (authority(), TempDir::new().unwrap());
    let files = files(directory.path(), "a", &ours, &ours);
    for (file, field) in [
        (&files.ca, "cluster.tls.ca"),
        (&files.key, "cluster.tls.key"),
        (&files.cert, "cluster.tls.cert"),
    ] {
        fs::write(file, "garbage").unwrap();
        let error = LinkTls::load(&files).unwrap_err().to_string();
        assert!(error.starts_with(field), "{error}");
    }
}
