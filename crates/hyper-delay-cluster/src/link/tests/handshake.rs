//! Which nodes are accepted.

use tokio::{io::AsyncWriteExt as _, net::TcpListener};

use super::fixture::{ByHand, node, side};
use crate::link::{
    error::{LinkError, LinkListenError},
    handshake::{self, HandshakeSide},
    listener::LinkListener,
};

/// A change of a side that would be taken, and a part of the error.
type Case = (fn(&mut HandshakeSide), &'static str);

#[tokio::test]
async fn a_node_that_does_not_belong_here_is_refused_with_the_cure() {
    let mut leading = node("b").await;
    let cases: [Case; 5] = [
        (
            |side| side.cluster = 0xc2,
            "node b belongs to cluster 000000000000000000000000000000c1, and node a to \
             000000000000000000000000000000c2: correct `etcd`",
        ),
        (
            |side| side.node = "b".into(),
            "both sides are node b: give each node its own name",
        ),
        (
            |side| side.to = Some("c".into()),
            "the link is for node c, and the address is that of node b: correct `advertise` of node c",
        ),
        (
            |side| {
                side.format += 1;
                side.release = "9.0.0".to_owned();
            },
            "and node a of 9.0.0 speaks version 5: upgrade node b",
        ),
        (
            |side| {
                side.format -= 1;
                side.release = "0.1.0".to_owned();
            },
            "and node a of 0.1.0 speaks version 3: upgrade node a",
        ),
    ];
    for (change, cure) in cases {
        let mut side = side("a");
        change(&mut side);
        let mut link = ByHand::connect(leading.address).await;
        let error = link.call(&side).await.unwrap_err();
        assert!(matches!(error, LinkError::Refused(_)), "{error:?}");
        assert!(error.to_string().contains(cure), "{error}");
        // The other side has found out by itself.
        assert!(link.frames.next().await.unwrap().is_none());
    }
    assert!(leading.events.try_recv().is_err());
    let mut link = ByHand::connect(leading.address).await;
    let other = link.call(&side("a")).await.unwrap();
    assert_eq!((&*other.node, other.to.as_deref()), ("b", Some("a")));
}

#[tokio::test]
async fn a_port_of_something_else_is_no_node() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut link = ByHand::connect(listener.local_addr().unwrap()).await;
    let (mut other, _) = listener.accept().await.unwrap();
    other
        .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        .await
        .unwrap();
    let error = link.call(&side("a")).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`advertise` leads to another port"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handshake_does_not_take_forever() {
    let (silent, ours) = tokio::io::duplex(64);
    let mut frames = crate::link::frame::FrameReader::new(ours, handshake::LONGEST);
    let error = handshake::wait(&mut frames, &side("a")).await.unwrap_err();
    assert!(matches!(error, LinkError::Slow), "{error:?}");
    drop(silent);
}

#[tokio::test]
async fn without_tls_only_this_machine_is_listened_to() {
    let node = node("a").await;
    let bind = |address: &str, open| {
        LinkListener::bind(node.endpoint.clone(), address.parse().unwrap(), open)
    };
    let error = bind("0.0.0.0:0", false).await.unwrap_err();
    assert!(matches!(error, LinkListenError::Exposed(_)), "{error:?}");
    assert!(error.to_string().contains("\"open\": true"), "{error}");
    bind("0.0.0.0:0", true).await.unwrap();
    let taken = node.address.to_string();
    let error = bind(&taken, false).await.unwrap_err();
    assert!(error.to_string().starts_with(&taken), "{error}");
}
