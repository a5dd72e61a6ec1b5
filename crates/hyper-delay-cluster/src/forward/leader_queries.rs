//! Queries of the leaders of several shards, which are answered together.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use race_wheel::Tick;

use super::{
    Forwarder,
    leader_session::{PendingRequest, QueueableRequest, ReplyAction},
    wire::{ForwardedRequest, LeaderQuery, LeaderQueryAnswer},
};
use crate::{ShardId, shard_of_seq};
use hyper_delay_engine::{
    front::{ConsumerMessage, Pending, ReplyTo, StatsRequest, TaskLookup},
    scheduler::{ConsumerId, StatsFromMemory},
};
use hyper_delay_protocol::{Code, DueCounts, Refusal, Reply};

const LATE: &str = "this node has not caught up with the others in time: send it again, or ask \
    another node";

/// The number of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueryId(u64);

/// The number of a caller that waits for an answer of the forwarder.
pub(crate) type CallerId = u64;

/// No connection has this number.
const NO_CONSUMER: ConsumerId = 0;

/// The queries without an answer.
#[derive(Debug, Default)]
pub(super) struct LeaderQueries {
    last: u64,
    open: BTreeMap<QueryId, OpenQuery>,
}

/// A query.
#[derive(Debug)]
struct OpenQuery {
    progress: QueryProgress,
    /// The shards that have not answered.
    unanswered: BTreeSet<ShardId>,
    /// It is given up then.
    expires: Tick,
}

/// The kind of a query, with the answers so far.
#[derive(Debug)]
enum QueryProgress {
    /// Which tasks are in flight.
    InFlight(Box<TaskLookup>, BTreeMap<u64, u32>),
    /// Counts of what is in memory.
    Counts(Box<StatsRequest>, Vec<StatsFromMemory>),
    /// How many tasks wait for the minutes, hours and days ahead.
    Future(ReplyTo, Box<DueCounts>),
    /// Whether a route has consumers.
    HasConsumers(CallerId, Option<bool>),
    /// That the replicas of this node contain all that was acknowledged before.
    Fresh(CallerId),
}

impl Forwarder {
    /// A connection has read tasks: the leaders know which are in flight.
    pub(super) fn query_in_flight(&mut self, seen: Box<TaskLookup>) {
        let mut of_shards: BTreeMap<ShardId, Vec<u64>> = BTreeMap::new();
        for seq in &seen.seqs {
            of_shards.entry(shard_of_seq(*seq)).or_default().push(*seq);
        }
        // A restored store can have numbers of any shard.
        of_shards.retain(|shard, _| shard.0 < self.setup.shards);
        let queries = of_shards.into_iter();
        let queries = queries.map(|(shard, seqs)| (shard, LeaderQuery::InFlight(seqs)));
        let queries = queries.collect();
        self.start_query(QueryProgress::InFlight(seen, BTreeMap::new()), queries);
    }

    /// A connection has read counts: the leaders know what is in memory.
    pub(super) fn query_counts(&mut self, request: Box<StatsRequest>) {
        // The sums are of all shards, also if one route is listed.
        let queries = self.shards_of(None);
        let queries = queries.map(|shard| (shard, LeaderQuery::Counts(request.selection.clone())));
        let queries = queries.collect();
        self.start_query(QueryProgress::Counts(request, Vec::new()), queries);
    }

    /// Asks the leader of a route whether it has consumers.
    pub(super) fn query_consumers(&mut self, id: CallerId, route: Arc<str>) {
        let queries = vec![(
            self.front.shard_of(&route),
            LeaderQuery::HasConsumers(route),
        )];
        self.start_query(QueryProgress::HasConsumers(id, None), queries);
    }

    /// A connection asks how many tasks wait: the leaders count them.
    pub(super) fn query_forecast(&mut self, reply_to: ReplyTo) {
        let now = self.now.wall_millis();
        let queries = self.shards_of(None);
        let queries = queries
            .map(|shard| (shard, LeaderQuery::Future(now)))
            .collect();
        self.start_query(QueryProgress::Future(reply_to, Box::default()), queries);
    }

