mod deliveries;
mod own_routes;
mod queued_deliveries;
mod registrations;
mod requests;
mod sessions;
mod unconfirmed;

use std::{collections::BTreeMap, sync::Arc};

use race_wheel::Tick;

use super::{
    wire::{
        ForwardedCopy, ForwardedRequest, LeaderQuery, LeaderQueryAnswer, LeadershipGrant,
        ToConnection, ToLeader, ToServing, UnsentDelivery,
    },
    *,
};
use crate::{log::Member, shard_of};
use hyper_delay_engine::{
    front::{ClientRequest, NewIds, ReplyTo, StatsRequest},
    ledger::TaskRevision,
    scheduler::{CopyId, CreditChange, RouteRequest, RouteSelection, UnsentReason},
};
use hyper_delay_protocol::{Accept, Code, Reason, RegisterMode, Request, Stats, parse};

const MILLI: u64 = 1_000_000;
const CLIENT: ConsumerId = 5;

fn at(millis: u64) -> Now {
    Now {
        wall_nanos: (1_000_000 + millis) * MILLI,
        monotonic: Tick::new((10_000 + millis) * MILLI),
    }
}

/// For a simulation.
impl Forwarder {
    /// Takes the ids and names that its front makes from there.
    pub(crate) fn with_new_ids(self, new_ids: NewIds) -> Self {
        Self {
            front: self.front.with_new_ids(new_ids),
            ..self
        }
    }

    /// Returns whether a connection of this node has a route.
    pub(crate) fn has_route(&self, route: &str) -> bool {
        let mut connections = self.front.connections();
        connections.any(|consumer| self.front.has_route(consumer, route))
    }

    /// Returns whether there is a session with each leader, and nothing waits for one.
    pub(crate) fn is_quiet(&self) -> bool {
        let mut shards = (0..self.shards).map(ShardId);
        shards.all(|shard| self.sessions[shard].lends()) && self.sessions.await_no_answer()
    }
}

/// A forwarder of node `a` with a client, at a time in milliseconds.
struct World {
    forwarder: Forwarder,
    now: u64,
    /// When leaders were asked for a session.
    asked: BTreeMap<ShardId, Tick>,
}

impl World {
    fn new(shards: u16) -> Self {
        let config = Config {
            credit: 10,
            max_routes_per_connection: 3,
            max_routes: 5,
            max_delay_days: 1,
            max_line_bytes: 65_536,
            ..Config::default()
        };
        let lease = Duration::from_millis(2_000);
        let setup = ForwarderSetup::new("a".into(), shards, lease, &config);
        let mut world = Self {
            forwarder: Forwarder::new(setup, Arc::default(), at(0)),
            now: 0,
            asked: BTreeMap::new(),
        };
        world.event(ForwarderEvent::Linked("b".into()));
        world.event(ForwarderEvent::Linked("c".into()));
        world.event(ForwarderEvent::Input(FrontInput::Opened(CLIENT)));
        world
    }

    fn event(&mut self, event: ForwarderEvent) {
        self.forwarder.handle(event, at(self.now));
    }

    fn asks(&mut self, json: &str) {
        self.asks_as(CLIENT, json);
    }

    fn asks_as(&mut self, consumer: ConsumerId, json: &str) {
        let line = parse(json.as_bytes()).unwrap();
        let Request::Task(request) = line.request else {
            panic!("{json} is no request to the scheduler");
        };
        let ask = ClientRequest {
            tag: line.tag,
            request,
            weight: 3,
            grant: None,
        };
        self.event(ForwarderEvent::Input(FrontInput::Requested(
            consumer,
            vec![ask],
        )));
    }

    fn effects(&mut self) -> ForwarderEffects {
        self.forwarder.tick(at(self.now));
        let effects = self.forwarder.take_effects();
        for (_, shard, message) in &effects.to_leaders {
            if let ToLeader::Begin { sent, .. } = message {
                self.asked.insert(*shard, *sent);
            }
        }
        effects
    }

