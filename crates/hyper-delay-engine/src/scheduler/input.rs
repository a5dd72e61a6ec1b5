use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{OperatorRequest, SchedulerSettings};
use crate::ledger::{Op, Outcome, PendingLimits, TaskRevision};
use hyper_delay_protocol::{
    DeliverySelector, MoveTo, RegisterMode, Reply, Schedule, access::Grant,
};
use hyper_delay_store::StoreError;

/// A connection, by a number that is never used again.
pub type ConsumerId = u64;

/// The number of a request, which its sender gives and the reply has.
pub type RequestNumber = u32;

/// A request that is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId {
    /// The connection that sent it.
    pub consumer: ConsumerId,
    /// Its number among those of the sender.
    pub number: RequestNumber,
}

/// An event for the scheduler.
///
/// A connection has credit for all shards together: it is opened with none, and lent some by `Lent`.
#[derive(Debug)]
pub enum SchedulerInput {
    /// A connection is open.
    Opened(ConsumerId),
    /// A connection is about to close and takes no further copies. Those it has can still be on
    /// their way to it.
    Closing(ConsumerId),
    /// A connection is closed: nothing more is written to it but replies.
    Closed(ConsumerId),
    /// A connection sent a request.
    Requested(RequestId, Box<RouteRequest>),
    /// An operator asked for a change.
    Operated(RequestId, Box<OperatorRequest>),
    /// Operations are on disk, in the order in which they were asked for.
    Committed(Vec<CommittedJob>),
    /// A delivery was not sent.
    NotSent(CopyId, UnsentReason),
    /// The server is about to end.
    ShuttingDown,
    /// The configuration was reloaded.
    Settings(Box<SchedulerSettings>),
    /// A connection may have this many more copies in flight.
    Lent(ConsumerId, u16),
    /// This much of a connection's lent credit is recalled: the unused part at once, the rest
    /// as copies end. See [`CreditChange::Returned`].
    Recalled(ConsumerId, u16),
    /// A connection has registered a route with an earlier leader.
    Registered(ConsumerId, Arc<str>, RegisterMode),
    /// This leader begins now, after another one.
    TookOver,
    /// Stops (`true`) or resumes (`false`) deliveries. A new leader first collects what is in
    /// flight.
    DeliveriesHeld(bool),
    /// Deliveries of earlier leaders that a connection has in flight.
    Adopted(ConsumerId, Vec<UnansweredDelivery>),
    /// The revisions that were in flight at a planned hand-over, one for each copy. They are not
    /// delivered for that long, unless all copies are adopted and fail before. Those that this
    /// leader has in flight itself stay as they are.
    Withheld(Vec<(u64, Duration)>),
    /// The node of a connection cannot be reached. Here the connection is closed, and its copies stay
    /// in flight for their time, unless another connection reports them, or they are gone.
    Detached(ConsumerId),
    /// No connection has these copies any more, that were in flight at a planned hand-over or of a
    /// detached connection, and that no connection has reported.
    CopiesGone(Vec<GoneCopy>),
    /// A connection acknowledges a delivery of this leader or an earlier one. If there is a number, it
    /// is answered once the removal is on disk.
    Acked(ConsumerId, Box<TaskRevision>, Option<RequestNumber>),
    /// A connection returns a delivery of this leader or an earlier one with a nack.
    Nacked(ConsumerId, Box<Nack>),
}

/// A request for the scheduler of a route, with its full names. It is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteRequest {
    /// Makes the connection a consumer of a route.
    Register {
        /// The route.
        route: Arc<str>,
        /// Whether other connections may register the route, too.
        mode: RegisterMode,
    },
    /// Ends a registration.
    Unregister {
        /// The route.
        route: Arc<str>,
    },
    /// Schedules a task.
    Schedule {
        /// The route of the task.
        route: Arc<str>,
        /// The id of the task.
        id: Arc<str>,
        /// The rest. Its own route and id, if it has them, are the same.
        schedule: Schedule,
        /// The rights of the connection, whose quotas apply.
        grant: Option<Arc<Grant>>,
    },
    /// Extends the time to answer a delivery.
    Touch {
        /// The delivery.
        delivery: DeliveryName,
        /// The time to answer from now on in milliseconds. Default: the ack timeout.
        extend_ms: Option<u64>,
    },
    /// Removes a task.
    Cancel {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
    },
    /// Moves the due time of a task, and nothing else.
    Move {
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
        /// The new due time.
        to: MoveTo,
    },
}

