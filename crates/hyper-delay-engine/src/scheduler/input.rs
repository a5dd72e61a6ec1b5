use std::{sync::Arc, time::Duration};

use race_wheel::Tick;
use rustc_hash::FxHashMap;

use super::{OperatorRequest, RouteSelection, SchedulerSettings};
use crate::{
    authority::Authority,
    ledger::{Op, Outcome, PendingLimits, TaskRevision},
};
use hyper_delay_protocol::{
    Accept, DeliverySelector, RegisterMode, Reply, Stats, TaskRequest, access::Grant,
    own_route::OwnRoute,
};
use hyper_delay_store::StoreError;

/// A connection, by a number that is never used again.
pub type ConsumerId = u64;

/// An event for the scheduler.
///
/// In a cluster a connection can be of another node, and has credit for all shards together: it is
/// opened with a credit of 0 and lent some by `Lent`.
#[derive(Debug)]
pub enum SchedulerInput {
    /// A connection is open.
    Opened(ConsumerId),
    /// A connection is about to close and takes no further copies. Those it has can still be on
    /// their way to it.
    Closing(ConsumerId),
    /// A connection is closed: nothing more is written to it but replies.
    Closed(ConsumerId),
    /// A connection sent requests.
    Requested(ConsumerId, Vec<ClientRequest>),
    /// A connection asked for counts.
    Stats(Box<StatsRequest>),
    /// A connection asked how many tasks wait for the minutes, hours and days ahead.
    Future(ReplyTo),
    /// A connection asked for tasks.
    TaskLookup(Box<TaskLookup>),
    /// An operator asked for a change.
    OperatorRequested(Box<OperatorRequest>),
    /// Operations are on disk, in the order in which they were asked for.
    Committed(Vec<CommittedJob>),
    /// A delivery was not sent, because its revision was gone by then.
    Unsent(CopyId),
    /// A delivery was not sent, and nothing of it was written, because its connection ends. That is
    /// no failure.
    Unwritten {
        /// The copy.
        copy: CopyId,
        /// The number of its round.
        attempt: u32,
    },
    /// A delivery was not sent, because the leadership that it is of has ended.
    Voided {
        /// The copy.
        copy: CopyId,
        /// The number of its round.
        attempt: u32,
        /// The leadership, for the serving node: the next one can have sent a copy with the same
        /// number.
        authority: Option<Arc<Authority>>,
    },
    /// A delivery was not sent, and nothing of it was written, because its time to answer was nearly
    /// over. That is no failure, but its connection takes no bytes.
    SentTooLate {
        /// The copy.
        copy: CopyId,
        /// The number of its round.
        attempt: u32,
        /// When the time to answer ends, as it was when the copy was queued.
        until: Tick,
    },
    /// A delivery was not sent, because the content of its revision cannot be read, or its payload
    /// cannot be decompressed for its consumer.
    Undeliverable {
        /// The copy.
        copy: CopyId,
        /// The reason.
        reason: Arc<str>,
    },
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
    /// A connection acknowledges a delivery of this leader or an earlier one.
    Acked(Box<ForwardedAck>),
    /// A connection returns a delivery of this leader or an earlier one with a nack.
    Nacked(Box<ForwardedNack>),
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

/// An ack with the full name of a delivery.
///
/// The task is finished if it still has that revision, whether or not this leader knows the
/// delivery.
#[derive(Debug)]
pub struct ForwardedAck {
    /// The connection that sent the ack.
    pub consumer: ConsumerId,
    /// The delivery.
    pub revision: TaskRevision,
    /// The destination of the reply, if one is wanted.
    pub confirm: Option<ReplyTo>,
}

/// A nack with the full name of a delivery. It is ignored unless the connection has that copy.
#[derive(Debug)]
pub struct ForwardedNack {
    /// The connection that sent the nack.
    pub consumer: ConsumerId,
    /// The delivery. Without a route or a round it names none.
    pub named: DeliverySelector,
    /// Its revision.
    pub seq: u64,
    /// The delay until the next round in milliseconds; at most `max_delay_days`.
    pub delay_ms: Option<u64>,
    /// The reason.
    pub reason: Option<Arc<str>>,
    /// Whether the consumer has failed. See [`TaskRequest::Nack`].
    pub failed: bool,
}

/// A request for counts.
#[derive(Debug)]
pub struct StatsRequest {
    /// The counts on disk, to which the scheduler adds what only it knows. All tasks on routes that
    /// servers have made count as orphaned.
    pub stats: Stats,
    /// Those routes, with the number of their tasks.
    pub own: FxHashMap<OwnRoute, u64>,
    /// The selected routes.
    pub selection: RouteSelection,
    /// The destination of the reply.
    pub reply_to: ReplyTo,
}

/// Tasks that were read from the disk, to which the scheduler adds what only it knows.
#[derive(Debug)]
pub struct TaskLookup {
    /// The sequence numbers of the tasks in the reply, in their order.
    pub seqs: Vec<u64>,
    /// The reply.
    pub reply: Reply,
    /// The destination of the reply.
    pub reply_to: ReplyTo,
}

/// A request.
#[derive(Debug)]
pub struct ClientRequest {
    /// The reply carries the same tag.
    pub tag: Option<Arc<str>>,
    /// The request.
    pub request: TaskRequest,
    /// How much of its connection's room it takes until it is answered.
    pub weight: u32,
    /// The rights of the connection, for requests whose route is not known before.
    pub grant: Option<Arc<Grant>>,
}

// A request is moved several times, and larger values are moved by calls of memcpy.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(
    size_of::<ClientRequest>() <= 128,
    "box what is rare in a request"
);

