//! Sessions begin and end.

use std::sync::Arc;

use race_wheel::Tick;

use super::{
    Forwarder,
    session::{Contents, NEVER, Partner, Pending, Queueable, Session, State, Up, What},
    untold::Fate,
    wire::{Holds, ToLeader},
};
use crate::{
    ShardId,
    log::{Leader, NodeName},
    shard_of,
};
use hyper_delay_engine::{authority::Authority, clock::nanos, scheduler::Adopted};
use hyper_delay_protocol::Mode;

const UNKNOWN: &str = "the leader of the shard of this route is gone, and it is not known whether \
    the request took effect: send it again with the same id";

impl Forwarder {
    /// Does what is due for each shard.
    pub(super) fn advance_sessions(&mut self) {
        for shard in (0..self.setup.shards).map(ShardId) {
            self.expire_requests(shard);
            self.check_contents(shard);
            let now = self.now.monotonic;
            let (lease, answer) = (self.now_minus(1), self.now_minus(4));
            let is_silent = match &self.session(shard).state {
                State::Down(_) => false,
                State::Begun(_, since) => *since <= answer,
                State::Up(up) => up.heard <= lease,
            };
            if is_silent {
                self.end(shard);
            }
            match &self.session(shard).state {
                State::Down(next) if *next <= now => self.begin(shard),
                State::Up(up) if up.next_ping <= now => self.ping(shard),
                _ => {}
            }
        }
    }

    /// Returns the moment a part of the lease ago.
    pub(super) fn now_minus(&self, part: u32) -> Tick {
        let ago = nanos(self.setup.lease / part);
        Tick::new(self.now.monotonic.value().saturating_sub(ago))
    }

    /// Returns when a session has something to do.
    pub(super) fn next_of(&self, session: &Session) -> Option<Tick> {
        let lease = nanos(self.setup.lease);
        let state = match &session.state {
            State::Down(next) => session.leader.as_ref().map(|_| *next),
            State::Begun(_, since) => Some(*since + lease / 4),
            State::Up(up) => Some(up.next_ping.min(up.heard + lease)),
        };
        let awaiting = session.awaits_since().map(|since| since + lease / 2);
        let awaiting = awaiting.into_iter().chain(session.awaits_until());
        // All wait equally long, so the first one that expires is the next.
        let mut queued = session.queue.iter().map(|queued| queued.expires);
        let queued = queued.find(|expires| *expires != NEVER);
        state.into_iter().chain(queued).chain(awaiting).min()
    }

    /// This leads the shard, or did until a moment ago. A session goes on until its leader says
    /// that it has ended, says nothing any more, or has a successor.
    pub(super) fn leader_is(&mut self, shard: ShardId, leader: Option<Leader>) {
        let now = self.now.monotonic;
        let session = self.session(shard);
        let Some(leader) = leader else {
            if session.partner().is_none() {
                session.leader = None;
            }
            return;
        };
        let known = session.leader.as_ref().map(|leader| leader.epoch);
        if known.is_some_and(|known| known > leader.epoch) {
            return;
        }
        if known != Some(leader.epoch) {
            session.try_now(now);
        }
        let partner = session.partner();
        let is_succeeded = partner.is_some_and(|partner| partner.epoch < leader.epoch);
        session.leader = Some(leader);
        if is_succeeded {
            self.end(shard);
        }
    }

    pub(super) fn linked(&mut self, node: NodeName) {
        let now = self.now.monotonic;
        for session in &mut self.sessions {
            let leader = session.leader.as_ref();
            if leader.is_some_and(|leader| leader.member.node == node) {
                session.try_now(now);
            }
        }
        self.linked.insert(node);
    }

    pub(super) fn unlinked(&mut self, node: &NodeName) {
        self.linked.remove(node);
        for shard in (0..self.setup.shards).map(ShardId) {
            let partner = self.session(shard).partner();
            if partner.is_some_and(|partner| partner.node == *node) {
                self.end(shard);
            }
        }
    }

