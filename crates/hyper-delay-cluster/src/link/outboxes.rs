//! The links to leading nodes, as the thread of the forwarder knows them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{links::News, outbox::Outbox};
use crate::{
    ShardId,
    forward::{Event, wire::ToLeader},
    log::NodeName,
};

/// A message has at most this many copies, so that it fits into a frame.
const ADOPTED: usize = 4_096;

/// Where messages to leaders go. The thread of the forwarder owns it: a link takes messages from
/// the moment at which the forwarder hears of it, so no message of an earlier link gets into it.
#[derive(Debug, Default)]
pub(crate) struct Outboxes(BTreeMap<NodeName, Arc<Outbox>>);

impl Outboxes {
    /// Takes news of the links. Returns what the forwarder is to be told, at once.
    pub(crate) fn take(&mut self, news: News) -> Event {
        match news {
            News::Linked(node, outbox) => {
                self.0.insert(node.clone(), outbox);
                Event::Linked(node)
            }
            News::Unlinked(node) => {
                self.0.remove(&node);
                Event::Unlinked(node)
            }
            News::Told(node, shard, message) => Event::Told(node, shard, message),
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
    use crate::link::frame::{Frame, Frames, decode};
    use hyper_delay_engine::scheduler::Adopted;

    #[tokio::test]
    async fn a_message_with_many_copies_is_sent_in_parts() {
        let outbox = Arc::new(Outbox::new(usize::MAX));
        let mut outboxes = Outboxes::default();
        outboxes.take(News::Linked("b".into(), outbox.clone()));
        let longest = "x".repeat(128);
        let copy = Adopted {
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
        let mut frames = Frames::new(&bytes[..], crate::link::frame::LONGEST);
        let mut received = 0;
        while let Some(content) = frames.next().await.unwrap() {
            match decode(&content).unwrap() {
                Frame::Of(ShardId(3), ToLeader::Adopted(7, part)) => {
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
        let [first, second] = [0; 2].map(|_| Arc::new(Outbox::new(1_000)));
        let mut outboxes = Outboxes::default();
        let node = NodeName::from("b");
        let send = |outboxes: &Outboxes, consumer| {
            outboxes.send(vec![(node.clone(), ShardId(0), ToLeader::Opened(consumer))]);
        };
        send(&outboxes, 1);
        outboxes.take(News::Linked(node.clone(), first.clone()));
        send(&outboxes, 2);
        outboxes.take(News::Unlinked(node.clone()));
        send(&outboxes, 3);
        outboxes.take(News::Linked(node.clone(), second.clone()));
        send(&outboxes, 4);
        for (outbox, expected) in [(first, 2), (second, 4)] {
            let mut bytes = Vec::new();
            outbox.take(&mut bytes).await;
            let frame: Frame<ToLeader> = decode(&bytes[4..]).unwrap();
            let is_it = matches!(frame, Frame::Of(_, ToLeader::Opened(it)) if it == expected);
            assert!(is_it, "{frame:?}");
        }
    }
}
