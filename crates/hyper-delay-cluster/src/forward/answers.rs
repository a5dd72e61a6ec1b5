//! What clients say of their deliveries.

use std::sync::Arc;

use super::{
    Forwarder,
    deliveries::Delivered,
    session::{NEVER, Pending, Queueable, What},
    untold::Fate,
    wire::{Asked, ToLeader},
};
use crate::ShardId;
use hyper_delay_engine::scheduler::{ConsumerId, Message};
use hyper_delay_protocol::{Code, Named, Refusal, Reply, Request};

const NO_LEADER: &str = "this node reaches no leader of the shard of this route at the moment: send \
    it again with the same id";

impl Forwarder {
    /// A client acknowledges a delivery. The present leader of the shard takes the ack, also if an
    /// earlier one has sent the delivery.
    pub(super) fn acked(&mut self, to: Pending, named: &Named, confirm: bool) {
        let (consumer, now) = (to.consumer, self.now.monotonic);
        let connection = self.connections.get_mut(&consumer);
        let delivered = connection.and_then(|it| {
            let delivered = it.deliveries.answered(named)?;
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
            return self.reply_or_quiet(to, confirm.then_some(acked));
        };
        let subject = delivered.subject(named.id.clone());
        let shard = delivered.shard;
        let pending = if confirm {
            Some(to)
        } else {
            self.reply_or_quiet(to, None);
            None
        };
        let ack = Queueable::Ack(subject, delivered, pending);
        self.forward(shard, consumer, ack);
        self.release(consumer, &named.id);
        self.balance(consumer);
    }

    /// A client gives a delivery back. The leader that counts it as in flight is told, or the next one
    /// if it is gone.
    pub(super) fn nacked(
        &mut self,
        to: Pending,
        named: &Named,
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
            let delivered = it.deliveries.answered(named)?;
            it.count_used(delivered.shard, now);
            Some(delivered)
        });
        self.reply_or_quiet(to, None);
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
    pub(super) fn touched(&mut self, mut to: Pending, named: &Named, extend_ms: Option<u64>) {
        let connection = self.connections.get(&to.consumer);
        let delivered = connection.and_then(|it| it.deliveries.named(named));
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
        let touch = Request::Touch {
            delivery: named.clone(),
            extend_ms,
        };
        to.what = What::Touch(named);
        let consumer = to.consumer;
        let asked = Box::new(Asked::Request(touch, None));
        self.forward(shard, consumer, Queueable::Request(asked, to));
    }

    /// A request is done; without a reply, its room is free.
    pub(super) fn reply_or_quiet(&mut self, to: Pending, reply: Option<Reply>) {
        match reply {
            Some(reply) => self.reply(to, reply),
            None => {
                let message = Message::Quiet(to.weight);
                self.effects.messages.push((to.consumer, message));
            }
        }
    }

    /// Sends something to the leader of a shard, or lets it wait for one.
    pub(super) fn forward(&mut self, shard: ShardId, consumer: ConsumerId, what: Queueable) {
        let (now, expires) = (self.now.monotonic, self.now.after(self.setup.lease));
        let is_gone = !self.connections.contains_key(&consumer);
        let session = self.session(shard);
        if session.up().is_none() {
            return session.wait(consumer, what, expires);
        }
        let message = match what {
            Queueable::Request(asked, pending) => {
                if let What::Register { .. } = pending.what {
                    if is_gone {
                        return self.reply_or_quiet(pending, None);
                    }
                    self.open(shard, consumer);
                }
                let number = self.session(shard).number(pending);
                ToLeader::Asked(consumer, number, asked)
            }
            Queueable::Ack(subject, delivered, pending) => {
                let confirm = match pending {
                    Some(mut pending) => {
                        pending.what = What::Ack(delivered);
                        Some(session.number(pending))
                    }
                    None => {
                        let fate = Fate::Acked(subject.clone(), delivered);
                        session.untold.sent(now, consumer, fate);
                        None
                    }
                };
                ToLeader::Acked {
                    consumer,
                    subject,
                    confirm,
                }
            }
        };
        self.send(shard, message);
    }

    /// An ack has perhaps not taken effect. The next leader gets it without a reply: otherwise the
    /// round of a delivery that was answered in time would fail. The client can repeat it.
    fn keep_ack(&mut self, shard: ShardId, pending: &Pending, delivered: Delivered) {
        let Some(id) = &pending.id else {
            return;
        };
        if let Some(connection) = self.connections.get_mut(&pending.consumer) {
            let deliveries = &mut connection.deliveries;
            deliveries.unanswered(id.clone(), delivered.clone());
        }
        let ack = Queueable::Ack(delivered.subject(id.clone()), delivered, None);
        self.session(shard).wait(pending.consumer, ack, NEVER);
    }

    /// Returns why a request has found no leader.
    pub(super) fn no_leader(&self) -> String {
        self.rival().unwrap_or_else(|| NO_LEADER.to_owned())
    }

    /// Answers a request that the leader has not answered, and takes back what was noted for it.
    pub(super) fn gives_up(&mut self, shard: ShardId, mut pending: Pending, message: &str) {
        match std::mem::replace(&mut pending.what, What::Other) {
            What::Ack(delivered) => self.keep_ack(shard, &pending, delivered),
            What::Register { is_new, wish, .. } => self.not_registered(&pending, is_new, wish),
            // It may have taken effect.
            What::ScheduleOnOwn => self.scheduled_on_own(pending.consumer, false),
            What::Look(id) => {
                let message = self.rival().unwrap_or_else(|| {
                    format!(
                        "this node reaches no leader of shard {}: send it again later, ask another \
                         node, or look at `hyper-delay cluster status`",
                        shard.0
                    )
                });
                return self.look_fails(id, &message);
            }
            What::Touch(_) | What::Other => {}
        }
        self.unavailable(pending, message);
    }
}
