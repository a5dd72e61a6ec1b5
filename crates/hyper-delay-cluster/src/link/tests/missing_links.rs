//! Which links a node cannot make.

use std::{net::SocketAddr, time::Duration};

use testkit::loopback;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::fixture::{Options, TestNode, next, node, node_with, side, soon};
use crate::{
    link::{frame::FrameReader, handshake, outgoing_links::LinkEvent},
    log::{Member, MissingLink},
};

fn member(node: &str, address: SocketAddr) -> Member {
    Member {
        node: node.into(),
        address: address.to_string().into(),
    }
}

/// Waits until the links that a node cannot make are so.
async fn until(node: &TestNode, is_so: impl Fn(&[MissingLink]) -> bool) {
    soon(async {
        while !is_so(&node.endpoint.missing_links().all()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_link_is_missing_until_it_is_there_or_not_wanted() {
    let mut serving = node("a").await;
    let leading = node("b").await;
    let (nowhere, gone) = (loopback(), loopback());
    serving
        .links
        .set_members(&[member("b", nowhere), member("c", gone)]);
    until(&serving, |missing| {
        missing.len() == 2 && missing.iter().all(|link| link.why.contains("reached"))
    })
    .await;
    let missing = serving.endpoint.missing_links().all();
    for (link, name, address) in [(&missing[0], "b", nowhere), (&missing[1], "c", gone)] {
        assert_eq!(&*link.to, name);
        let text = format!("{address} cannot be reached: ");
        assert!(link.why.starts_with(&text), "{link:?}");
        assert!(!link.versions_differ);
    }
    serving
        .links
        .set_members(&[member("b", leading.address), member("c", gone)]);
    until(&serving, |missing| matches!(missing, [c] if &*c.to == "c")).await;
    serving.links.set_members(&[member("b", leading.address)]);
    until(&serving, <[_]>::is_empty).await;
    drop(leading);
    until(&serving, |missing| matches!(missing, [b] if &*b.to == "b")).await;
}

#[tokio::test]
async fn a_node_of_another_version_is_told_from_one_out_of_reach() {
    let mut serving = node("a").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let newer = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (reader, mut writer) = tokio::io::split(stream);
            let mut frames = FrameReader::new(reader, handshake::LONGEST);
            let mut ours = side("b");
            ours.format += 1;
            // It may have hung up.
            let _ = handshake::wait(&mut frames, &ours).await;
            let _ = handshake::answer(&mut writer, &ours, None).await;
        }
    });
    serving.links.set_members(&[member("b", address)]);
    until(
        &serving,
        |missing| matches!(missing, [b] if b.versions_differ && b.why.contains("upgrade node a")),
    )
    .await;
    newer.abort();
}

/// Forwards connections while `passes` is true. After that it keeps them open and forwards nothing.
async fn proxy(to: SocketAddr, passes: watch::Receiver<bool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut server = TcpStream::connect(to).await.unwrap();
            let mut passes = passes.clone();
            tokio::spawn(async move {
                tokio::select! {
                    _ = copy_bidirectional(&mut client, &mut server) => return,
                    _ = passes.wait_for(|passes| !*passes) => {}
                }
                std::future::pending::<()>().await;
                drop((client, server));
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_over_which_nothing_comes_ends_and_is_missing() {
    let silence = Duration::from_millis(400);
    let options = Options {
        silence,
        ..Options::default()
    };
    let mut serving = node_with("a", options).await;
    let leading = node("b").await;
    let (sender, passes) = watch::channel(true);
    let address = proxy(leading.address, passes).await;
    serving.links.set_members(&[member("b", address)]);
    let event = next(&mut serving.link_events).await;
    assert!(matches!(event, LinkEvent::Linked(..)), "{event:?}");
    // A link without a message stays.
    tokio::time::sleep(2 * silence).await;
    assert!(serving.link_events.is_empty() && serving.endpoint.missing_links().all().is_empty());
    sender.send_replace(false);
    let event = next(&mut serving.link_events).await;
    assert!(matches!(event, LinkEvent::Unlinked(_)), "{event:?}");
    until(
        &serving,
        |missing| matches!(missing, [b] if b.why.contains("nothing has come over it")),
    )
    .await;
}
