//! The links to leading nodes, as the thread of the forwarder knows them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{outbox::LinkOutbox, outgoing_links::LinkEvent};
use crate::{
    ShardId,
    forward::{ForwarderEvent, wire::ToLeader},
    log::NodeName,
};

/// A message has at most this many copies, so that it fits into a frame.
const ADOPTED: usize = 4_096;

/// Where messages to leaders go. The thread of the forwarder owns it: a link takes messages from
/// the moment at which the forwarder learns of it, so no message of an earlier link gets into it.
#[derive(Debug, Default)]
pub(crate) struct LinkOutboxes(BTreeMap<NodeName, Arc<LinkOutbox>>);

impl LinkOutboxes {
    /// Handles an event of a link. Returns the event for the forwarder, which must get it at once.
    pub(crate) fn handle(&mut self, event: LinkEvent) -> ForwarderEvent {
        match event {
            LinkEvent::Linked(node, outbox) => {
                self.0.insert(node.clone(), outbox);
                ForwarderEvent::Linked(node)
            }
            LinkEvent::Unlinked(node) => {
                self.0.remove(&node);
                ForwarderEvent::Unlinked(node)
            }
            LinkEvent::Message(node, shard, message) => {
                ForwarderEvent::LeaderMessage(node, shard, message)
            }
        }
    }

    /// Sends the messages of one turn, those to each node in one write if possible. Messages to a
    /// node without a link are lost. Never blocks.
    pub(crate) fn send(&self, messages: Vec<(NodeName, ShardId, ToLeader)>) {
        let mut filled = BTreeSet::new();
        for (node, shard, message) in messages {
            let Some((node, outbox)) = self.0.get_key_value(&node) else {
                continue;
            };
            filled.insert(node);
            match message {
                ToLeader::Adopted(consumer, copies) if copies.len() > ADOPTED => {
                    for part in copies.chunks(ADOPTED) {
                        outbox.push(shard, &ToLeader::Adopted(consumer, part.to_vec()));
                    }
                }
                message => outbox.push(shard, &message),
            }
        }
        for node in filled {
            self.0[node].flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time;

    use super::*;
    use crate::link::frame::{Frame, FrameReader, decode};
    use hyper_delay_engine::scheduler::UnansweredDelivery;

    #[tokio::test]
    async fn a_message_with_many_copies_is_sent_in_parts() {
        let outbox = Arc::new(LinkOutbox::new(usize::MAX));
        let mut outboxes = LinkOutboxes::default();
        outboxes.handle(LinkEvent::Linked("b".into(), outbox.clone()));
        let longest = "x".repeat(128);
        let copy = UnansweredDelivery {
            route: longest.as_str().into(),
            id: longest.as_str().into(),
            seq: u64::MAX,
            attempt: u32::MAX,
            left: Duration::MAX,
        };
        let copies = vec![copy.clone(); usize::from(u16::MAX)];
        let message = ToLeader::Adopted(7, copies);
        outboxes.send(vec![("b".into(), ShardId(3), message)]);
        let mut bytes = Vec::new();
        let sent = time::timeout(Duration::from_secs(60), outbox.take(&mut bytes));
        sent.await.expect("nothing was sent");
        let mut frames = FrameReader::new(&bytes[..], crate::link::frame::LONGEST);
        let mut received = 0;
        while let Some(content) = frames.next().await.unwrap() {
            match decode(&content).unwrap() {
                Frame::Message(ShardId(3), ToLeader::Adopted(7, part)) => {
                    assert!(part.iter().all(|it| *it == copy));
                    received += part.len();
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(received, usize::from(u16::MAX));
    }

    #[tokio::test]
    async fn messages_of_an_earlier_link_do_not_get_into_the_next_one() {
        let [first, second] = [0; 2].map(|_| Arc::new(LinkOutbox::new(1_000)));
        let mut outboxes = LinkOutboxes::default();
        let node = NodeName::from("b");
        let send = |outboxes: &LinkOutboxes, consumer| {
            outboxes.send(vec![(node.clone(), ShardId(0), ToLeader::Opened(consumer))]);
        };
        send(&outboxes, 1);
        outboxes.handle(LinkEvent::Linked(node.clone(), first.clone()));
        send(&outboxes, 2);
        outboxes.handle(LinkEvent::Unlinked(node.clone()));
        send(&outboxes, 3);
        outboxes.handle(LinkEvent::Linked(node.clone(), second.clone()));
        send(&outboxes, 4);
        for (outbox, expected) in [(first, 2), (second, 4)] {
            let mut bytes = Vec::new();
            outbox.take(&mut bytes).await;
            let frame: Frame<ToLeader> = decode(&bytes[4..]).unwrap();
            let is_it = matches!(frame, Frame::Message(_, ToLeader::Opened(it)) if it == expected);
            assert!(is_it, "{frame:?}");
        }
    }
}
