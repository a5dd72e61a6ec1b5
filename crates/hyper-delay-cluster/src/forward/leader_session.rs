//! The session of this node with the leader of a shard.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use race_wheel::Tick;

use super::{
    deliveries::{LeaderCopy, ServedDelivery},
    leader_queries::QueryId,
    unconfirmed::UnconfirmedOutcomes,
    wire::{ForwardedCopy, ForwardedRequest, LeadershipGrant, NO_ANSWER},
};
use crate::{
    ShardId,
    log::{Leader, NodeName},
};
use hyper_delay_engine::{
    authority::Authority,
    front::Pending,
    ledger::TaskRevision,
    scheduler::{ConsumerId, RequestNumber},
};
use hyper_delay_protocol::DeliverySelector;

/// Later than every other moment.
pub(super) const NEVER: Tick = Tick::new(u64::MAX);

/// See the [module](self).
#[derive(Debug)]
pub(super) struct LeaderSession {
    /// The leader of the shard, as far as this node knows.
    pub(super) leader: Option<Leader>,
    pub(super) state: LeaderSessionState,
    /// When the last session ended; at first, when this node began.
    pub(super) ended: Tick,
    /// Requests that wait for a leader.
    pub(super) queue: VecDeque<QueuedRequest>,
    /// Outcomes of deliveries that were sent to the leader, which may not have received them.
    pub(super) unconfirmed: UnconfirmedOutcomes,
    /// Requests that the leader has and has not answered.
    pub(super) pending: BTreeMap<RequestNumber, PendingRequest>,
    /// The last number of a request.
    last_number: RequestNumber,
    /// The latest leadership that has accepted a session, and the number of the last copy that has
    /// arrived of it.
    last_copy: Option<(u64, u64)>,
    /// The last entry that the replica of this node contains.
    pub(super) applied: u64,
    /// Whether this node has the contents of tasks.
    pub(super) contents: TaskContents,
    /// Copies whose content this node does not have yet, by the place of the journal.
    pub(super) awaiting_copies: BTreeMap<u64, Vec<AwaitingCopy>>,
}

/// The state of a session.
#[derive(Debug)]
pub(super) enum LeaderSessionState {
    /// There is none. One may begin from this moment on.
    Down(Tick),
    /// A leader was asked, at this moment.
    Requested(SessionPartner, Tick),
    /// It lasts.
    Active(ActiveSession),
}

/// The leadership that a session is with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionPartner {
    pub(super) node: NodeName,
    pub(super) epoch: u64,
}

/// A session that lasts.
#[derive(Debug)]
pub(super) struct ActiveSession {
    pub(super) partner: SessionPartner,
    pub(super) authority: Arc<Authority>,
    /// The latest answer to a ping.
    pub(super) grant: LeadershipGrant,
    /// When that came.
    pub(super) last_reply: Tick,
    pub(super) next_ping: Tick,
    /// The leader has got everything from before, and the connections lend it credit.
    pub(super) lends: bool,
}

impl ActiveSession {
    /// Returns what this node knows of a copy that the leader sends.
    pub(super) fn delivered(&self, copy: &ForwardedCopy) -> ServedDelivery {
        ServedDelivery {
            route: copy.revision.route.clone(),
            seq: copy.revision.seq,
            attempt: copy.revision.attempt,
            until: self.grant.to_local(copy.until),
            write_by: self.grant.to_local(copy.write_by),
            is_lost: false,
            origin: LeaderCopy {
                shard: ShardId(self.authority.shard()),
                epoch: self.partner.epoch,
                until_at_leader: copy.until,
                expires: copy.expires.map(|at| self.grant.to_local(Tick::new(at))),
                authority: self.authority.clone(),
            },
        }
    }
}

/// Whether this node has the contents of tasks, for its consumers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskContents {
    /// It has.
    Available,
    /// Its replica stands still. It has them again when that contains this entry.
    Behind(u64),
    /// Its replica has stopped.
    Stopped,
}

/// A copy of a task that waits until this node has its content.
#[derive(Debug)]
pub(super) struct AwaitingCopy {
    pub(super) since: Tick,
    /// From then on it is not written.
    pub(super) write_by: Tick,
    pub(super) consumer: ConsumerId,
    pub(super) copy: ForwardedCopy,
}

/// A request that waits for a leader.
#[derive(Debug)]
pub(super) struct QueuedRequest {
    pub(super) consumer: ConsumerId,
    pub(super) request: QueueableRequest,
    /// It is answered with `unavailable` then, if it is answered at all.
    pub(super) expires: Tick,
}

/// A request that can wait for a leader.
#[derive(Debug)]
pub(super) enum QueueableRequest {
    /// A request.
    Request(Box<ForwardedRequest>, PendingRequest),
    /// An ack, of this delivery. It waits for as long as it takes; only the reply expires, and then it
    /// waits without one.
    Ack(TaskRevision, ServedDelivery, Option<PendingRequest>),
}

/// A request without an answer.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) consumer: ConsumerId,
    pub(super) tag: Option<Arc<str>>,
    /// The part of its connection's room that it takes.
    pub(super) weight: u32,
    pub(super) route: Option<Arc<str>>,
    pub(super) id: Option<Arc<str>>,
    /// What it changes of its connection once it is accepted.
    pub(super) change: Pending,
    pub(super) action: ReplyAction,
}