    /// A caller is about to read the replicas of this node, of a route or of all.
    pub(super) fn query_applied(&mut self, id: CallerId, route: Option<&str>) {
        let queries = self
            .shards_of(route)
            .map(|shard| (shard, LeaderQuery::Applied));
        let queries = queries.collect();
        self.start_query(QueryProgress::Fresh(id), queries);
    }

    fn shards_of(&self, route: Option<&str>) -> impl Iterator<Item = ShardId> + use<> {
        let shards = match route {
            Some(route) => {
                let shard = self.front.shard_of(route).0;
                shard..shard + 1
            }
            None => 0..self.setup.shards,
        };
        shards.map(ShardId)
    }

    fn start_query(&mut self, progress: QueryProgress, queries: Vec<(ShardId, LeaderQuery)>) {
        self.queries.last += 1;
        let id = QueryId(self.queries.last);
        let query = OpenQuery {
            progress,
            unanswered: queries.iter().map(|(shard, _)| *shard).collect(),
            expires: self.now.after(2 * self.setup.lease),
        };
        self.queries.open.insert(id, query);
        for (shard, query) in queries {
            self.ask_leader(id, shard, query);
        }
        self.finish_query(id);
    }

    /// The leader of a shard has answered a query.
    pub(super) fn handle_query_answer(
        &mut self,
        shard: ShardId,
        number: u32,
        answer: LeaderQueryAnswer,
    ) {
        let now = self.now.monotonic;
        let session = self.session(shard);
        // The end of the journal that a leader names counts only if no other leads by now.
        let holds = session
            .active()
            .is_some_and(|active| active.authority.holds(now));
        let Some(PendingRequest {
            action: ReplyAction::Query(id),
            ..
        }) = session.pending.remove(&number)
        else {
            return;
        };
        let applied = session.applied;
        let Some(query) = self.queries.open.get_mut(&id) else {
            return;
        };
        match (&mut query.progress, answer) {
            (QueryProgress::InFlight(_, known), LeaderQueryAnswer::InFlight(seqs)) => {
                known.extend(seqs);
            }
            (QueryProgress::Counts(_, known), LeaderQueryAnswer::Counts(counted)) => {
                known.push(counted);
            }
            (QueryProgress::HasConsumers(_, known), LeaderQueryAnswer::HasConsumers(has)) => {
                *known = Some(has);
            }
            (QueryProgress::Future(_, sum), LeaderQueryAnswer::Future(future))
                if sum.minutes.tasks.is_empty() =>
            {
                *sum = future;
            }
            (QueryProgress::Future(_, sum), LeaderQueryAnswer::Future(future)) => sum.add(&future),
            (QueryProgress::Fresh(_), LeaderQueryAnswer::Applied(_)) if !holds => {
                return self.ask_leader(id, shard, LeaderQuery::Applied);
            }
            (QueryProgress::Fresh(_), LeaderQueryAnswer::Applied(seq)) if seq > applied => {
                let waiting = &mut self.session(shard).waiting_queries;
                return waiting.entry(seq).or_default().push(id);
            }
            (QueryProgress::Fresh(_), LeaderQueryAnswer::Applied(_)) => {}
            (_, answer) => debug_assert!(false, "{answer:?} answers something else"),
        }
        self.answered_by(id, shard);
    }

    fn ask_leader(&mut self, id: QueryId, shard: ShardId, query: LeaderQuery) {
        let pending = PendingRequest {
            consumer: NO_CONSUMER,
            tag: None,
            weight: 0,
            route: None,
            id: None,
            change: Pending::NONE,
            action: ReplyAction::Query(id),
        };
        let request = QueueableRequest::Request(Box::new(ForwardedRequest::Query(query)), pending);
        self.forward(shard, NO_CONSUMER, request);
    }