impl RouteRequest {
    /// The route and the id in the request.
    #[must_use]
    pub const fn names(&self) -> (&Arc<str>, Option<&Arc<str>>) {
        match self {
            Self::Register { route, .. } | Self::Unregister { route } => (route, None),
            Self::Schedule { route, id, .. }
            | Self::Cancel { route, id }
            | Self::Move { route, id, .. } => (route, Some(id)),
            Self::Touch { delivery, .. } => (&delivery.route, Some(&delivery.id)),
        }
    }
}

/// The full name of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryName {
    /// The route of the task.
    pub route: Arc<str>,
    /// The id of the task.
    pub id: Arc<str>,
    /// The number of the round.
    pub attempt: u32,
}

impl From<DeliveryName> for DeliverySelector {
    fn from(name: DeliveryName) -> Self {
        Self {
            id: name.id,
            route: Some(name.route),
            attempt: Some(name.attempt),
        }
    }
}

/// A nack with the full name of a delivery. It is ignored unless the connection has that copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nack {
    /// The delivery.
    pub revision: TaskRevision,
    /// The delay until the next round in milliseconds; at most `max_delay_days`.
    pub delay_ms: Option<u64>,
    /// The reason.
    pub reason: Option<Arc<str>>,
    /// Whether the consumer has failed. See [`TaskRequest::Nack`](hyper_delay_protocol::TaskRequest::Nack).
    pub failed: bool,
}

// An input is moved several times.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(
    size_of::<SchedulerInput>() <= 56,
    "box what is rare in an input"
);

/// A copy of a task that a connection was given.
#[derive(Debug)]
pub struct CopyId {
    /// The connection.
    pub consumer: ConsumerId,
    /// The revision.
    pub seq: u64,
    /// The task.
    pub id: Arc<str>,
}

/// Why a delivery was not sent.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum UnsentReason {
    /// Its revision was gone.
    Gone,
    /// Nothing of it was written, because its connection ends, or because its turn did not come in
    /// time. That is no failure.
    Unwritten {
        /// The number of its round.
        attempt: u32,
    },
    /// Nothing of it was written, because its time to answer was nearly over. That is no failure, but
    /// its connection takes no bytes.
    TooLate {
        /// The number of its round.
        attempt: u32,
        /// The end of that time, as it was when the copy was queued.
        #[serde(with = "tick")]
        until: Tick,
    },
    /// The leadership that it is of has ended, or was not known to hold, or its connection could not
    /// tell it from an earlier one.
    Void {
        /// The number of its round.
        attempt: u32,
    },
    /// Its content cannot be read, or its payload cannot be decompressed for its consumer, for this
    /// reason.
    Undeliverable(Arc<str>),
}

impl UnsentReason {
    /// Returns the number of its round. `None`: any round of its revision.
    #[must_use]
    pub const fn attempt(&self) -> Option<u32> {
        match self {
            Self::Unwritten { attempt }
            | Self::TooLate { attempt, .. }
            | Self::Void { attempt } => Some(*attempt),
            Self::Gone | Self::Undeliverable(_) => None,
        }
    }
}

/// A tick is a number on the wire.
mod tick {
    use race_wheel::Tick;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(tick: &Tick, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(tick.value())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Tick, D::Error> {
        u64::deserialize(from).map(Tick::new)
    }
}

/// A delivery that a connection has not answered.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct UnansweredDelivery {
    /// The route of the task.
    pub route: Arc<str>,
    /// The id of the task.
    pub id: Arc<str>,
    /// The revision.
    pub seq: u64,
    /// The number of the round.
    pub attempt: u32,
    /// The time that is left to answer it.
    pub left: Duration,
}

