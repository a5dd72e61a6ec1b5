//! Acks, nacks and touches of clients.

use std::sync::Arc;

use super::{
    Forwarder,
    deliveries::ServedDelivery,
    leader_session::{PendingRequest, QueueableRequest, ReplyAction},
    unconfirmed::DeliveryOutcome,
    wire::ToLeader,
};
use crate::ShardId;
use hyper_delay_engine::{
    front::{GivenBack, GivenNames, NoAnswer},
    scheduler::{ConsumerId, RouteRequest},
};
use hyper_delay_protocol::{Code, DeliverySelector, Refusal, Reply};

const NO_LEADER: &str = "this node reaches no leader of the shard of this route at the moment: send \
    it again with the same id";

impl Forwarder {
    /// A client acknowledges a delivery. The present leader of the shard takes the ack, also if an
    /// earlier one has sent the delivery.
    pub(super) fn acked(&mut self, to: PendingRequest, named: DeliverySelector, confirm: bool) {
        let consumer = to.reply_to.consumer;
        let Some(delivered) = self.front.ack(consumer, &named, self.now.monotonic) else {
            self.metrics.unknown_answers.add(1);
            let (id, names) = GivenNames::split(named);
            return self.reply_or_release(to, confirm.then(|| names.acked(id)));
        };
        let shard = delivered.origin.shard;
        self.recount(consumer, shard);
        let revision = delivered.revision(named.id.clone());
        let pending = if confirm {
            Some(to)
        } else {
            self.reply_or_release(to, None);
            None
        };
        let ack = QueueableRequest::Ack(revision, delivered, pending);
        self.forward(shard, consumer, ack);
        self.release(consumer, &named.id);
        self.balance(consumer);
    }

    /// A client gives a delivery back. The leader that counts it as in flight gets this, or, if it
    /// is gone, the next one.
    pub(super) fn nacked(
        &mut self,
        to: PendingRequest,
        named: &DeliverySelector,
        (delay_ms, reason, failed): (Option<u64>, Option<Arc<str>>, bool),
    ) {
        let consumer = to.reply_to.consumer;
        let delivered = match self
            .front
            .nack(consumer, named, delay_ms, self.now.monotonic)
        {
            Ok(delivered) => delivered,
            Err(refusal) => return self.refuse(to, refusal),
        };
        self.reply_or_release(to, None);
        let Some(GivenBack {
            delivery: delivered,
            ..
        }) = delivered
        else {
            self.metrics.unknown_answers.add(1);
            return;
        };
        self.recount(consumer, delivered.origin.shard);
        let nacked = ToLeader::Nacked {
            consumer,
            named: delivered.name(named.id.clone()).into(),
            seq: delivered.seq,
            delay_ms,
            reason,
            failed,
        };
        self.send_to(consumer, (&named.id, delivered), nacked);
        self.release(consumer, &named.id);
        self.balance(consumer);
    }

    /// A client asks for more time to answer a delivery.
    pub(super) fn touched(
        &mut self,
        mut to: PendingRequest,
        named: DeliverySelector,
        extend_ms: Option<u64>,
    ) {
        let Some(delivered) = self.front.touch(to.reply_to.consumer, &named) else {
            let (id, names) = GivenNames::split(named);
            return self.reply(to, names.touched(id));
        };
        let given_attempt = named.attempt;
        let delivery = delivered.name(named.id);
        to.action = ReplyAction::Touch { given_attempt };
        let touch = RouteRequest::Touch {
            delivery,
            extend_ms,
        };
        self.forward_request(to, touch);
    }

    /// A request is done; without a reply, its room is free.
    pub(super) fn reply_or_release(&mut self, to: PendingRequest, reply: Option<Reply>) {
        match reply {
            Some(reply) => self.reply(to, reply),
            None => self.effects.messages.push(to.reply_to.message(None)),
        }
    }

    /// Sends something to the leader of a shard, or lets it wait for one.
    pub(super) fn forward(
        &mut self,
        shard: ShardId,
        consumer: ConsumerId,
        request: QueueableRequest,
    ) {
        let now = self.now.monotonic;
        let is_gone = !self.front.is_open(consumer);
        let session = self.session(shard);
        if session.active().is_none() {
            return session.wait(consumer, request, now);
        }
        let message = match request {
            QueueableRequest::Request(request, pending) => {
                if pending.change.is_registration() {
                    if is_gone {
                        return self.reply_or_release(pending, None);
                    }
                    self.open_at_leader(shard, consumer);
                }
                let number = self.session(shard).number(pending);
                ToLeader::Request(consumer, number, request)
            }
            QueueableRequest::Ack(revision, delivered, pending) => {
                let confirm = match pending {
                    Some(mut pending) => {
                        pending.action = ReplyAction::Ack(delivered);
                        Some(session.number(pending))
                    }
                    None => {
                        let outcome = DeliveryOutcome::Acked(revision.clone(), delivered);
                        session.sent(consumer, outcome, now);
                        None
                    }
                };
                ToLeader::Acked {
                    consumer,
                    revision,
                    confirm,
                }
            }
        };
        self.send(shard, message);
    }

    /// An ack has perhaps not taken effect. The next leader gets it without a reply: otherwise the
    /// round of a delivery that was answered in time would fail. The client can repeat it.
    fn keep_ack(&mut self, shard: ShardId, pending: &PendingRequest, delivered: ServedDelivery) {
        let Some(id) = &pending.id else {
            return;
        };
        self.front
            .put_back(pending.reply_to.consumer, id.clone(), delivered.clone());
        let ack = QueueableRequest::Ack(delivered.revision(id.clone()), delivered, None);
        let now = self.now.monotonic;
        self.session(shard)
            .wait(pending.reply_to.consumer, ack, now);
    }

    /// Returns why a request has found no leader.
    pub(super) fn no_leader(&self) -> String {
        self.rival_reason().unwrap_or_else(|| NO_LEADER.to_owned())
    }

    /// Answers a request that the leader has not answered.
    pub(super) fn give_up(
        &mut self,
        shard: ShardId,
        mut pending: PendingRequest,
        (why, message): (NoAnswer, &str),
    ) {
        match std::mem::replace(&mut pending.action, ReplyAction::ReplyOnly) {
            ReplyAction::Ack(delivered) => self.keep_ack(shard, &pending, delivered),
            ReplyAction::Query(id) => {
                let message = self.rival_reason().unwrap_or_else(|| {
                    format!(
                        "this node reaches no leader of shard {}: send it again later, ask another \
                         node, or look at `hyper-delay cluster status`",
                        shard.0
                    )
                });
                return self.fail_query(id, &message);
            }
            ReplyAction::Silent => pending.action = ReplyAction::Silent,
            ReplyAction::Touch { .. } | ReplyAction::ReplyOnly => {}
        }
        let reply = Reply::Error(Refusal {
            id: pending.id.clone(),
            route: pending.route.clone(),
            ..Refusal::new(Code::Unavailable, message)
        });
        let change = std::mem::take(&mut pending.change);
        if !change.is_none() {
            self.settle_unanswered(pending.reply_to.consumer, shard, change, why);
        }
        self.reply(pending, reply);
    }
}
