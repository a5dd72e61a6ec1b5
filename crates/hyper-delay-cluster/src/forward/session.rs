//! The way from this node to the leader of a shard.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use race_wheel::Tick;

use super::{
    deliveries::Delivered,
    looks::LookId,
    untold::Untold,
    wire::{Asked, Copy, Holds, NO_ANSWER, Number},
    wishes::WishId,
};
use crate::{
    ShardId,
    log::{Leader, NodeName},
};
use hyper_delay_engine::{authority::Authority, ledger::Subject, scheduler::ConsumerId};
use hyper_delay_protocol::{Mode, Named};

/// Later than every other moment.
pub(super) const NEVER: Tick = Tick::new(u64::MAX);

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Session {
    /// Who leads the shard, as far as this node knows.
    pub(super) leader: Option<Leader>,
    pub(super) state: State,
    /// When the last session ended; at first, when this node began.
    pub(super) ended: Tick,
    /// What waits for a leader.
    pub(super) queue: VecDeque<Queued>,
    /// What the leader was told of deliveries and may not have taken.
    pub(super) untold: Untold,
    /// Requests that the leader has and has not answered.
    pub(super) pending: BTreeMap<Number, Pending>,
    /// The last number of a request.
    last: Number,
    /// The latest leadership that has accepted a session, and the number of the last copy that has
    /// arrived of it.
    heard: Option<(u64, u64)>,
    /// How far the replica of this node is.
    pub(super) applied: u64,
    /// Whether this node has the contents of tasks.
    pub(super) contents: Contents,
    /// Copies whose content this node does not have yet, by the place of the journal.
    pub(super) awaiting: BTreeMap<u64, Vec<Awaiting>>,
    /// Questions that wait until the replica of this node contains an entry.
    pub(super) reading: BTreeMap<u64, Vec<LookId>>,
}

/// The state of a session.
#[derive(Debug)]
pub(super) enum State {
    /// There is none. One may begin from this moment on.
    Down(Tick),
    /// A leader was asked, at this moment.
    Begun(Partner, Tick),
    /// It lasts.
    Up(Up),
}

/// The leadership that a session is with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Partner {
    pub(super) node: NodeName,
    pub(super) epoch: u64,
}

/// A session that lasts.
#[derive(Debug)]
pub(super) struct Up {
    pub(super) partner: Partner,
    pub(super) authority: Arc<Authority>,
    /// The latest answer to a ping.
    pub(super) holds: Holds,
    /// When that came.
    pub(super) heard: Tick,
    pub(super) next_ping: Tick,
    /// The leader has been told everything from before, and the connections lend it credit.
    pub(super) lends: bool,
}

impl Up {
    /// Returns what this node knows of a copy that the leader sends.
    pub(super) fn delivered(&self, copy: &Copy) -> Delivered {
        Delivered {
            shard: ShardId(self.authority.shard()),
            route: copy.subject.route.clone(),
            seq: copy.subject.seq,
            attempt: copy.subject.attempt,
            epoch: self.partner.epoch,
            until: self.holds.here(copy.until),
            until_there: copy.until,
            write_by: self.holds.here(copy.write_by),
            expires: copy.expires.map(|at| self.holds.here(Tick::new(at))),
            authority: self.authority.clone(),
        }
    }
}

/// Whether this node has the contents of tasks, for its consumers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contents {
    /// It has.
    Here,
    /// Its replica stands still. It has them again when that contains this entry.
    Behind(u64),
    /// Its replica has stopped.
    Stopped,
}

/// A copy of a task that waits until this node has its content.
#[derive(Debug)]
pub(super) struct Awaiting {
    pub(super) since: Tick,
    /// From then on it is not written.
    pub(super) write_by: Tick,
    pub(super) consumer: ConsumerId,
    pub(super) copy: Copy,
}

/// A request that waits for a leader.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) consumer: ConsumerId,
    pub(super) what: Queueable,
    /// It is answered with `unavailable` then, if it is answered at all.
    pub(super) expires: Tick,
}

/// What can wait for a leader.
#[derive(Debug)]
pub(super) enum Queueable {
    /// A request.
    Request(Box<Asked>, Pending),
    /// An ack, of this delivery. It waits for as long as it takes; only the reply expires, and then it
    /// waits without one.
    Ack(Subject, Delivered, Option<Pending>),
}

/// A request without an answer.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) consumer: ConsumerId,
    pub(super) tag: Option<Arc<str>>,
    /// How much of its connection's room it takes.
    pub(super) weight: u32,
    pub(super) route: Option<Arc<str>>,
    pub(super) id: Option<Arc<str>>,
    pub(super) what: What,
}

