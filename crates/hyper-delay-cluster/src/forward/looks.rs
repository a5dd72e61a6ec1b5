//! Questions to the leaders of several shards, which are answered together.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use race_wheel::Tick;

use super::{
    Forwarder,
    session::{Pending, Queueable, What},
    wire::{Asked, Look, Looked},
};
use crate::{ShardId, shard_of_seq};
use hyper_delay_engine::scheduler::{
    ConsumerId, Counted, CountsAsked, Message, ReplyTo, SeenTasks,
};
use hyper_delay_protocol::{Code, Future, Refusal, Reply};

const LATE: &str = "this node has not caught up with the others in time: send it again, or ask \
    another node";

/// The number of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LookId(u64);

/// Who asks something of this node, by a number of its own.
pub(crate) type AskedId = u64;

/// No connection has this number.
const NO_CONSUMER: ConsumerId = 0;

/// The questions without an answer.
#[derive(Debug, Default)]
pub(super) struct Looks {
    last: u64,
    open: BTreeMap<LookId, Question>,
}

/// A question.
#[derive(Debug)]
struct Question {
    asked: Wanted,
    /// The shards that have not answered.
    without: BTreeSet<ShardId>,
    /// It is given up then.
    expires: Tick,
}

/// What a question asks for, with the answers so far.
#[derive(Debug)]
enum Wanted {
    /// Which tasks are in flight.
    Seen(Box<SeenTasks>, BTreeMap<u64, u32>),
    /// Counts of what is in memory.
    Counts(Box<CountsAsked>, Vec<Counted>),
    /// How many tasks wait for the minutes, hours and days ahead.
    Future(ReplyTo, Box<Future>),
    /// Whether a route has consumers.
    HasConsumers(AskedId, Option<bool>),
    /// That the replicas of this node contain all that was acknowledged before.
    Fresh(AskedId),
}

impl Forwarder {
    /// A connection has read tasks: the leaders know which are in flight.
    pub(super) fn seen(&mut self, seen: Box<SeenTasks>) {
        let mut of_shards: BTreeMap<ShardId, Vec<u64>> = BTreeMap::new();
        for seq in &seen.seqs {
            of_shards.entry(shard_of_seq(*seq)).or_default().push(*seq);
        }
        // A restored store can have numbers of any shard.
        of_shards.retain(|shard, _| shard.0 < self.setup.shards);
        let looks = of_shards.into_iter();
        let looks = looks.map(|(shard, seqs)| (shard, Look::InFlight(seqs)));
        let looks = looks.collect();
        self.look(Wanted::Seen(seen, BTreeMap::new()), looks);
    }

    /// A connection has read counts: the leaders know what is in memory.
    pub(super) fn counts(&mut self, asked: Box<CountsAsked>) {
        // The sums are of all shards, also if one route is listed.
        let looks = self.shards_of(None);
        let looks = looks.map(|shard| (shard, Look::Counts(asked.listed.clone())));
        let looks = looks.collect();
        self.look(Wanted::Counts(asked, Vec::new()), looks);
    }

    /// Somebody asks whether a route has consumers: its leader knows.
    pub(super) fn has_consumers(&mut self, id: AskedId, route: Arc<str>) {
        let looks = vec![(self.shard_of(&route), Look::HasConsumers(route))];
        self.look(Wanted::HasConsumers(id, None), looks);
    }

    /// A connection asks how many tasks wait: the leaders count them.
    pub(super) fn future(&mut self, reply_to: ReplyTo) {
        let now = self.now.wall_millis();
        let looks = self.shards_of(None);
        let looks = looks.map(|shard| (shard, Look::Future(now))).collect();
        self.look(Wanted::Future(reply_to, Box::default()), looks);
    }

    /// Somebody is about to read the replicas of this node, of a route or of all.
    pub(super) fn fresh(&mut self, id: AskedId, route: Option<&str>) {
        let looks = self.shards_of(route).map(|shard| (shard, Look::Applied));
        let looks = looks.collect();
        self.look(Wanted::Fresh(id), looks);
    }

    fn shards_of(&self, route: Option<&str>) -> impl Iterator<Item = ShardId> + use<> {
        let shards = match route {
            Some(route) => {
                let shard = self.shard_of(route).0;
                shard..shard + 1
            }
            None => 0..self.setup.shards,
        };
        shards.map(ShardId)
    }

    fn look(&mut self, asked: Wanted, looks: Vec<(ShardId, Look)>) {
        self.looks.last += 1;
        let id = LookId(self.looks.last);
        let question = Question {
            asked,
            without: looks.iter().map(|(shard, _)| *shard).collect(),
            expires: self.now.after(2 * self.setup.lease),
        };
        self.looks.open.insert(id, question);
        for (shard, look) in looks {
            self.ask_leader(id, shard, look);
        }
        self.finish_look(id);
    }