/// A copy that no connection has any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoneCopy {
    /// The revision.
    pub seq: u64,
    /// The number of the round.
    pub attempt: u32,
    /// Whether it has failed, as if its connection were closed. A change of the leader is no
    /// failure.
    pub has_failed: bool,
}

/// The effects of inputs and of time, for the committer and the connections.
#[derive(Debug, Default)]
pub struct SchedulerEffects {
    /// For the committer, in this order.
    pub jobs: Vec<CommitJob>,
    /// For connections, in this order for each.
    pub messages: Vec<(ConsumerId, SchedulerMessage)>,
    /// The store cannot be read: the server ends.
    pub failed: Option<StoreError>,
}

/// An operation and what follows from it.
#[derive(Debug)]
pub struct CommitJob {
    /// The operation.
    pub op: Op,
    /// Returned with the outcome.
    pub token: CommitToken,
    /// The most pending tasks of the route, if the operation is a schedule.
    pub most_pending: PendingLimits,
}

impl CommitJob {
    pub(crate) const fn is_schedule(&self) -> bool {
        matches!(self.op, Op::Schedule(_))
    }

    /// Whether it changes nothing that a start needs.
    pub(crate) const fn is_mark(&self) -> bool {
        matches!(self.op, Op::AdvanceLowWater(_))
    }
}

/// An operation that is on disk.
#[derive(Debug)]
pub struct CommittedJob {
    /// The operation.
    pub op: Op,
    /// As it was given with the operation.
    pub token: CommitToken,
    /// The outcome.
    pub outcome: Outcome,
}

/// The follow-up of an operation once it is on disk.
#[derive(Debug)]
pub enum CommitToken {
    /// Replies to a request.
    Reply(RequestId),
    /// A retry is due at this moment. It counts if a round has failed.
    RetryAt {
        /// The next due time of the task.
        due: Tick,
        /// Whether a round has failed.
        has_failed: bool,
    },
    /// Replies to a connection that the task may have been in flight, if it was found.
    Cancel(RequestId),
    /// Nothing beyond the change itself.
    None,
}

/// A message about a connection, for its front or its serving node.
#[derive(Debug)]
pub enum SchedulerMessage {
    /// The answer to the request of that number.
    Reply(RequestNumber, Reply),
    /// News without a request.
    Notice(Reply),
    /// A copy of a task.
    Deliver(SentCopy),
    /// The task of the copy of this revision was acknowledged through another copy.
    Lost(u64, Arc<str>),
    /// More or less credit is wanted.
    Credit(CreditChange),
}

/// A copy of a task that a connection is given.
#[derive(Debug)]
pub struct SentCopy {
    /// Its revision: where its content is.
    pub seq: u64,
    /// Its route.
    pub route: Arc<str>,
    /// Its id.
    pub id: Arc<str>,
    /// When the round was due, in Unix milliseconds.
    pub due: u64,
    /// The number of the round.
    pub attempt: u32,
    /// The end of the round.
    pub until: Tick,
    /// From then on nothing of it is written that is not yet: its consumer would have too little
    /// time left, and the scheduler learns of it before the round ends.
    pub write_by: Tick,
    /// When the task expires, in Unix milliseconds. A copy that has waited in a cluster until then is
    /// not sent.
    pub expires_at: Option<u64>,
}

/// A change of the credit that a connection is lent. See [`SchedulerInput::Lent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum CreditChange {
    /// A task waits for the connection, which has no room. Sent once after each loan and each
    /// `Unwanted`.
    Wanted,
    /// Nothing waits for it any more.
    Unwanted,
    /// Recalled credit is returned: in the end all of it, and never more.
    Returned(u16),
}