    /// Asks the leader for a session.
    fn begin(&mut self, shard: ShardId) {
        self.count_again(shard);
        let now = self.now;
        let next = now.after(self.setup.pause());
        let Self {
            sessions, linked, ..
        } = self;
        let session = &mut sessions[usize::from(shard.0)];
        let leader = session.leader.as_ref();
        let leader = leader.filter(|leader| linked.contains(&leader.member.node));
        let Some(leader) = leader else {
            session.state = State::Down(next);
            return;
        };
        let partner = Partner {
            node: leader.member.node.clone(),
            epoch: leader.epoch,
        };
        let epoch = partner.epoch;
        session.state = State::Begun(partner, now.monotonic);
        let begin = ToLeader::Begin {
            epoch,
            node: self.setup.node.clone(),
            sent: now.monotonic,
            heard: session.heard(epoch),
        };
        self.send(shard, begin);
    }

    pub(super) fn refused(&mut self, node: &NodeName, shard: ShardId, epoch: u64) {
        let next = self.now.after(self.setup.pause());
        let session = self.session(shard);
        if let State::Begun(partner, _) = &session.state
            && (&partner.node, partner.epoch) == (node, epoch)
        {
            session.state = State::Down(next);
        }
    }

    /// The leader has begun a session: it is told of the connections, and gets what has waited.
    pub(super) fn accepted(&mut self, node: &NodeName, shard: ShardId, epoch: u64, holds: Holds) {
        let now = self.now;
        let session = self.session(shard);
        let State::Begun(partner, sent) = &session.state else {
            return;
        };
        // The answer to an earlier question names a session that the leader ends when it reads the
        // last one: until then it can use up credit that is lent anew here.
        if (&partner.node, partner.epoch, *sent) != (node, epoch, holds.asked) {
            return;
        }
        session.state = State::Up(Up {
            partner: partner.clone(),
            authority: Arc::new(Authority::new(shard.0, holds.here(holds.until))),
            holds,
            heard: now.monotonic,
            next_ping: now.monotonic,
            lends: false,
        });
        session.hears(epoch);
        if self.is_ending {
            self.send(shard, ToLeader::Ending);
        }
        self.introduce(shard, epoch);
        let queue = std::mem::take(&mut self.session(shard).queue);
        for queued in queue {
            self.forward(shard, queued.consumer, queued.what);
        }
        self.send(shard, ToLeader::Ready);
        self.lend_to(shard);
    }