    /// The leader of a shard has answered a question.
    pub(super) fn looked(&mut self, shard: ShardId, number: u32, looked: Looked) {
        let now = self.now.monotonic;
        let session = self.session(shard);
        // What a leader says of the end of the journal counts only if no other leads by now.
        let holds = session.up().is_some_and(|up| up.authority.holds(now));
        let Some(Pending {
            what: What::Look(id),
            ..
        }) = session.pending.remove(&number)
        else {
            return;
        };
        let applied = session.applied;
        let Some(question) = self.looks.open.get_mut(&id) else {
            return;
        };
        match (&mut question.asked, looked) {
            (Wanted::Seen(_, known), Looked::InFlight(seqs)) => known.extend(seqs),
            (Wanted::Counts(_, known), Looked::Counts(counted)) => known.push(counted),
            (Wanted::HasConsumers(_, known), Looked::HasConsumers(has)) => *known = Some(has),
            (Wanted::Future(_, sum), Looked::Future(future)) if sum.minutes.tasks.is_empty() => {
                *sum = future;
            }
            (Wanted::Future(_, sum), Looked::Future(future)) => sum.add(&future),
            (Wanted::Fresh(_), Looked::Applied(_)) if !holds => {
                return self.ask_leader(id, shard, Look::Applied);
            }
            (Wanted::Fresh(_), Looked::Applied(seq)) if seq > applied => {
                let waiting = &mut self.session(shard).reading;
                return waiting.entry(seq).or_default().push(id);
            }
            (Wanted::Fresh(_), Looked::Applied(_)) => {}
            (_, looked) => debug_assert!(false, "{looked:?} answers something else"),
        }
        self.answered_by(id, shard);
    }

    fn ask_leader(&mut self, id: LookId, shard: ShardId, look: Look) {
        let pending = Pending {
            consumer: NO_CONSUMER,
            tag: None,
            weight: 0,
            route: None,
            id: None,
            what: What::Look(id),
        };
        let request = Queueable::Request(Box::new(Asked::Look(look)), pending);
        self.forward(shard, NO_CONSUMER, request);
    }

    /// A replica of this node contains what these questions wait for.
    pub(super) fn has_caught_up(&mut self, shard: ShardId, ids: Vec<LookId>) {
        for id in ids {
            self.answered_by(id, shard);
        }
    }

    fn answered_by(&mut self, id: LookId, shard: ShardId) {
        if let Some(question) = self.looks.open.get_mut(&id) {
            question.without.remove(&shard);
        }
        self.finish_look(id);
    }

    /// Answers a question if all shards have answered.
    fn finish_look(&mut self, id: LookId) {
        let question = self.looks.open.get(&id);
        if question.is_none_or(|question| !question.without.is_empty()) {
            return;
        }
        let (to, reply) = match self.looks.open.remove(&id).map(|it| it.asked) {
            Some(Wanted::Seen(seen, in_flight)) => seen.complete(&in_flight),
            Some(Wanted::Counts(asked, counted)) => {
                let connections = self.connections.len() as u64;
                let room = self.setup.max_line_bytes;
                asked.complete(counted, connections, &self.metrics, room)
            }
            Some(Wanted::HasConsumers(id, known)) => {
                let has = known.ok_or_else(|| Refusal::new(Code::Unavailable, LATE));
                return self.effects.has_consumers.push((id, has));
            }
            Some(Wanted::Future(reply_to, future)) => (reply_to, Reply::Future(future)),
            Some(Wanted::Fresh(id)) => return self.effects.fresh.push((id, Ok(()))),
            None => return,
        };
        self.answer_look(to, reply);
    }

    /// A shard does not answer a question: it has no answer.
    pub(super) fn look_fails(&mut self, id: LookId, message: &str) {
        let Some(question) = self.looks.open.remove(&id) else {
            return;
        };
        for session in &mut self.sessions {
            session.reading.retain(|_, ids| {
                ids.retain(|waiting| *waiting != id);
                !ids.is_empty()
            });
        }
        let refusal = |route: Option<Arc<str>>| Refusal {
            route,
            ..Refusal::new(Code::Unavailable, message)
        };
        let (to, refusal) = match question.asked {
            Wanted::Seen(seen, _) => {
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
            Wanted::Future(reply_to, _) => (reply_to, refusal(None)),
            Wanted::HasConsumers(id, _) => {
                return self.effects.has_consumers.push((id, Err(refusal(None))));
            }
            Wanted::Counts(asked, _) => (asked.reply_to, refusal(asked.listed.route)),
            Wanted::Fresh(id) => return self.effects.fresh.push((id, Err(refusal(None)))),
        };
        self.answer_look(to, Reply::Error(refusal));
    }

    /// Gives up questions that this node cannot answer, because it does not catch up.
    pub(super) fn expire_looks(&mut self) {
        let now = self.now.monotonic;
        let expired = self.looks.open.iter();
        let expired = expired.filter(|(_, question)| question.expires <= now);
        let expired: Vec<LookId> = expired.map(|(id, _)| *id).collect();
        for id in expired {
            self.look_fails(id, LATE);
        }
    }

    /// Returns when a question expires.
    pub(super) fn next_look(&self) -> Option<Tick> {
        // All wait equally long.
        let (_, first) = self.looks.open.first_key_value()?;
        Some(first.expires)
    }

    fn answer_look(&mut self, to: ReplyTo, reply: Reply) {
        let ReplyTo {
            consumer,
            tag,
            weight,
        } = to;
        let message = Message::Reply { reply, tag, weight };
        self.effects.messages.push((consumer, message));
    }
}