/// The destination of the reply to a request.
#[derive(Debug)]
pub struct ReplyTo {
    /// The connection that sent the request.
    pub consumer: ConsumerId,
    /// The tag of the request.
    pub tag: Option<Arc<str>>,
    /// How much of its connection's room the request takes until it is answered.
    pub weight: u32,
}

/// The effects of inputs and of time, for the committer and the connections.
#[derive(Debug, Default)]
pub struct SchedulerEffects {
    /// For the committer, in this order.
    pub jobs: Vec<CommitJob>,
    /// For connections, in this order for each.
    pub messages: Vec<(ConsumerId, ConsumerMessage)>,
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
    /// Replies to a connection.
    Reply(ReplyTo),
    /// The same for a schedule on the own route of a connection. A refusal can undo its registration.
    ScheduledOnOwn(ReplyTo),
    /// A retry is due at this moment. It counts if a round has failed.
    RetryAt {
        /// The next due time of the task.
        due: Tick,
        /// Whether a round has failed.
        has_failed: bool,
    },
    /// Replies to a connection that the task may have been in flight, if it was found.
    Cancel(ReplyTo),
    /// Nothing beyond the change itself.
    None,
}

/// A message to a connection.
#[derive(Debug)]
pub enum ConsumerMessage {
    /// The answer to a request of that weight, or news without a request.
    Reply {
        /// The answer.
        reply: Reply,
        /// The tag of the request.
        tag: Option<Arc<str>>,
        /// The weight of the request; 0 for news.
        weight: u32,
    },
    /// A request of that weight is done and has no answer.
    Done(u32),
    /// A copy of a task.
    Deliver {
        /// Its revision: where its content is.
        seq: u64,
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
        /// The number of the round.
        attempt: u32,
        /// The end of the round.
        until: Tick,
        /// From then on nothing of it is written that is not yet: its consumer would have too little
        /// time left, and the scheduler learns of it before the round ends.
        write_by: Tick,
        /// When the task expires, in Unix milliseconds. A copy that has waited in a cluster until
        /// then is not sent.
        expires_at: Option<u64>,
        /// The compressions that the consumer accepts.
        accept: Accept,
        /// It may be written while this holds. `None`: always.
        authority: Option<Arc<Authority>>,
    },
    /// Not for the connection itself, but for what lends it credit.
    Credit(CreditChange),
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