    /// Returns the messages to leaders, except pings.
    fn sent(&mut self) -> Vec<ToLeader> {
        let sent = self.effects().to_leaders.into_iter();
        let sent = sent.map(|(_, _, message)| message);
        sent.filter(|it| !matches!(it, ToLeader::Ping { .. }))
            .collect()
    }

    /// The replies to the client: the codes of errors, and the names of other replies.
    fn replies(&mut self) -> Vec<String> {
        let messages = self.effects().messages.into_iter();
        let replies = messages.map(|(_, message)| match message {
            ConsumerMessage::Reply {
                reply: Reply::Error(refusal),
                ..
            } => refusal.code.as_str().to_owned(),
            ConsumerMessage::Reply { reply, .. } => {
                let mut line = Vec::new();
                reply.encode(None, &mut line);
                let line = String::from_utf8(line).unwrap();
                line.split('"').nth(3).unwrap().to_owned()
            }
            ConsumerMessage::Deliver { id, route, .. } => format!("{id} of {route}"),
            other => format!("{other:?}"),
        });
        replies.collect()
    }

    fn leads(&mut self, shard: u16, node: &str, epoch: u64) {
        let leader = Leader {
            member: Member {
                node: node.into(),
                address: "there:1".into(),
            },
            epoch,
            lease: crate::log::LeaseId(1),
        };
        self.event(ForwarderEvent::Leader(ShardId(shard), Some(leader)));
    }

    fn leader_sends(&mut self, shard: u16, node: &str, message: ToServing) {
        self.event(ForwarderEvent::LeaderMessage(
            node.into(),
            ShardId(shard),
            message,
        ));
    }

    fn holds(&self) -> LeadershipGrant {
        LeadershipGrant {
            asked_at: at(self.now).monotonic,
            at: Tick::new(77),
            until: Tick::new(77 + 1_000 * MILLI),
        }
    }

    /// The leader accepts the session that it was asked for last.
    fn accepts(&mut self, shard: u16, node: &str, epoch: u64) {
        let mut grant = self.holds();
        if let Some(sent) = self.asked.get(&ShardId(shard)) {
            grant.asked_at = *sent;
        }
        self.leader_sends(shard, node, ToServing::Accepted { epoch, grant });
    }

    fn up(&mut self, shard: u16, node: &str, epoch: u64) {
        self.leads(shard, node, epoch);
        self.effects();
        self.accepts(shard, node, epoch);
    }

    fn delivers(&mut self, shard: u16, (route, id, seq): (&str, &str, u64), after: u64) {
        self.delivers_round(shard, (route, id, seq, 1), after);
    }

    /// The leader that there is a session with sends a delivery of a round.
    fn delivers_round(
        &mut self,
        shard: u16,
        (route, id, seq, attempt): (&str, &str, u64, u32),
        after: u64,
    ) {
        let partner = self.forwarder.session(ShardId(shard)).partner();
        let node = partner.expect("there is a session").node.to_string();
        let copy = ForwardedCopy {
            number: seq,
            revision: TaskRevision {
                route: route.into(),
                id: id.into(),
                seq,
                attempt,
            },
            due: 3,
            until: Tick::new(77 + 30_000 * MILLI),
            write_by: Tick::new(77 + 29_000 * MILLI),
            expires: None,
            after,
        };
        let message = ToConnection::Deliver(Box::new(copy));
        self.leader_sends(shard, &node, ToServing::Connection(CLIENT, message));
    }
}

/// Routes of two shards.
fn routes() -> [String; 2] {
    [0, 1].map(|shard| {
        let mut names = (0..).map(|number| format!("r{number}"));
        names.find(|name| shard_of(name, 2).0 == shard).unwrap()
    })
}

const CANCEL: &str = r#"{"kind":"cancel","route_key":"r","id":"x"}"#;
