//! Queries of the leaders of several shards, which are answered together.

mod query;

pub(super) use query::{Query, QueryOutcome};

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use race_wheel::Tick;

use super::wire::{LeaderQuery, LeaderQueryAnswer};
use crate::ShardId;
use hyper_delay_engine::clock::Now;

const LATE: &str = "this node has not caught up with the others in time: send it again, or ask \
    another node";

/// The number of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueryId(u64);

/// The number of a caller that waits for an answer of the forwarder.
pub(crate) type CallerId = u64;

/// The queries without an answer.
#[derive(Debug)]
pub(super) struct LeaderQueries {
    shards: u16,
    /// A query fails after this time.
    patience: Duration,
    last: u64,
    open: BTreeMap<QueryId, OpenQuery>,
    /// By the entry that the replica of this node must contain before the shard counts as answered.
    waiting: BTreeMap<(ShardId, u64), Vec<QueryId>>,
}

/// A query.
#[derive(Debug)]
struct OpenQuery {
    query: Query,
    /// The shards that have not answered.
    unanswered: BTreeSet<ShardId>,
    expires: Tick,
}

/// A shard whose leader answers a query.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnsweringShard {
    pub(super) id: ShardId,
    /// No other leads by now, so the end of the journal that the leader names counts.
    pub(super) leadership_holds: bool,
    /// The last entry that the replica of this node contains.
    pub(super) applied: u64,
}

/// The state of a query after an answer.
#[derive(Debug)]
pub(super) enum QueryState {
    /// It waits for other shards or for the replica of this node, or was given up.
    Open,
    /// The present leader of the shard must be asked this.
    AskAgain(LeaderQuery),
    /// All shards have answered.
    Answered(Query),
}

impl LeaderQueries {
    pub(super) const fn new(shards: u16, patience: Duration) -> Self {
        Self {
            shards,
            patience,
            last: 0,
            open: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Starts a query. Returns its number, and what the leader of each shard must be asked.
    pub(super) fn start(
        &mut self,
        query: Query,
        now: Now,
    ) -> (QueryId, Vec<(ShardId, LeaderQuery)>) {
        let questions = query.questions(self.shards, now.wall_millis());
        self.last += 1;
        let id = QueryId(self.last);
        let query = OpenQuery {
            query,
            unanswered: questions.iter().map(|(shard, _)| *shard).collect(),
            expires: now.after(self.patience),
        };
        self.open.insert(id, query);
        (id, questions)
    }

    /// The leader of a shard has answered.
    pub(super) fn answer(
        &mut self,
        id: QueryId,
        shard: AnsweringShard,
        answer: LeaderQueryAnswer,
    ) -> QueryState {
        let Some(query) = self.open.get_mut(&id) else {
            return QueryState::Open;
        };
        match query.query.add(answer) {
            Some(_) if !shard.leadership_holds => {
                return QueryState::AskAgain(LeaderQuery::Applied);
            }
            Some(seq) if seq > shard.applied => {
                self.waiting.entry((shard.id, seq)).or_default().push(id);
                return QueryState::Open;
            }
            Some(_) | None => {}
        }
        match self.answered_by(id, shard.id) {
            Some(query) => QueryState::Answered(query),
            None => QueryState::Open,
        }
    }

    /// The replica of this node contains this entry. Returns the queries that are answered by it.
    pub(super) fn replica_applied(&mut self, shard: ShardId, seq: u64) -> Vec<Query> {
        let reached = self.waiting.range((shard, 0)..=(shard, seq));
        let reached: Vec<_> = reached.map(|(place, _)| *place).collect();
        let ids = reached
            .iter()
            .filter_map(|place| self.waiting.remove(place));
        let ids: Vec<QueryId> = ids.flatten().collect();
        let answered = ids.into_iter();
        answered
            .filter_map(|id| self.answered_by(id, shard))
            .collect()
    }

    fn answered_by(&mut self, id: QueryId, shard: ShardId) -> Option<Query> {
        self.open.get_mut(&id)?.unanswered.remove(&shard);
        self.take_answered(id)
    }

    /// Removes and returns a query if all shards have answered it.
    pub(super) fn take_answered(&mut self, id: QueryId) -> Option<Query> {
        let query = self.open.get(&id);
        query.filter(|query| query.unanswered.is_empty())?;
        self.open.remove(&id).map(|query| query.query)
    }

    /// A shard does not answer: the query fails.
    pub(super) fn fail(&mut self, id: QueryId, message: &str) -> Option<QueryOutcome> {
        let query = self.open.remove(&id)?;
        self.waiting.retain(|_, ids| {
            ids.retain(|waiting| *waiting != id);
            !ids.is_empty()
        });
        Some(query.query.refuse(message))
    }

    /// Gives up queries that this node cannot answer, because it does not catch up.
    pub(super) fn expire(&mut self, now: Tick) -> Vec<QueryOutcome> {
        let expired = self.open.iter();
        let expired = expired.filter(|(_, query)| query.expires <= now);
        let expired: Vec<QueryId> = expired.map(|(id, _)| *id).collect();
        let expired = expired.into_iter();
        expired.filter_map(|id| self.fail(id, LATE)).collect()
    }

    /// Returns when the next query expires.
    pub(super) fn next_expiry(&self) -> Option<Tick> {
        // All wait equally long.
        let (_, first) = self.open.first_key_value()?;
        Some(first.expires)
    }
}

#[cfg(test)]
mod tests;