    /// Tells a new leader of the connections that have to do with its shard. It can deliver to them
    /// when they have credit, after it has heard of the acks.
    fn introduce(&mut self, shard: ShardId, epoch: u64) {
        let shards = self.setup.shards;
        let is_here = self.session(shard).contents == Contents::Here;
        let now = self.now.monotonic;
        let (mut told, mut without, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        for (consumer, connection) in &mut self.connections {
            let routes = connection.routes().iter();
            let routes = routes.filter(|(route, _)| shard_of(route, shards) == shard);
            let routes: Vec<(Arc<str>, Mode)> =
                routes.map(|(route, mode)| (route.clone(), *mode)).collect();
            let unsaid = connection.deliveries.unsaid(shard, epoch);
            let in_flight = connection.deliveries.of_shard(shard);
            let adopted: Vec<Adopted> = in_flight
                .filter(|(_, delivered)| delivered.until > now)
                .map(|(id, delivered)| {
                    delivered.epoch = epoch;
                    delivered.adopted(id, now)
                })
                .collect();
            if routes.is_empty() && adopted.is_empty() && unsaid.is_empty() {
                connection.lending.remove(shard);
                without.push(*consumer);
                continue;
            }
            connection.opened.insert(shard);
            told.push(ToLeader::Opened(*consumer));
            // The leader counts a copy as in flight until it hears what has become of it, and an id
            // once at a time.
            for (id, delivered, message) in unsaid {
                let adopted = vec![delivered.adopted(&id, now)];
                told.extend([ToLeader::Adopted(*consumer, adopted), message.clone()]);
                repeated.push((*consumer, Fate::NotDone(id, delivered, message)));
            }
            if !adopted.is_empty() {
                told.push(ToLeader::Adopted(*consumer, adopted));
            }
            // Without the contents a connection takes no copies, but its own route has a consumer: its
            // tasks are not orphaned.
            let own = connection.own_route().cloned();
            let is_bound = |route: &Arc<str>| is_here || own.as_ref() == Some(route);
            if connection.is_closing || !is_here {
                told.push(ToLeader::Closing(*consumer));
            }
            if connection.is_closing {
                continue;
            }
            let bound = routes.into_iter().filter(|(route, _)| is_bound(route));
            told.extend(bound.map(|(route, mode)| ToLeader::Bound(*consumer, route, mode)));
        }
        for message in told {
            self.send(shard, message);
        }
        // This link can break, too.
        for (consumer, fate) in repeated {
            self.session(shard).untold.sent(now, consumer, fate);
        }
        for consumer in without {
            self.balance(consumer);
        }
    }

    fn ping(&mut self, shard: ShardId) {
        let sent = self.now.monotonic;
        let next_ping = self.now.after(self.setup.ping());
        let session = self.session(shard);
        if let Some(up) = session.up_mut() {
            up.next_ping = next_ping;
            let epoch = up.partner.epoch;
            let heard = session.heard(epoch).unwrap_or(0);
            self.send(shard, ToLeader::Ping { sent, heard });
        }
    }

    pub(super) fn holds(&mut self, node: &NodeName, shard: ShardId, epoch: u64, holds: Holds) {
        let now = self.now.monotonic;
        let session = self.session(shard);
        if let Some(up) = session.with(node, epoch) {
            up.heard = now;
            up.holds = holds;
            up.authority.extend(holds.here(holds.until));
            session.untold.taken(holds.asked);
        }
    }

    /// The leader says that its leadership has ended.
    pub(super) fn ended(&mut self, node: &NodeName, shard: ShardId, epoch: u64) {
        let partner = self.session(shard).partner();
        if partner.is_some_and(|it| it.node == *node && it.epoch == epoch) {
            self.session(shard).leader = None;
            self.end(shard);
        }
        let released = ToLeader::Released { epoch };
        self.effects
            .to_leaders
            .push((node.clone(), shard, released));
    }

    /// Ends a session. What the leader has not answered is answered here.
    pub(super) fn end(&mut self, shard: ShardId) {
        let now = self.now.monotonic;
        let session = self.session(shard);
        let before = std::mem::replace(&mut session.state, State::Down(now));
        let awaiting = std::mem::take(&mut session.awaiting);
        let pending = std::mem::take(&mut session.pending);
        if let State::Up(up) = before {
            session.ended = now;
            self.tell_again(shard);
            self.not_passed_on(&up, awaiting.into_values().flatten());
            up.authority.revoke();
            self.effects.revoked.push(up.authority);
        }
        for (_, pending) in pending {
            self.gives_up(shard, pending, UNKNOWN);
        }
        let mut consumers = Vec::new();
        for (consumer, connection) in &mut self.connections {
            if connection.opened.remove(&shard) {
                let used = connection.used(shard, now);
                connection.lending.close(shard, used);
                consumers.push(*consumer);
            }
        }
        for consumer in consumers {
            self.balance(consumer);
        }
    }

    /// Refuses what has waited too long for a leader.
    fn expire_requests(&mut self, shard: ShardId) {
        let now = self.now.monotonic;
        let session = self.session(shard);
        let is_over = |at: Tick| at <= now;
        let mut expire = session.queue.iter().map(|queued| queued.expires);
        if !expire.find(|at| *at != NEVER).is_some_and(is_over) {
            return;
        }
        let mut expired = Vec::new();
        for queued in std::mem::take(&mut session.queue) {
            if !is_over(queued.expires) {
                session.queue.push_back(queued);
                continue;
            }
            match queued.what {
                Queueable::Request(_, pending) => expired.push(pending),
                // Without a reply it never expires.
                Queueable::Ack(_, delivered, pending) => {
                    expired.extend(pending.map(|pending| Pending {
                        what: What::Ack(delivered),
                        ..pending
                    }));
                }
            }
        }
        for pending in expired {
            self.gives_up(shard, pending, &self.no_leader());
        }
    }
}
