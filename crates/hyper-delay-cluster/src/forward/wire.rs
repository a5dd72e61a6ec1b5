//! Messages between serving nodes and leaders about the connections of clients.
//!
//! A *session* joins a serving node to the leader of a shard: one leadership, over one link. In it,
//! the messages of each side arrive in the order in which they were sent, or the session ends.

mod requests;

use std::sync::Arc;

use race_wheel::Tick;
use serde::{Deserialize, Serialize};

use crate::log::NodeName;
use hyper_delay_engine::{
    ledger::{Actor, TaskRevision},
    scheduler::{
        ConsumerId, CreditChange, RequestNumber, RouteRequest, RouteSelection, StatsFromMemory,
        UnansweredDelivery, UnsentReason,
    },
};
use hyper_delay_protocol::{AdminRequest, DeliverySelector, DueCounts, RegisterMode, Reply};

/// From a serving node to the leader of a shard. Connections have the numbers of the serving node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ToLeader {
    /// Begins a session with this leadership. It is accepted or refused.
    Begin {
        /// The leadership.
        epoch: u64,
        /// The serving node.
        node: NodeName,
        /// The time of the serving node.
        #[serde(with = "tick")]
        sent: Tick,
        /// The number of the last copy of this leadership that has arrived. `None`: there was no
        /// session with it before, as far as the serving node knows.
        last_copy: Option<u64>,
    },
    /// Asks for how long this leadership holds.
    Ping {
        /// The time of the serving node.
        #[serde(with = "tick")]
        sent: Tick,
        /// The number of the last copy of this leadership that has arrived; 0 if none has.
        last_copy: u64,
    },
    /// Every connection and what it has in flight was reported: new deliveries may begin.
    Ready,
    /// The serving node ends. What its connections have in flight when they close, or when the link
    /// breaks, has not failed.
    Ending,
    /// The session has ended on the serving node, and none of its deliveries is sent any more.
    Released {
        /// The leadership.
        epoch: u64,
    },
    /// A connection takes part.
    Opened(ConsumerId),
    /// A registration that an earlier leadership has acknowledged, or of the connection's own
    /// route.
    Bound(ConsumerId, Arc<str>, RegisterMode),
    /// The copies that a connection has in flight from an earlier leadership.
    Adopted(ConsumerId, Vec<UnansweredDelivery>),
    /// A connection may have this many more copies in flight.
    Lent(ConsumerId, u16),
    /// A connection may have this many less; they are returned as soon as they are not used.
    Recalled(ConsumerId, u16),
    /// A connection is about to close.
    Closing(ConsumerId),
    /// A connection is closed.
    Closed(ConsumerId),
    /// A request, which is answered.
    Request(ConsumerId, RequestNumber, Box<ForwardedRequest>),
    /// The work of a delivery is done.
    Acked {
        /// The connection.
        consumer: ConsumerId,
        /// Its task.
        revision: TaskRevision,
        /// To be answered once the removal is durable.
        confirm: Option<RequestNumber>,
    },
    /// A delivery is given back.
    Nacked {
        /// The connection.
        consumer: ConsumerId,
        /// Its name.
        named: DeliverySelector,
        /// Its revision.
        seq: u64,
        /// Time until the next round in milliseconds.
        delay_ms: Option<u64>,
        /// Why.
        reason: Option<Arc<str>>,
        /// Whether the consumer has failed.
        failed: bool,
    },
    /// A delivery was not sent.
    NotSent(ConsumerId, UnsentDelivery),
}

/// A request of a client.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ForwardedRequest {
    /// Of a producer or consumer.
    Request(#[serde(with = "requests::of_route")] RouteRequest),
    /// Of an operator.
    Operator(#[serde(with = "requests")] AdminRequest, Actor),
    /// A query, which changes nothing.
    Query(LeaderQuery),
}

/// A query for something that only the leader of a shard knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum LeaderQuery {
    /// The last entry of its store. Everything that was acknowledged before the query is there.
    Applied,
    /// Which of these revisions are in flight.
    InFlight(Vec<u64>),
    /// Counts of its memory.
    Counts(RouteSelection),
    /// Whether a route has consumers.
    HasConsumers(Arc<str>),
    /// How many tasks wait for the minutes, hours and days from this time on, in Unix milliseconds.
    Future(u64),
}