/// What follows from the answer to a request.
#[derive(Debug)]
pub(super) enum What {
    /// The connection has registered the route.
    Register {
        mode: Mode,
        /// It had not before.
        is_new: bool,
        /// What it asks for beside the route.
        wish: Option<WishId>,
    },
    /// A task of the connection's own route is scheduled, which was registered for it.
    ScheduleOnOwn,
    /// A delivery is acknowledged. Without an answer, the ack can be repeated.
    Ack(Delivered),
    /// The time to answer this delivery is longer.
    Touch(Named),
    /// A part of this question is answered.
    Look(LookId),
    Other,
}

impl Session {
    pub(super) fn new(now: Tick) -> Self {
        Self {
            leader: None,
            state: State::Down(now),
            ended: now,
            queue: VecDeque::new(),
            untold: Untold::default(),
            pending: BTreeMap::new(),
            last: 0,
            heard: None,
            applied: 0,
            contents: Contents::Here,
            awaiting: BTreeMap::new(),
            reading: BTreeMap::new(),
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
        let copies = self.awaiting.values().flatten();
        copies.map(|awaiting| awaiting.since).min()
    }

    /// Returns when the first copy that waits is not to be written any more.
    pub(super) fn awaits_until(&self) -> Option<Tick> {
        let copies = self.awaiting.values().flatten();
        copies.map(|awaiting| awaiting.write_by).min()
    }

    /// Removes and returns the copies that wait and are of this kind.
    pub(super) fn take_awaiting(&mut self, is_it: impl Fn(&Awaiting) -> bool) -> Vec<Awaiting> {
        let mut taken = Vec::new();
        for copies in self.awaiting.values_mut() {
            taken.extend(copies.extract_if(.., |copy| is_it(copy)));
        }
        self.awaiting.retain(|_, copies| !copies.is_empty());
        taken
    }

    /// A session may begin now, if there is none.
    pub(super) fn try_now(&mut self, now: Tick) {
        if let State::Down(next) = &mut self.state {
            *next = now.min(*next);
        }
    }

    /// Returns the leadership that the session is with, or is about to be with.
    pub(super) const fn partner(&self) -> Option<&Partner> {
        match &self.state {
            State::Down(_) => None,
            State::Begun(partner, _) => Some(partner),
            State::Up(up) => Some(&up.partner),
        }
    }

    /// Returns the session, if it lasts.
    pub(super) const fn up(&self) -> Option<&Up> {
        match &self.state {
            State::Up(up) => Some(up),
            State::Down(_) | State::Begun(..) => None,
        }
    }

    pub(super) const fn up_mut(&mut self) -> Option<&mut Up> {
        match &mut self.state {
            State::Up(up) => Some(up),
            State::Down(_) | State::Begun(..) => None,
        }
    }

    /// Returns the session if it is with this partner.
    pub(super) fn with(&mut self, node: &NodeName, epoch: u64) -> Option<&mut Up> {
        let up = self.up_mut()?;
        let is_it = up.partner.node == *node && up.partner.epoch == epoch;
        is_it.then_some(up)
    }

    /// Lets something wait for a leader. A reply is not waited for longer than until `expires`.
    pub(super) fn wait(&mut self, consumer: ConsumerId, what: Queueable, expires: Tick) {
        let expires = match &what {
            Queueable::Ack(_, _, None) => NEVER,
            Queueable::Ack(..) | Queueable::Request(..) => expires,
        };
        self.queue.push_back(Queued {
            consumer,
            what,
            expires,
        });
    }

    /// Returns the number of the last copy of a leadership that has arrived, if there was a session
    /// with it.
    pub(super) fn heard(&self, epoch: u64) -> Option<u64> {
        let heard = self.heard.filter(|(of, _)| *of == epoch);
        heard.map(|(_, number)| number)
    }

    /// A leadership has accepted a session.
    pub(super) fn hears(&mut self, epoch: u64) {
        self.heard = Some((epoch, self.heard(epoch).unwrap_or(0)));
    }

    /// A copy with that number has arrived.
    pub(super) const fn has_heard(&mut self, number: u64) {
        if let Some((_, last)) = &mut self.heard {
            *last = number;
        }
    }

    /// Adds a request that the leader has. Returns its number.
    pub(super) fn number(&mut self, pending: Pending) -> Number {
        // From 1 on, and never that of requests without an answer.
        self.last = self.last % (NO_ANSWER - 1) + 1;
        self.pending.insert(self.last, pending);
        self.last
    }
}
