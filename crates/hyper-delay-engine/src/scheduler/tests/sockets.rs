//! The sockets of the connections, and what their writers do.

use std::collections::{BTreeMap, BTreeSet};

use race_wheel::Tick;

use super::world::{Delivered, World};
use crate::front::{Delivery, FrontInput};
use crate::scheduler::{ConsumerId, CopyId, UnsentReason};
use hyper_delay_store::{ReadStore as _, Space, record};

/// The connections that take no bytes, with the copies that wait to be written to them.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    blocked: BTreeMap<ConsumerId, Vec<Queued>>,
}

/// A copy that waits to be written.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) delivery: Delivered,
    pub(super) until: Tick,
    /// From then on it is not written.
    pub(super) write_by: Tick,
}

impl Sockets {
    pub(super) fn block(&mut self, consumer: ConsumerId) {
        self.blocked.entry(consumer).or_default();
    }

    /// Returns what waits for a connection that is closed, or takes bytes again.
    pub(super) fn unblock(&mut self, consumer: ConsumerId) -> Vec<Queued> {
        self.blocked.remove(&consumer).unwrap_or_default()
    }

    /// Queues a copy if its connection takes no bytes; returns it otherwise.
    pub(super) fn send(&mut self, queued: Queued) -> Option<Queued> {
        let Some(queue) = self.blocked.get_mut(&queued.delivery.consumer) else {
            return Some(queued);
        };
        queue.push(queued);
        None
    }

    /// Removes and returns the copies that will not be written any more.
    pub(super) fn drop_late(&mut self, consumer: ConsumerId, now: Tick) -> Vec<Queued> {
        let queue = self.blocked.get_mut(&consumer);
        let late = queue.map(|queue| {
            queue
                .extract_if(.., |queued| queued.write_by <= now)
                .collect()
        });
        late.unwrap_or_default()
    }

    /// Whether the copy of a task waits to be written.
    pub(super) fn has(&self, consumer: ConsumerId, seq: u64, attempt: u32) -> bool {
        let mut waiting = self.waiting(consumer);
        waiting.any(|waiting| (waiting.seq, waiting.attempt) == (seq, attempt))
    }

    /// The copies that wait to be written to a connection, in their order.
    fn waiting(&self, consumer: ConsumerId) -> impl DoubleEndedIterator<Item = &Delivered> {
        let queue = self.blocked.get(&consumer).into_iter().flatten();
        queue.map(|queued| &queued.delivery)
    }
}

impl World {
    /// A connection takes bytes again: what waits for it is written.
    pub(super) fn unblock(&mut self, consumer: ConsumerId) {
        for queued in self.sockets.unblock(consumer) {
            if let Some(input) = self.write(queued) {
                self.input(input);
            }
        }
    }

    /// The connections that take no bytes, or took none until a moment ago, drop the copies that are
    /// too late: a writer looks before the scheduler does.
    pub(super) fn drop_all_late(&mut self) {
        let blocked: Vec<ConsumerId> = self.sockets.blocked.keys().copied().collect();
        for consumer in blocked {
            self.drop_late(consumer);
        }
    }

    /// What has waited for its id too long goes back: a node looks before the scheduler does.
    pub(super) fn expire_waiting(&mut self) {
        let waiting = self.server.front().waiting();
        let consumers: BTreeSet<ConsumerId> = waiting.map(|(consumer, ..)| consumer).collect();
        let now = self.now.monotonic;
        for consumer in consumers {
            let front = self.server.front_mut();
            for (id, late) in front.take_queued(consumer, |it| it.write_by <= now) {
                let Delivery { seq, attempt, .. } = late;
                let copy = CopyId { consumer, seq, id };
                let why = UnsentReason::Unwritten { attempt };
                self.input(FrontInput::NotSent(copy, why));
            }
        }
    }

    /// A copy was not written.
    pub(super) fn note_unsent(&mut self, copy: &CopyId) {
        let holder = (copy.consumer, &copy.id);
        self.nodes.ended(holder, |(seq, _)| seq == copy.seq);
    }

    /// The latest copy of a revision that was sent to a connection, written or not.
    pub(super) fn last_sent(&self, consumer: ConsumerId, seq: u64) -> Option<&Delivered> {
        let mut waiting = self.sockets.waiting(consumer).rev();
        let waiting = waiting.find(|waiting| waiting.seq == seq);
        let mut written = self.deliveries.iter().rev();
        waiting.or_else(|| written.find(|it| (it.consumer, it.seq) == (consumer, seq)))
    }

    /// A connection is closed. What waits for it comes back before.
    pub(super) fn close(&mut self, consumer: ConsumerId) {
        for queued in self.sockets.unblock(consumer) {
            let Delivered {
                id, seq, attempt, ..
            } = queued.delivery;
            let copy = CopyId { consumer, seq, id };
            self.input(FrontInput::NotSent(
                copy,
                UnsentReason::Unwritten { attempt },
            ));
        }
        self.return_queued(consumer);
        self.input(FrontInput::Closed(consumer));
    }

    /// What waits for its id on a connection that is closed goes back as never sent, as it does on a
    /// node of a cluster. The connection takes no more by then. On a single server nothing waits.
    fn return_queued(&mut self, consumer: ConsumerId) {
        if !self.server.front().has_queued(consumer) {
            return;
        }
        self.input(FrontInput::Closing(consumer));
        let queued = self.server.front_mut().take_queued(consumer, |_| true);
        for (id, Delivery { seq, attempt, .. }) in queued {
            let copy = CopyId { consumer, seq, id };
            self.input(FrontInput::NotSent(copy, UnsentReason::Void { attempt }));
        }
    }

    /// A connection that takes no bytes drops the copies that are too late.
    pub(super) fn drop_late(&mut self, consumer: ConsumerId) {
        for queued in self.sockets.drop_late(consumer, self.now.monotonic) {
            if let Some(input) = self.write(queued) {
                self.input(input);
            }
        }
    }

    /// Does what the writer of a connection does. Returns what it tells the scheduler.
    pub(super) fn write(&mut self, queued: Queued) -> Option<FrontInput> {
        let Queued {
            delivery,
            until,
            write_by,
        } = queued;
        let Delivered { attempt, seq, .. } = delivery;
        let copy = CopyId {
            consumer: delivery.consumer,
            seq,
            id: delivery.id.clone(),
        };
        let key = record::key::task(seq);
        if write_by <= self.now.monotonic {
            let why = UnsentReason::TooLate { attempt, until };
            return Some(FrontInput::NotSent(copy, why));
        }
        if self.store.get(Space::Tasks, &key).unwrap().is_none() {
            return Some(FrontInput::NotSent(copy, UnsentReason::Gone));
        }
        if self.unreadable.contains(&seq) {
            let reason = "a flipped bit".into();
            return Some(FrontInput::NotSent(
                copy,
                UnsentReason::Undeliverable(reason),
            ));
        }
        self.outcomes.written(seq, attempt, delivery.consumer);
        let at = self.now.wall_millis();
        self.deliveries.push(Delivered { at, ..delivery });
        None
    }
}
