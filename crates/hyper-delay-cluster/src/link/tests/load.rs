//! Messages arrive once and in order.

use super::fixture::{SHARDS, next, node};
use crate::{
    ShardId,
    forward::{
        ForwarderEvent as Forwarded,
        wire::{ToLeader, ToServing},
    },
    link::{outboxes::LinkOutboxes, outgoing_links::LinkEvent},
    shard::{PeerId, ShardEvent},
};

const TURNS: u64 = 2_000;

/// Turns of random lengths, with the numbers of their messages.
fn turns(seed: u64) -> Vec<Vec<u64>> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut last = 0;
    let mut turn = |_| {
        let length = random.u64(1..30);
        last += length;
        (last - length..last).collect()
    };
    (0..TURNS).map(&mut turn).collect()
}

fn shard_of(number: u64) -> ShardId {
    ShardId(u16::try_from(number % u64::from(SHARDS)).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_exchange_messages_in_order_under_load() {
    let mut serving = node("a").await;
    let mut leading = [node("b").await, node("c").await];
    for (shard, node) in leading.iter().enumerate() {
        let shard = ShardId(u16::try_from(shard).unwrap());
        serving.links.set_leader(shard, Some(&node.leader()));
    }
    serving
        .links
        .set_leader(ShardId(2), Some(&serving.leader()));
    let mut outboxes = LinkOutboxes::default();
    for _ in 0..leading.len() {
        let event = next(&mut serving.link_events).await;
        let linked = outboxes.handle(event);
        assert!(matches!(linked, Forwarded::Linked(_)), "{linked:?}");
    }
    let sending = tokio::spawn(async move {
        for turn in turns(1) {
            let messages = turn.into_iter().flat_map(|number| {
                ["b", "c"].map(|node| (node.into(), shard_of(number), ToLeader::Opened(number)))
            });
            outboxes.send(messages.collect());
            tokio::task::yield_now().await;
        }
        outboxes
    });
    let answering = leading.each_ref().map(|node| {
        let peers = node.peers.clone();
        tokio::spawn(async move {
            for turn in turns(2) {
                for number in turn {
                    let message = ToServing::Ended { epoch: number };
                    peers.send(shard_of(number), &[(PeerId(1), message)]);
                }
                tokio::task::yield_now().await;
            }
        })
    });
    for node in &mut leading {
        for number in turns(1).into_iter().flatten() {
            let (shard, event) = next(&mut node.events).await;
            let is_next = matches!(
                event,
                ShardEvent::PeerMessage(PeerId(1), ToLeader::Opened(it)) if it == number
            );
            assert!(
                is_next && shard == shard_of(number),
                "{number}: {shard:?} {event:?}"
            );
        }
    }
    let total = turns(2).concat().len();
    let mut expected = [0, 0];
    for _ in 0..2 * total {
        let event = next(&mut serving.link_events).await;
        let LinkEvent::Message(node, shard, ToServing::Ended { epoch }) = event else {
            panic!("{event:?}");
        };
        let expected = &mut expected[usize::from(&*node == "c")];
        assert_eq!((epoch, shard), (*expected, shard_of(epoch)));
        *expected += 1;
    }
    let outboxes = sending.await.unwrap();
    for answering in answering {
        answering.await.unwrap();
    }
    drop(outboxes);
    drop(serving);
    for node in &mut leading {
        for shard in (0..SHARDS).map(ShardId) {
            let event = next(&mut node.events).await;
            assert!(matches!(event, (it, ShardEvent::PeerDisconnected(PeerId(1))) if it == shard));
        }
    }
}

#[tokio::test]
async fn two_nodes_have_a_link_in_each_direction() {
    let mut nodes = [node("a").await, node("b").await];
    let leaders = nodes.each_ref().map(|node| node.leader());
    for (node, leader) in nodes.iter_mut().zip(leaders.iter().rev()) {
        node.links.set_leader(ShardId(0), Some(leader));
    }
    for (node, other) in nodes.iter_mut().zip(["b", "a"]) {
        let event = next(&mut node.link_events).await;
        assert!(
            matches!(&event, LinkEvent::Linked(it, _) if **it == *other),
            "{event:?}"
        );
    }
}
