//! What the scheduler has for connections, and what becomes of deliveries.

use std::{mem, sync::Arc};

use super::{
    SHARD, SingleServer,
    pending_requests::{PendingRequest, ReplyAction},
};
use crate::{
    front::{Admission, ConsumerMessage, Delivery, GivenNames, Pending, ReplyTo},
    scheduler::{ConsumerId, CopyId, SchedulerMessage, SentCopy, UnsentReason},
};
use hyper_delay_protocol::Reply;
use hyper_delay_store::Store;

impl<S: Store> SingleServer<S> {
    /// A delivery was not sent.
    pub(super) fn not_sent(&mut self, copy: CopyId, why: UnsentReason) {
        self.front
            .remove_unsent(copy.consumer, &copy.id, copy.seq, why.attempt());
        self.scheduler.not_sent(&copy, &why);
        self.release(copy.consumer, copy.id);
    }

    /// Passes what the scheduler has for connections through the front, which can have consequences
    /// for the scheduler. Returns whether some had.
    pub(super) fn pass_messages(&mut self) -> bool {
        if !self.scheduler.has_messages() {
            return false;
        }
        let mut has_more = false;
        let mut passing = mem::take(&mut self.passing);
        while self.scheduler.has_messages() {
            self.scheduler.swap_messages(&mut passing);
            for (consumer, message) in passing.drain(..) {
                has_more |= self.pass_message(consumer, message);
            }
        }
        self.passing = passing;
        has_more
    }

    /// Passes a message. Returns whether that has changed something of the scheduler.
    fn pass_message(&mut self, consumer: ConsumerId, message: SchedulerMessage) -> bool {
        match message {
            SchedulerMessage::Deliver(copy) => return self.deliver(consumer, copy),
            SchedulerMessage::Reply(number, reply) => {
                let Some(PendingRequest { to, action }) = self.pending.take(number) else {
                    debug_assert!(false, "a request is answered once");
                    return false;
                };
                match action {
                    ReplyAction::ReplyOnly => self.reply(to, reply),
                    ReplyAction::Answer(names) => self.reply_to_answer(to, reply, names),
                    ReplyAction::Change(pending) => {
                        self.reply_to_change(to, reply, pending);
                        return true;
                    }
                }
            }
            SchedulerMessage::Notice(reply) => {
                if let Reply::Unregistered { route, .. } = &reply {
                    self.front.replaced(consumer, route);
                }
                self.messages.push((consumer, ConsumerMessage::news(reply)));
            }
            SchedulerMessage::Lost(seq, id) => self.front.lose(consumer, &id, seq),
            SchedulerMessage::Credit(change) => {
                #[cfg(test)]
                self.credit_changes.push((consumer, change));
                self.front.credit_changed(consumer, SHARD, change);
                self.balance(consumer);
                return true;
            }
        }
        false
    }

    /// Returns whether the scheduler has the copy back.
    fn deliver(&mut self, consumer: ConsumerId, copy: SentCopy) -> bool {
        let (id, delivery) = Delivery::of(copy);
        let now = self.now.monotonic;
        match self.front.deliver(consumer, &id, delivery.clone(), now) {
            Admission::Send(accept) => {
                let message = delivery.into_message(id, accept, None);
                self.messages.push((consumer, message));
            }
            Admission::Queued => {}
            Admission::Void => {
                let Delivery { seq, attempt, .. } = delivery;
                let copy = CopyId { consumer, seq, id };
                self.not_sent(copy, UnsentReason::Void { attempt });
                return true;
            }
        }
        false
    }

    /// Replies to an ack or a touch.
    fn reply_to_answer(&mut self, to: ReplyTo, mut reply: Reply, names: GivenNames) {
        if let Reply::Touched {
            deadline: Some(deadline),
            ..
        } = &reply
        {
            let until = self.now.tick_of(*deadline);
            self.front.touched(to.consumer, &reply, until);
        }
        names.restore(&mut reply);
        self.reply(to, reply);
    }

    /// Replies to a request that changes something of its connection if it is accepted.
    fn reply_to_change(&mut self, to: ReplyTo, mut reply: Reply, pending: Pending) {
        let consumer = to.consumer;
        let own = self.front.answered(consumer, pending, &mut reply);
        self.reply(to, reply);
        if let Some(own) = own {
            self.scheduler.bind(consumer, &own.route, own.mode);
            self.front.accepted(consumer, own.pending);
        }
        self.balance(consumer);
    }

    /// An id is free on a connection: the delivery that waits for it is sent.
    pub(super) fn release(&mut self, consumer: ConsumerId, id: Arc<str>) {
        let now = self.now.monotonic;
        let Some((delivery, accept)) = self.front.release(consumer, &id, now) else {
            return;
        };
        let Some(accept) = accept else {
            let Delivery { seq, attempt, .. } = delivery;
            let copy = CopyId { consumer, seq, id };
            return self.not_sent(copy, UnsentReason::Void { attempt });
        };
        let message = delivery.into_message(id, accept, None);
        self.messages.push((consumer, message));
    }

    /// Gives back the deliveries that have waited for their ids too long, and sends those whose ids
    /// are free.
    pub(super) fn expire_queued(&mut self) {
        let (late, free) = self.front.expire(self.now.monotonic);
        for (consumer, id, Delivery { seq, attempt, .. }) in late {
            let copy = CopyId { consumer, seq, id };
            let why = UnsentReason::Unwritten { attempt };
            self.scheduler.not_sent(&copy, &why);
        }
        for (consumer, id, ()) in free {
            self.release(consumer, id);
        }
    }
}
