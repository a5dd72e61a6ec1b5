//! Which consumer gets a task.

use race_wheel::Tick;

use super::ConsumerTable;
use crate::scheduler::{ConsumerId, declined_rounds::AvoidedConsumers};

/// The reason for which no consumer receives a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scheduler) enum NoConsumer {
    /// None has room.
    NoCredit,
    /// Those that have room hold a copy of the same id.
    IdInFlight,
    /// Those that have room and no copy of the id rest, the first of them until this moment.
    Resting(Tick),
}

impl ConsumerTable {
    /// Chooses the consumer of a task with that id among `candidates`. Returns it with its place
    /// among them.
    ///
    /// The first one with the fewest deliveries in flight of those that have room, no copy of the id
    /// and do not rest; the one that is `avoided` and those that left a copy unanswered come last, in
    /// this order.
    pub(in crate::scheduler) fn choose(
        &self,
        candidates: impl Iterator<Item = ConsumerId>,
        id: &str,
        avoided: AvoidedConsumers<'_>,
        now: Tick,
    ) -> Result<(usize, ConsumerId), NoConsumer> {
        let id = self.held.hash_of(id);
        let mut best = None;
        let mut why = NoConsumer::NoCredit;
        for (place, candidate) in candidates.enumerate() {
            let Some(consumer) = self.by_id.get(&candidate) else {
                continue;
            };
            if !consumer.has_room() {
                continue;
            }
            if self.held.get(id, candidate).is_some() {
                if why == NoConsumer::NoCredit {
                    why = NoConsumer::IdInFlight;
                }
                continue;
            }
            if let Some(until) = avoided.rests_until(candidate, now) {
                why = match why {
                    NoConsumer::Resting(first) => NoConsumer::Resting(first.min(until)),
                    _ => NoConsumer::Resting(until),
                };
                continue;
            }
            let is_avoided = avoided.last == Some(candidate);
            let rank = (consumer.is_suspect(now), is_avoided, consumer.load());
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, (place, candidate)));
            }
            if rank == (false, false, 0) {
                break;
            }
        }
        best.map(|(_, chosen)| chosen).ok_or(why)
    }
}
