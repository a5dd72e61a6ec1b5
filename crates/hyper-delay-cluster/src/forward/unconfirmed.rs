//! Outcomes of deliveries that a leader may not have received.
//!
//! An ack without a reply, a nack, and the message that a delivery was not sent have no answer. A
//! leader that hands its shard over takes none of them after its last entry, and a link can break
//! with them on their way. An ack whose reply is lost counts as one without from then on. So a
//! session keeps them until the leader has answered a later ping, and the next session begins with
//! those that are left. They name a revision and a round: repeating them changes nothing.

use std::{collections::VecDeque, sync::Arc};

use race_wheel::Tick;

use super::{deliveries::ServedDelivery, wire::ToLeader};
use hyper_delay_engine::{ledger::TaskRevision, scheduler::ConsumerId};

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct UnconfirmedOutcomes {
    /// With the time at which they were sent.
    sent: VecDeque<(Tick, ConsumerId, DeliveryOutcome)>,
}

/// The outcome of a delivery.
#[derive(Debug)]
pub(super) enum DeliveryOutcome {
    /// It is acknowledged, without a reply.
    Acked(TaskRevision, ServedDelivery),
    /// It was given back or not sent, as the message says.
    NotAcked(Arc<str>, ServedDelivery, ToLeader),
}

impl UnconfirmedOutcomes {
    /// The leader is sent something now.
    pub(super) fn push(&mut self, now: Tick, consumer: ConsumerId, outcome: DeliveryOutcome) {
        self.sent.push_back((now, consumer, outcome));
    }

    /// The leader has taken everything that was sent before that moment.
    pub(super) fn confirm_before(&mut self, before: Tick) {
        let sent = self.sent.iter();
        let taken = sent.take_while(|(at, ..)| *at < before).count();
        self.sent.drain(..taken);
    }

    /// The session has ended: removes and returns what is left, in order.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (ConsumerId, DeliveryOutcome)> + use<> {
        let sent = std::mem::take(&mut self.sent).into_iter();
        sent.map(|(_, consumer, outcome)| (consumer, outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::samples::delivered;

    fn acked(seq: u64) -> DeliveryOutcome {
        let delivered = delivered(seq);
        DeliveryOutcome::Acked(delivered.revision("x".into()), delivered)
    }

    #[test]
    fn what_was_sent_before_a_ping_that_is_answered_is_not_left() {
        let mut outcomes = UnconfirmedOutcomes::default();
        for (at, seq) in [(10, 1), (20, 2), (20, 3), (30, 4)] {
            outcomes.push(Tick::new(at), 5, acked(seq));
        }
        outcomes.confirm_before(Tick::new(20));
        let left = outcomes.take().map(|(consumer, outcome)| match outcome {
            DeliveryOutcome::Acked(revision, _) => (consumer, revision.seq),
            DeliveryOutcome::NotAcked(..) => panic!("it was acked"),
        });
        assert_eq!(left.collect::<Vec<_>>(), [(5, 2), (5, 3), (5, 4)]);
        assert_eq!(outcomes.take().count(), 0);
    }
}
