//! Messages between serving nodes and the scheduler of the leader.

use super::{PeerId, Shard, sessions::SessionRequest};
use crate::{
    forward::wire::{ForwardedRequest, ToConnection, ToLeader, ToServing, UnsentDelivery},
    lease::Term,
};
use hyper_delay_engine::{
    clock::Now,
    ledger::TaskRevision,
    scheduler::{
        ConsumerId, CopyId, Nack, RequestId, RequestNumber, SchedulerInput, SchedulerMessage,
    },
};
use hyper_delay_protocol::{DeliverySelector, Reply};
use hyper_delay_store::Store;

const FULL: &str = "the journal of this shard is at its bound, because most nodes are behind: send it \
    again later, and look at `hyper-delay cluster status`";

/// No connection has this number.
const NO_CONSUMER: ConsumerId = 0;

impl<S: Store> Shard<S> {
    /// Handles a message of a serving node.
    pub(super) fn handle_peer_message(
        &mut self,
        peer: PeerId,
        message: ToLeader,
        now: Now,
        term: Option<Term>,
    ) {
        match message {
            ToLeader::Begin {
                epoch,
                node,
                sent,
                last_copy,
            } => {
                let request = SessionRequest {
                    peer,
                    node,
                    epoch,
                    sent,
                    last_copy,
                };
                self.begin_session(request, now, term);
            }
            ToLeader::Released { epoch }
                if self.fence().is_none_or(|fence| fence.epoch != epoch) =>
            {
                self.grants.release(peer, epoch);
            }
            message if self.serving_nodes.has_session(peer) => {
                self.handle_session_message(peer, message, now, term);
            }
            _ => {}
        }
    }

    fn handle_session_message(
        &mut self,
        peer: PeerId,
        message: ToLeader,
        now: Now,
        term: Option<Term>,
    ) {
        let of = |remote_id| self.serving_nodes.consumer_of(peer, remote_id);
        let input = match message {
            ToLeader::Begin { .. } | ToLeader::Released { .. } => None,
            ToLeader::Ping { sent, last_copy } => {
                self.answer_ping(peer, sent, last_copy, now, term);
                None
            }
            ToLeader::Ready => self.peer_is_ready(peer),
            ToLeader::Ending => {
                self.serving_nodes.set_ending(peer);
                None
            }
            ToLeader::Opened(remote_id) => {
                let consumer = self.serving_nodes.open(peer, remote_id);
                Some(SchedulerInput::Opened(consumer))
            }
            ToLeader::Bound(remote_id, route, mode) => {
                of(remote_id).map(|it| SchedulerInput::Registered(it, route, mode))
            }
            ToLeader::Adopted(remote_id, copies) => {
                let consumer = of(remote_id);
                if !self.is_ending() {
                    self.serving_nodes.account_for(peer, &copies);
                }
                consumer.map(|it| SchedulerInput::Adopted(it, copies))
            }
            ToLeader::Lent(remote_id, credit) => {
                of(remote_id).map(|it| SchedulerInput::Lent(it, credit))
            }
            ToLeader::Recalled(remote_id, credit) => {
                of(remote_id).map(|it| SchedulerInput::Recalled(it, credit))
            }
            ToLeader::Closing(remote_id) => of(remote_id).map(SchedulerInput::Closing),
            ToLeader::Closed(remote_id) => self.connection_closed(peer, remote_id, now),
            ToLeader::Request(remote_id, number, asked) => {
                self.handle_request(peer, remote_id, number, *asked)
            }
            ToLeader::Acked {
                consumer,
                revision,
                confirm,
            } => {
                let consumer = match confirm {
                    Some(_) => self.serving_nodes.begin_request(peer, consumer),
                    None => of(consumer).unwrap_or(NO_CONSUMER),
                };
                Some(SchedulerInput::Acked(consumer, Box::new(revision), confirm))
            }
            ToLeader::Nacked {
                consumer,
                named,
                seq,
                delay_ms,
                reason,
                failed,
            } => {
                let revision = full_revision(named, seq);
                of(consumer).zip(revision).map(|(consumer, revision)| {
                    let nack = Nack {
                        revision,
                        delay_ms,
                        reason,
                        failed,
                    };
                    SchedulerInput::Nacked(consumer, Box::new(nack))
                })
            }
            ToLeader::NotSent(remote_id, UnsentDelivery { seq, id, why }) => of(remote_id)
                .map(|consumer| SchedulerInput::NotSent(CopyId { consumer, seq, id }, why)),
        };
        if let Some(input) = input {
            self.accept_input(input, now);
        }
    }

    /// Answers a request of a connection, or returns it for the scheduler.
    fn handle_request(
        &mut self,
        peer: PeerId,
        remote_id: ConsumerId,
        number: RequestNumber,
        asked: ForwardedRequest,
    ) -> Option<SchedulerInput> {
        let answer = if self.trimming.is_full() && asked.is_schedule() {
            Some(ToConnection::Reply(
                number,
                Reply::Error(asked.refusal(FULL)),
            ))
        } else {
            let consumer = self.serving_nodes.begin_request(peer, remote_id);
            match asked.into_input(RequestId { consumer, number }) {
                Ok(input) => return Some(input),
                Err(query) => {
                    self.serving_nodes.end_request(consumer);
                    let (applied, leading) = (self.applied(), self.leading.as_ref());
                    let answer = leading.map(|it| it.answer_query(query, applied));
                    answer.map(|answer| ToConnection::QueryAnswer(number, answer))
                }
            }
        };
        let outgoing = answer.map(|answer| (peer, ToServing::Connection(remote_id, answer)));
        self.effects.to_peers.extend(outgoing);
        None
    }

    /// Passes messages of the scheduler to the nodes of the connections.
    pub(super) fn send_messages(
        &mut self,
        messages: Vec<(ConsumerId, SchedulerMessage)>,
        now: Now,
    ) {
        let after = self.applied();
        for (consumer, message) in messages {
            // Tests also have consumers of no serving node.
            #[cfg(test)]
            if self.serving_nodes.node_of(consumer).is_none() {
                self.effects.messages.push((consumer, message));
                continue;
            }
            let outgoing = self.serving_nodes.outgoing(consumer, message, after, now);
            self.effects.to_peers.extend(outgoing);
        }
    }
}

/// Returns the revision that a nack names, if it has the full name of a delivery.
fn full_revision(named: DeliverySelector, seq: u64) -> Option<TaskRevision> {
    Some(TaskRevision {
        route: named.route?,
        id: named.id,
        seq,
        attempt: named.attempt?,
    })
}