    /// A replica of this node contains what these queries wait for.
    pub(super) fn has_caught_up(&mut self, shard: ShardId, ids: Vec<QueryId>) {
        for id in ids {
            self.answered_by(id, shard);
        }
    }

    fn answered_by(&mut self, id: QueryId, shard: ShardId) {
        if let Some(query) = self.queries.open.get_mut(&id) {
            query.unanswered.remove(&shard);
        }
        self.finish_query(id);
    }

    /// Answers a query if all shards have answered.
    fn finish_query(&mut self, id: QueryId) {
        let query = self.queries.open.get(&id);
        if query.is_none_or(|query| !query.unanswered.is_empty()) {
            return;
        }
        let (to, reply) = match self.queries.open.remove(&id).map(|it| it.progress) {
            Some(QueryProgress::InFlight(seen, in_flight)) => seen.complete(&in_flight),
            Some(QueryProgress::Counts(request, counted)) => {
                let connections = self.front.len() as u64;
                let room = self.setup.max_line_bytes;
                request.complete(counted, connections, &self.metrics, room)
            }
            Some(QueryProgress::HasConsumers(id, known)) => {
                let has = known.ok_or_else(|| Refusal::new(Code::Unavailable, LATE));
                return self.effects.has_consumers.push((id, has));
            }
            Some(QueryProgress::Future(reply_to, future)) => (reply_to, Reply::Future(future)),
            Some(QueryProgress::Fresh(id)) => return self.effects.fresh.push((id, Ok(()))),
            None => return,
        };
        self.reply_to_query(to, reply);
    }

    /// A shard does not answer: the query fails.
    pub(super) fn fail_query(&mut self, id: QueryId, message: &str) {
        let Some(query) = self.queries.open.remove(&id) else {
            return;
        };
        for session in &mut self.sessions {
            session.waiting_queries.retain(|_, ids| {
                ids.retain(|waiting| *waiting != id);
                !ids.is_empty()
            });
        }
        let refusal = |route: Option<Arc<str>>| Refusal {
            route,
            ..Refusal::new(Code::Unavailable, message)
        };
        let (to, refusal) = match query.progress {
            QueryProgress::InFlight(seen, _) => {
                let (route, id) = match seen.reply {
                    Reply::Task { route, id, .. } => (Some(route), Some(id)),
                    _ => (None, None),
                };
                (
                    seen.reply_to,
                    Refusal {
                        id,
                        ..refusal(route)
                    },
                )
            }
            QueryProgress::Future(reply_to, _) => (reply_to, refusal(None)),
            QueryProgress::HasConsumers(id, _) => {
                return self.effects.has_consumers.push((id, Err(refusal(None))));
            }
            QueryProgress::Counts(request, _) => {
                (request.reply_to, refusal(request.selection.route))
            }
            QueryProgress::Fresh(id) => return self.effects.fresh.push((id, Err(refusal(None)))),
        };
        self.reply_to_query(to, Reply::Error(refusal));
    }

    /// Gives up queries that this node cannot answer, because it does not catch up.
    pub(super) fn expire_queries(&mut self) {
        let now = self.now.monotonic;
        let expired = self.queries.open.iter();
        let expired = expired.filter(|(_, query)| query.expires <= now);
        let expired: Vec<QueryId> = expired.map(|(id, _)| *id).collect();
        for id in expired {
            self.fail_query(id, LATE);
        }
    }

    /// Returns when the next query expires.
    pub(super) fn next_query_expiry(&self) -> Option<Tick> {
        // All wait equally long.
        let (_, first) = self.queries.open.first_key_value()?;
        Some(first.expires)
    }

    fn reply_to_query(&mut self, to: ReplyTo, reply: Reply) {
        let ReplyTo {
            consumer,
            tag,
            weight,
        } = to;
        let message = ConsumerMessage::Reply { reply, tag, weight };
        self.effects.messages.push((consumer, message));
    }
}