/// The action that follows from the reply to a request.
#[derive(Debug)]
pub(super) enum ReplyAction {
    /// A delivery is acknowledged. Without an answer, the ack can be repeated.
    Ack(ServedDelivery),
    /// The time to answer this delivery is longer.
    Touch(DeliverySelector),
    /// A part of this query is answered.
    Query(QueryId),
    Other,
}

impl LeaderSession {
    pub(super) fn new(now: Tick) -> Self {
        Self {
            leader: None,
            state: LeaderSessionState::Down(now),
            ended: now,
            queue: VecDeque::new(),
            unconfirmed: UnconfirmedOutcomes::default(),
            pending: BTreeMap::new(),
            last_number: 0,
            last_copy: None,
            applied: 0,
            contents: TaskContents::Available,
            awaiting_copies: BTreeMap::new(),
        }
    }

    /// Returns whether no client waits for an answer. An ack without a reply can wait for a leader for
    /// ever; without it the task is delivered again.
    pub(super) fn awaits_no_answer(&self) -> bool {
        let mut queue = self.queue.iter();
        self.pending.is_empty() && queue.all(|queued| queued.expires == NEVER)
    }

    /// Returns since when the copy waits that came first.
    pub(super) fn awaits_since(&self) -> Option<Tick> {
        let copies = self.awaiting_copies.values().flatten();
        copies.map(|awaiting| awaiting.since).min()
    }

    /// Returns when the first copy that waits is not to be written any more.
    pub(super) fn awaits_until(&self) -> Option<Tick> {
        let copies = self.awaiting_copies.values().flatten();
        copies.map(|awaiting| awaiting.write_by).min()
    }

    /// Removes and returns the copies that wait and are of this kind.
    pub(super) fn take_awaiting(
        &mut self,
        is_it: impl Fn(&AwaitingCopy) -> bool,
    ) -> Vec<AwaitingCopy> {
        let mut taken = Vec::new();
        for copies in self.awaiting_copies.values_mut() {
            taken.extend(copies.extract_if(.., |copy| is_it(copy)));
        }
        self.awaiting_copies.retain(|_, copies| !copies.is_empty());
        taken
    }

    /// A session may begin now, if there is none.
    pub(super) fn try_now(&mut self, now: Tick) {
        if let LeaderSessionState::Down(next) = &mut self.state {
            *next = now.min(*next);
        }
    }

    /// Returns the leadership that the session is with, or is about to be with.
    pub(super) const fn partner(&self) -> Option<&SessionPartner> {
        match &self.state {
            LeaderSessionState::Down(_) => None,
            LeaderSessionState::Requested(partner, _) => Some(partner),
            LeaderSessionState::Active(active) => Some(&active.partner),
        }
    }

    /// Returns the session, if it lasts.
    pub(super) const fn active(&self) -> Option<&ActiveSession> {
        match &self.state {
            LeaderSessionState::Active(active) => Some(active),
            LeaderSessionState::Down(_) | LeaderSessionState::Requested(..) => None,
        }
    }

    pub(super) const fn active_mut(&mut self) -> Option<&mut ActiveSession> {
        match &mut self.state {
            LeaderSessionState::Active(active) => Some(active),
            LeaderSessionState::Down(_) | LeaderSessionState::Requested(..) => None,
        }
    }

    /// Returns the session if it is with this partner.
    pub(super) fn active_with(
        &mut self,
        node: &NodeName,
        epoch: u64,
    ) -> Option<&mut ActiveSession> {
        let active = self.active_mut()?;
        let is_it = active.partner.node == *node && active.partner.epoch == epoch;
        is_it.then_some(active)
    }

    /// Lets something wait for a leader. A reply is not waited for longer than until `expires`.
    pub(super) fn wait(&mut self, consumer: ConsumerId, request: QueueableRequest, expires: Tick) {
        let expires = match &request {
            QueueableRequest::Ack(_, _, None) => NEVER,
            QueueableRequest::Ack(..) | QueueableRequest::Request(..) => expires,
        };
        self.queue.push_back(QueuedRequest {
            consumer,
            request,
            expires,
        });
    }

    /// Returns the number of the last copy of a leadership that has arrived, if there was a session
    /// with it.
    pub(super) fn last_copy(&self, epoch: u64) -> Option<u64> {
        let copy = self.last_copy.filter(|(of, _)| *of == epoch);
        copy.map(|(_, number)| number)
    }

    /// A leadership has accepted a session.
    pub(super) fn accept(&mut self, epoch: u64) {
        self.last_copy = Some((epoch, self.last_copy(epoch).unwrap_or(0)));
    }

    /// A copy with that number has arrived.
    pub(super) const fn note_copy(&mut self, number: u64) {
        if let Some((_, last)) = &mut self.last_copy {
            *last = number;
        }
    }

    /// Adds a request that the leader has. Returns its number.
    pub(super) fn number(&mut self, pending: PendingRequest) -> RequestNumber {
        // From 1 on, and never that of requests without an answer.
        self.last_number = self.last_number % (NO_ANSWER - 1) + 1;
        self.pending.insert(self.last_number, pending);
        self.last_number
    }
}
