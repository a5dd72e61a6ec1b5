//! Links that break.

use std::{net::SocketAddr, time::Duration};

use testkit::loopback;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy},
    net::{TcpListener, TcpStream},
};

use super::fixture::{ByHand, Options, SHARDS, TestNode, next, node, node_with, side, soon};
use crate::{
    ShardId,
    forward::{
        ForwarderEvent as Forwarded,
        wire::{ToLeader, ToServing},
    },
    link::{handshake::LinkIncarnation, outboxes::LinkOutboxes, outgoing_links::LinkEvent},
    log::{Member, NodeName},
    shard::{PeerId, ShardEvent},
};

/// Passes each connection on, and cuts it after this number of bytes to the server.
async fn proxy(
    to: SocketAddr,
    mut limits: impl Iterator<Item = u64> + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(to).await.unwrap();
            let limit = limits.next().expect("there are as many connections");
            let (client_reads, mut client_writes) = client.into_split();
            let (mut server_reads, mut server_writes) = server.into_split();
            let mut there = client_reads.take(limit);
            tokio::select! {
                _ = copy(&mut there, &mut server_writes) => {}
                _ = copy(&mut server_reads, &mut client_writes) => {}
            }
            // Both connections are closed here.
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_cut_anywhere_is_reported_on_both_sides_and_comes_back() {
    const CUTS: u64 = 25;
    let mut serving = node("a").await;
    let mut leading = node("b").await;
    let mut random = fastrand::Rng::with_seed(1);
    let limits = (0..CUTS)
        .map(move |_| random.u64(200..3_000))
        .chain([u64::MAX]);
    let address = proxy(leading.address, limits).await;
    let leader = leading.leader_at(address);
    serving.links.set_leader(ShardId(0), Some(&leader));
    let mut outboxes = LinkOutboxes::default();
    let message = |number| ("b".into(), ShardId(1), ToLeader::Opened(number));
    for round in 1..=CUTS {
        let peer = PeerId(round);
        let linked = outboxes.handle(next(&mut serving.link_events).await);
        assert!(matches!(linked, Forwarded::Linked(_)), "{linked:?}");
        // More than the proxy lets through.
        for turn in 0..20_u64 {
            outboxes.send((turn * 100..(turn + 1) * 100).map(message).collect());
        }
        let unlinked = outboxes.handle(next(&mut serving.link_events).await);
        assert!(matches!(unlinked, Forwarded::Unlinked(_)), "{unlinked:?}");
        let mut expected = 0;
        let mut gone = 0;
        while gone < SHARDS {
            match next(&mut leading.events).await {
                (ShardId(1), ShardEvent::PeerMessage(it, ToLeader::Opened(number))) => {
                    assert_eq!((it, number, gone), (peer, expected, 0));
                    expected += 1;
                }
                (shard, ShardEvent::PeerDisconnected(it)) => {
                    assert_eq!((it, shard), (peer, ShardId(gone)));
                    gone += 1;
                }
                other => panic!("{other:?}"),
            }
        }
    }
    let linked = outboxes.handle(next(&mut serving.link_events).await);
    assert!(matches!(linked, Forwarded::Linked(_)), "{linked:?}");
    outboxes.send(vec![message(7)]);
    let event = next(&mut leading.events).await;
    let is_it = matches!(event, (_, ShardEvent::PeerMessage(PeerId(id), ToLeader::Opened(7))) if id == CUTS + 1);
    assert!(is_it, "{event:?}");
}

#[tokio::test]
async fn there_is_a_link_to_each_other_member_though_it_leads_nothing() {
    let mut serving = node("a").await;
    let [b, c] = [node("b").await, node("c").await];
    let members = |nodes: &[&TestNode]| -> Vec<Member> {
        nodes.iter().map(|node| node.leader().member).collect()
    };
    serving.links.set_members(&members(&[&serving, &b]));
    assert_eq!(linked(&mut serving).await, "b".into());
    serving.links.set_leader(ShardId(0), Some(&c.leader()));
    assert_eq!(linked(&mut serving).await, "c".into());
    // Whether it is a member is not known yet, and it leads.
    serving.links.set_members(&members(&[&serving, &b]));
    // There is one link to each, none to itself, and none of them has ended.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(serving.link_events.is_empty());
    // It has come back elsewhere, before it leads anything.
    drop(b);
    assert!(
        matches!(next(&mut serving.link_events).await, LinkEvent::Unlinked(node) if node == "b".into())
    );
    let b = node("b").await;
    serving.links.set_members(&members(&[&serving, &b]));
    assert_eq!(linked(&mut serving).await, "b".into());
}

async fn linked(node: &mut TestNode) -> NodeName {
    match next(&mut node.link_events).await {
        LinkEvent::Linked(node, _) => node,
        event => panic!("{event:?}"),
    }
}

#[tokio::test]
async fn a_node_that_comes_back_elsewhere_is_found_there() {
    let mut serving = node("a").await;
    let nowhere = loopback();
    let leading = node("b").await;
    serving
        .links
        .set_leader(ShardId(0), Some(&leading.leader_at(nowhere)));
    serving.links.set_leader(ShardId(0), None);
    serving
        .links
        .set_leader(ShardId(0), Some(&leading.leader()));
    let event = next(&mut serving.link_events).await;
    assert!(matches!(event, LinkEvent::Linked(..)), "{event:?}");
}

#[tokio::test]
async fn a_link_to_a_leader_is_made_again_where_it_leads_whatever_the_members_say() {
    let mut serving = node("a").await;
    let leading = node("b").await;
    let address = proxy(leading.address, [2_000, u64::MAX].into_iter()).await;
    let leader = leading.leader_at(address);
    serving.links.set_leader(ShardId(0), Some(&leader));
    let mut outboxes = LinkOutboxes::default();
    let linked = outboxes.handle(next(&mut serving.link_events).await);
    assert!(matches!(linked, Forwarded::Linked(_)), "{linked:?}");
    // Nobody listens there.
    let nowhere = loopback();
    serving
        .links
        .set_members(&[leading.leader_at(nowhere).member]);
    // More than the proxy lets through.
    let message = |number| ("b".into(), ShardId(1), ToLeader::Opened(number));
    outboxes.send((0..2_000).map(message).collect());
    let unlinked = outboxes.handle(next(&mut serving.link_events).await);
    assert!(matches!(unlinked, Forwarded::Unlinked(_)), "{unlinked:?}");
    assert_eq!(self::linked(&mut serving).await, "b".into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_whose_other_side_does_not_read_is_cut() {
    let options = Options {
        most_waiting: 256 << 10,
        ..Options::default()
    };
    let mut leading = node_with("b", options).await;
    let mut slow = ByHand::connect(leading.address).await;
    slow.call(&side("a")).await.unwrap();
    let messages: Vec<_> = (0..1_000)
        .map(|epoch| (PeerId(1), ToServing::Ended { epoch }))
        .collect();
    let mut sent = 0_u64;
    let event = loop {
        if let Ok(event) = leading.events.try_recv() {
            break event;
        }
        leading.peers.send(ShardId(0), &messages);
        sent += 1;
        assert!(sent < 1_000_000, "nothing cuts it");
        tokio::task::yield_now().await;
    };
    assert!(
        matches!(event, (ShardId(0), ShardEvent::PeerDisconnected(PeerId(1)))),
        "{event:?}"
    );
    // Others continue.
    let mut other = ByHand::connect(leading.address).await;
    other.call(&side("c")).await.unwrap();
    drop(slow);
}

#[tokio::test]
async fn garbage_ends_a_link_and_nothing_of_it_is_passed_on() {
    let mut leading = node("b").await;
    let mut random = fastrand::Rng::with_seed(2);
    for round in 0..50_u64 {
        let mut link = ByHand::connect(leading.address).await;
        let is_greeted = round % 2 == 0;
        if is_greeted {
            let mut side = side("a");
            side.incarnation.link = round;
            link.call(&side).await.unwrap();
        }
        // A length that is allowed, and a message of an unknown kind.
        let mut garbage = match random.bool() {
            true => vec![9, 0, 0, 0, 200, 1, 2, 3, 4, 5, 6, 7, 8],
            false => vec![0xff; 13],
        };
        garbage.extend(std::iter::repeat_with(|| random.u8(..)).take(100));
        // The other side may have closed it in the middle.
        let _ = link.writer.write_all(&garbage).await;
        let ended = soon(async {
            loop {
                // It asks for the time at first.
                match link.frames.next().await {
                    Ok(Some(_)) => {}
                    ended => break ended,
                }
            }
        });
        assert!(matches!(ended.await, Ok(None) | Err(_)));
        if is_greeted {
            for shard in (0..SHARDS).map(ShardId) {
                let event = next(&mut leading.events).await;
                assert!(
                    matches!(event, (it, ShardEvent::PeerDisconnected(_)) if it == shard),
                    "{event:?}"
                );
            }
        }
    }
    assert!(leading.events.try_recv().is_err());
}

#[tokio::test]
async fn a_newer_link_of_a_node_ends_the_older_one() {
    let mut leading = node("b").await;
    let mut side = side("a");
    let mut old = ByHand::connect(leading.address).await;
    old.call(&side).await.unwrap();
    side.incarnation.link += 1;
    let mut new = ByHand::connect(leading.address).await;
    new.call(&side).await.unwrap();
    soon(async { while let Ok(Some(_)) = old.frames.next().await {} }).await;
    for shard in (0..SHARDS).map(ShardId) {
        let event = next(&mut leading.events).await;
        assert!(matches!(event, (it, ShardEvent::PeerDisconnected(PeerId(1))) if it == shard));
    }
    side.incarnation = LinkIncarnation {
        process: 0,
        link: 100,
    };
    let mut stale = ByHand::connect(leading.address).await;
    let error = stale.call(&side).await.unwrap_err().to_string();
    assert!(error.contains("node a has a newer link already"), "{error}");
}