/// The answer to a [`LeaderQuery`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum LeaderQueryAnswer {
    /// The place of the last entry of the journal.
    Applied(u64),
    /// The revisions in flight, with their attempts.
    InFlight(Vec<(u64, u32)>),
    /// Counts of its memory.
    Counts(StatsFromMemory),
    /// Whether a route has consumers.
    HasConsumers(bool),
    /// How many tasks wait for the minutes, hours and days ahead.
    Future(Box<DueCounts>),
}

/// A delivery that was not sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct UnsentDelivery {
    /// Its revision.
    pub(crate) seq: u64,
    /// Its task.
    pub(crate) id: Arc<str>,
    /// Why.
    pub(crate) why: UnsentReason,
}

/// The time for which a leadership holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeadershipGrant {
    /// The time of the serving node when it asked.
    #[serde(with = "tick")]
    pub(crate) asked_at: Tick,
    /// The time of the leader when it answered.
    #[serde(with = "tick")]
    pub(crate) at: Tick,
    /// On the clock of the leader: no other leadership begins before.
    #[serde(with = "tick")]
    pub(crate) until: Tick,
}

impl LeadershipGrant {
    /// Converts a time of the leader to one of the serving node that is not later: the leader
    /// answered after it was asked.
    pub(crate) fn to_local(self, there: Tick) -> Tick {
        if there >= self.at {
            return self.asked_at + there.since(self.at);
        }
        let behind = self.at.since(there);
        Tick::new(self.asked_at.value().saturating_sub(behind))
    }
}

/// From the leader of a shard to a serving node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ToServing {
    /// The session has begun.
    Accepted {
        /// The leadership.
        epoch: u64,
        /// The time for which it holds.
        grant: LeadershipGrant,
    },
    /// This is not the leadership that the session was to begin with, at least not yet.
    Refused {
        /// The leadership that was asked for.
        epoch: u64,
    },
    /// The leadership holds.
    Granted {
        /// The leadership.
        epoch: u64,
        /// The time for which it holds.
        grant: LeadershipGrant,
    },
    /// The leadership, and with it the session, has ended.
    Ended {
        /// The leadership.
        epoch: u64,
    },
    /// For a connection.
    Connection(ConsumerId, ToConnection),
}

/// A message to a connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ToConnection {
    /// The answer to a request.
    Reply(RequestNumber, Reply),
    /// The answer to a touch, and the new end of the time to answer on the clock of the leader.
    Touched(RequestNumber, Reply, #[serde(with = "tick")] Tick),
    /// A request is done and has no answer. Nodes up to 0.3 send it.
    Quiet(RequestNumber),
    /// The answer to a query.
    QueryAnswer(RequestNumber, LeaderQueryAnswer),
    /// A reply without a request.
    Notice(Reply),
    /// A copy of a task.
    Deliver(Box<ForwardedCopy>),
    /// About its credit.
    Credit(CreditChange),
}

/// A copy of a task on its way to a consumer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForwardedCopy {
    /// The number of the copy in its leadership, from 1.
    pub(crate) number: u64,
    /// The task and its round.
    pub(crate) revision: TaskRevision,
    /// When the round was due, in Unix milliseconds.
    pub(crate) due: u64,
    /// The end of the round on the clock of the leader.
    #[serde(with = "tick")]
    pub(crate) until: Tick,
    /// From when on nothing of the copy is written, on the clock of the leader.
    #[serde(with = "tick")]
    pub(crate) write_by: Tick,
    /// When the task expires, on the clock of the leader, in nanoseconds. `None`: never.
    pub(crate) expires: Option<u64>,
    /// The place of the journal up to which a replica must be to have the content.
    pub(crate) after: u64,
}

/// Times on the clock of one node.
mod tick {
    use race_wheel::Tick;
    use serde::{Deserialize as _, Deserializer, Serializer};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    pub(super) fn serialize<S: Serializer>(tick: &Tick, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(tick.value())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Tick, D::Error> {
        u64::deserialize(d).map(Tick::new)
    }
}

#[cfg(test)]
mod tests;
