//! Acks, nacks and touches of clients.

use std::sync::Arc;

use super::{
    Forwarder,
    deliveries::ServedDelivery,
    leader_session::{NEVER, PendingRequest, QueueableRequest, ReplyAction},
    unconfirmed::DeliveryOutcome,
    wire::{ForwardedRequest, ToLeader},
};
use crate::ShardId;
use hyper_delay_engine::scheduler::{ConsumerId, ConsumerMessage};
use hyper_delay_protocol::{Code, DeliverySelector, Refusal, Reply, TaskRequest};

const NO_LEADER: &str = "this node reaches no leader of the shard of this route at the moment: send \
    it again with the same id";

impl Forwarder {
    /// A client acknowledges a delivery. The present leader of the shard takes the ack, also if an
    /// earlier one has sent the delivery.
    pub(super) fn acked(&mut self, to: PendingRequest, named: &DeliverySelector, confirm: bool) {
        let (consumer, now) = (to.consumer, self.now.monotonic);
        let connection = self.connections.get_mut(&consumer);
        let delivered = connection.and_then(|it| {
            let delivered = it.deliveries.take_answered(named)?;
            it.count_used(delivered.shard, now);
            Some(delivered)
        });
        let Some(delivered) = delivered else {
            self.metrics.unknown_answers.add(1);
            let acked = Reply::Acked {
                id: named.id.clone(),
                route: named.route.clone(),
                removed: false,
            };
            return self.reply_or_release(to, confirm.then_some(acked));
        };
        let revision = delivered.revision(named.id.clone());
        let shard = delivered.shard;
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
        let most = self.setup.max_delay_millis;
        if let Some(delay) = delay_ms.filter(|delay| *delay > most) {
            let message =
                format!("delay_ms is {delay}: give at most {most}, which is max_delay_days");
            let refusal = Refusal {
                id: Some(named.id.clone()),
                route: named.route.clone(),
                ..Refusal::new(Code::BadField, message)
            };
            return self.refuse(to, refusal);
        }
        let (consumer, now) = (to.consumer, self.now.monotonic);
        let connection = self.connections.get_mut(&consumer);
        let delivered = connection.and_then(|it| {
            let delivered = it.deliveries.take_answered(named)?;
            it.count_used(delivered.shard, now);
            Some(delivered)
        });
        self.reply_or_release(to, None);
        let Some(delivered) = delivered else {
            self.metrics.unknown_answers.add(1);
            return;
        };
        let nacked = ToLeader::Nacked {
            consumer,
            named: delivered.named(named.id.clone()),
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
        named: &DeliverySelector,
        extend_ms: Option<u64>,
    ) {
        let connection = self.connections.get(&to.consumer);
        let delivered = connection.and_then(|it| it.deliveries.find(named));
        let Some(delivered) = delivered else {
            let touched = Reply::Touched {
                id: named.id.clone(),
                route: named.route.clone(),
                attempt: named.attempt,
                deadline: None,
            };
            return self.reply(to, touched);
        };
        let shard = delivered.shard;
        let named = delivered.named(named.id.clone());
        let touch = TaskRequest::Touch {
            delivery: named.clone(),
            extend_ms,
        };
        to.action = ReplyAction::Touch(named);
        let consumer = to.consumer;
        let request = Box::new(ForwardedRequest::Request(touch, None));
        self.forward(shard, consumer, QueueableRequest::Request(request, to));
    }

    /// A request is done; without a reply, its room is free.
    pub(super) fn reply_or_release(&mut self, to: PendingRequest, reply: Option<Reply>) {
        match reply {
            Some(reply) => self.reply(to, reply),
            None => {
                let message = ConsumerMessage::Done(to.weight);
                self.effects.messages.push((to.consumer, message));
            }
        }
    }

    /// Sends something to the leader of a shard, or lets it wait for one.
    pub(super) fn forward(
        &mut self,
        shard: ShardId,
        consumer: ConsumerId,
        request: QueueableRequest,
    ) {
        let (now, expires) = (self.now.monotonic, self.now.after(self.setup.lease));
        let is_gone = !self.connections.contains_key(&consumer);
        let session = self.session(shard);
        if session.active().is_none() {
            return session.wait(consumer, request, expires);
        }
        let message = match request {
            QueueableRequest::Request(request, pending) => {
                if let ReplyAction::Register { .. } = pending.action {
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
                        let fate = DeliveryOutcome::Acked(revision.clone(), delivered);
                        session.unconfirmed.push(now, consumer, fate);
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
        if let Some(connection) = self.connections.get_mut(&pending.consumer) {
            let deliveries = &mut connection.deliveries;
            deliveries.put_back(id.clone(), delivered.clone());
        }
        let ack = QueueableRequest::Ack(delivered.revision(id.clone()), delivered, None);
        self.session(shard).wait(pending.consumer, ack, NEVER);
    }

    /// Returns why a request has found no leader.
    pub(super) fn no_leader(&self) -> String {
        self.rival_reason().unwrap_or_else(|| NO_LEADER.to_owned())
    }

    /// Answers a request that the leader has not answered, and takes back what was noted for it.
    pub(super) fn give_up(&mut self, shard: ShardId, mut pending: PendingRequest, message: &str) {
        match std::mem::replace(&mut pending.action, ReplyAction::Other) {
            ReplyAction::Ack(delivered) => self.keep_ack(shard, &pending, delivered),
            ReplyAction::Register {
                is_new, options, ..
            } => {
                self.not_registered(&pending, is_new, options);
            }
            // It may have taken effect.
            ReplyAction::ScheduleOnOwn => self.scheduled_on_own(pending.consumer, false),
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
            ReplyAction::Touch(_) | ReplyAction::Other => {}
        }
        self.unavailable(pending, message);
    }
}
