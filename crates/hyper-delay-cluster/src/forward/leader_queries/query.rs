//! What is asked of the leaders, and the answer for the connection or caller that waits for it.

use std::{collections::BTreeMap, sync::Arc};

use super::CallerId;
use crate::{
    ShardId,
    forward::wire::{LeaderQuery, LeaderQueryAnswer},
    shard_of, shard_of_seq,
};
use hyper_delay_engine::{
    front::{ReplyTo, StatsRequest, TaskLookup},
    metrics::Metrics,
    scheduler::StatsFromMemory,
};
use hyper_delay_protocol::{Code, DueCounts, Refusal, Reply};

/// A query, with the answers so far.
#[derive(Debug)]
pub(in crate::forward) struct Query(Progress);

#[derive(Debug)]
enum Progress {
    InFlight(Box<TaskLookup>, BTreeMap<u64, u32>),
    Counts(Box<StatsRequest>, Vec<StatsFromMemory>),
    Future(ReplyTo, Box<DueCounts>),
    HasConsumers(CallerId, Arc<str>, Option<bool>),
    Fresh(CallerId, Option<Arc<str>>),
}

/// The answer to a query.
#[derive(Debug)]
pub(in crate::forward) enum QueryOutcome {
    Reply(ReplyTo, Reply),
    HasConsumers(CallerId, Result<bool, Refusal>),
    Fresh(CallerId, Result<(), Refusal>),
}

impl Query {
    /// A connection has read tasks: the leaders know which are in flight.
    pub(in crate::forward) const fn in_flight(lookup: Box<TaskLookup>) -> Self {
        Self(Progress::InFlight(lookup, BTreeMap::new()))
    }

    /// A connection has read counts: the leaders know what is in memory.
    pub(in crate::forward) const fn counts(request: Box<StatsRequest>) -> Self {
        Self(Progress::Counts(request, Vec::new()))
    }

    /// A connection asks how many tasks wait: the leaders count them.
    pub(in crate::forward) fn future(reply_to: ReplyTo) -> Self {
        Self(Progress::Future(reply_to, Box::default()))
    }

    /// Whether a route has consumers.
    pub(in crate::forward) const fn has_consumers(caller: CallerId, route: Arc<str>) -> Self {
        Self(Progress::HasConsumers(caller, route, None))
    }

    /// A caller is about to read the replicas of this node, of a route or of all. They must contain
    /// all that was acknowledged before.
    pub(in crate::forward) const fn fresh(caller: CallerId, route: Option<Arc<str>>) -> Self {
        Self(Progress::Fresh(caller, route))
    }

    /// Returns what the leader of each shard must be asked, at this time in Unix milliseconds.
    pub(super) fn questions(&self, shards: u16, now: u64) -> Vec<(ShardId, LeaderQuery)> {
        let of_all = |query: &LeaderQuery| {
            let shards = (0..shards).map(ShardId);
            shards.map(|shard| (shard, query.clone())).collect()
        };
        match &self.0 {
            Progress::InFlight(lookup, _) => in_flight_by_shard(&lookup.seqs, shards),
            // The sums are of all shards, also if one route is listed.
            Progress::Counts(request, _) => of_all(&LeaderQuery::Counts(request.selection.clone())),
            Progress::Future(..) => of_all(&LeaderQuery::Future(now)),
            Progress::HasConsumers(_, route, _) => {
                let query = LeaderQuery::HasConsumers(route.clone());
                vec![(shard_of(route, shards), query)]
            }
            Progress::Fresh(_, Some(route)) => {
                vec![(shard_of(route, shards), LeaderQuery::Applied)]
            }
            Progress::Fresh(_, None) => of_all(&LeaderQuery::Applied),
        }
    }

    /// Adds the answer of a leader. Returns the entry that the replica of this node must contain,
    /// if the query is for that.
    pub(super) fn add(&mut self, answer: LeaderQueryAnswer) -> Option<u64> {
        match (&mut self.0, answer) {
            (Progress::InFlight(_, known), LeaderQueryAnswer::InFlight(seqs)) => known.extend(seqs),
            (Progress::Counts(_, known), LeaderQueryAnswer::Counts(counted)) => known.push(counted),
            (Progress::HasConsumers(_, _, known), LeaderQueryAnswer::HasConsumers(has)) => {
                *known = Some(has);
            }
            (Progress::Future(_, sum), LeaderQueryAnswer::Future(future)) => {
                match sum.minutes.tasks.is_empty() {
                    true => *sum = future,
                    false => sum.add(&future),
                }
            }
            (Progress::Fresh(..), LeaderQueryAnswer::Applied(seq)) => return Some(seq),
            (_, answer) => debug_assert!(false, "{answer:?} answers something else"),
        }
        None
    }

    /// All leaders have answered: returns the answer. A line has room for `max_line_bytes`.
    pub(in crate::forward) fn complete(
        self,
        connections: u64,
        metrics: &Metrics,
        max_line_bytes: usize,
    ) -> QueryOutcome {
        let (to, reply) = match self.0 {
            Progress::InFlight(lookup, in_flight) => lookup.complete(&in_flight),
            Progress::Counts(request, counted) => {
                request.complete(counted, connections, metrics, max_line_bytes)
            }
            Progress::Future(to, future) => (to, Reply::Future(future)),
            Progress::HasConsumers(caller, _, known) => {
                let has = known.ok_or_else(|| Refusal::new(Code::Unavailable, super::LATE));
                return QueryOutcome::HasConsumers(caller, has);
            }
            Progress::Fresh(caller, _) => return QueryOutcome::Fresh(caller, Ok(())),
        };
        QueryOutcome::Reply(to, reply)
    }

    /// A leader does not answer: returns why there is no answer.
    pub(super) fn refuse(self, message: &str) -> QueryOutcome {
        let mut refusal = Refusal::new(Code::Unavailable, message);
        let to = match self.0 {
            Progress::InFlight(lookup, _) => {
                if let Reply::Task { route, id, .. } = lookup.reply {
                    (refusal.route, refusal.id) = (Some(route), Some(id));
                }
                lookup.reply_to
            }
            Progress::Counts(request, _) => {
                refusal.route = request.selection.route;
                request.reply_to
            }
            Progress::Future(to, _) => to,
            Progress::HasConsumers(caller, ..) => {
                return QueryOutcome::HasConsumers(caller, Err(refusal));
            }
            Progress::Fresh(caller, _) => return QueryOutcome::Fresh(caller, Err(refusal)),
        };
        QueryOutcome::Reply(to, Reply::Error(refusal))
    }
}

/// Asks each shard which of its revisions are in flight.
fn in_flight_by_shard(seqs: &[u64], shards: u16) -> Vec<(ShardId, LeaderQuery)> {
    let mut by_shard: BTreeMap<ShardId, Vec<u64>> = BTreeMap::new();
    for seq in seqs {
        by_shard.entry(shard_of_seq(*seq)).or_default().push(*seq);
    }
    // A restored store can have numbers of any shard.
    by_shard.retain(|shard, _| shard.0 < shards);
    let queries = by_shard.into_iter();
    let queries = queries.map(|(shard, seqs)| (shard, LeaderQuery::InFlight(seqs)));
    queries.collect()
}
