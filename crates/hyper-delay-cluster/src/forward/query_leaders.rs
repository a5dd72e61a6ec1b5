//! Asks leaders for what only they know.

use super::{
    Forwarder, ForwarderEffects,
    leader_queries::{AnsweringShard, Query, QueryId, QueryOutcome, QueryState},
    leader_session::{PendingRequest, QueueableRequest, ReplyAction},
    wire::{ForwardedRequest, LeaderQuery, LeaderQueryAnswer},
};
use crate::ShardId;
use hyper_delay_engine::scheduler::ConsumerId;

/// No connection has this number.
const NO_CONSUMER: ConsumerId = 0;

impl Forwarder {
    pub(super) fn query(&mut self, query: Query) {
        let (id, questions) = self.queries.start(query, self.now);
        for (shard, question) in questions {
            self.ask_leader(id, shard, question);
        }
        if let Some(query) = self.queries.take_answered(id) {
            self.complete_query(query);
        }
    }

    fn ask_leader(&mut self, id: QueryId, shard: ShardId, query: LeaderQuery) {
        let pending = PendingRequest::internal(NO_CONSUMER, ReplyAction::Query(id));
        let request = QueueableRequest::Request(Box::new(ForwardedRequest::Query(query)), pending);
        self.forward(shard, NO_CONSUMER, request);
    }

    /// The leader of a shard has answered a query.
    pub(super) fn handle_query_answer(
        &mut self,
        shard: ShardId,
        number: u32,
        answer: LeaderQueryAnswer,
    ) {
        let now = self.now.monotonic;
        let applied = self.contents[shard].applied();
        let session = self.session(shard);
        let answering = AnsweringShard {
            id: shard,
            leadership_holds: session.active().is_some_and(|active| active.holds(now)),
            applied,
        };
        let Some(id) = session.answered_query(number) else {
            return;
        };
        match self.queries.answer(id, answering, answer) {
            QueryState::Open => {}
            QueryState::AskAgain(query) => self.ask_leader(id, shard, query),
            QueryState::Answered(query) => self.complete_query(query),
        }
    }

    pub(super) fn complete_query(&mut self, query: Query) {
        let connections = self.front.len() as u64;
        let room = self.max_line_bytes;
        let outcome = query.complete(connections, &self.metrics, room);
        self.effects.report(outcome);
    }

    /// A shard does not answer: the query fails.
    pub(super) fn fail_query(&mut self, id: QueryId, message: &str) {
        if let Some(outcome) = self.queries.fail(id, message) {
            self.effects.report(outcome);
        }
    }

    /// Gives up queries that this node cannot answer.
    pub(super) fn expire_queries(&mut self) {
        for outcome in self.queries.expire(self.now.monotonic) {
            self.effects.report(outcome);
        }
    }
}

impl ForwarderEffects {
    /// Passes the answer of a query to the connection or caller that waits for it.
    fn report(&mut self, outcome: QueryOutcome) {
        match outcome {
            QueryOutcome::Reply(to, reply) => self.messages.push(to.message(Some(reply))),
            QueryOutcome::HasConsumers(caller, has) => self.has_consumers.push((caller, has)),
            QueryOutcome::Fresh(caller, fresh) => self.fresh.push((caller, fresh)),
        }
    }
}
