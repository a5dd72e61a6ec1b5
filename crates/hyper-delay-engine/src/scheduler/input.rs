use std::{sync::Arc, time::Duration};

use race_wheel::Tick;
use rustc_hash::FxHashMap;

use super::{Listed, Operated, Settings};
use crate::{
    authority::Authority,
    ledger::{Op, Outcome, PendingLimits, Subject},
};
use hyper_delay_protocol::{
    Accept, Line, Mode, Named, Reply, Stats, access::Grant, own_route::OwnRoute,
};
use hyper_delay_store::StoreError;

/// A connection, by a number that is never used again.
pub type ConsumerId = u64;

/// What the scheduler is told.
///
/// In a cluster a connection can be of another node, and has credit for all shards together: it is
/// opened with a credit of 0 and lent some by `Lent`.
#[derive(Debug)]
pub enum Input {
    /// A connection is open.
    Opened(ConsumerId),
    /// A connection is about to close and takes no further copies. Those it has can still be on
    /// their way to it.
    Closing(ConsumerId),
    /// A connection is closed: nothing more is written to it but replies.
    Closed(ConsumerId),
    /// A connection sent requests.
    Asked(ConsumerId, Vec<Ask>),
    /// A connection asked for counts.
    Stats(Box<CountsAsked>),
    /// A connection asked how many tasks wait for the minutes, hours and days ahead.
    Future(ReplyTo),
    /// A connection asked for tasks.
    Seen(Box<SeenTasks>),
    /// An operator asked for a change.
    Operated(Box<Operated>),
    /// Operations are on disk, in the order in which they were asked for.
    Committed(Vec<Committed>),
    /// A delivery was not sent, because its revision was gone by then.
    Unsent(CopyOf),
    /// A delivery was not sent, and nothing of it was written, because its connection ends. That is
    /// no failure.
    Unwritten {
        /// Which copy.
        copy: CopyOf,
        /// The number of its round.
        attempt: u32,
    },
    /// A delivery was not sent, because the leadership that it is of has ended.
    Void {
        /// Which copy.
        copy: CopyOf,
        /// The number of its round.
        attempt: u32,
        /// The leadership, for the serving node: the next one can have sent a copy with the same
        /// number.
        authority: Option<Arc<Authority>>,
    },
    /// A delivery was not sent, and nothing of it was written, because its time to answer was nearly
    /// over. That is no failure, but its connection takes no bytes.
    SentTooLate {
        /// Which copy.
        copy: CopyOf,
        /// The number of its round.
        attempt: u32,
        /// When the time to answer ends, as it was when the copy was queued.
        until: Tick,
    },
    /// A delivery was not sent, because the content of its revision cannot be read, or its payload
    /// cannot be decompressed for its consumer.
    Undeliverable {
        /// Which copy.
        copy: CopyOf,
        /// Why.
        reason: Arc<str>,
    },
    /// The server is about to end.
    Ending,
    /// The configuration was reloaded.
    Settings(Box<Settings>),
    /// A connection may have this many more copies in flight.
    Lent(ConsumerId, u16),
    /// A connection gives back that much of what it was lent: at once what no copy uses, the rest
    /// as copies end. See [`Credit::Returned`].
    Recalled(ConsumerId, u16),
    /// A connection has registered a route with an earlier leader.
    Bound(ConsumerId, Arc<str>, Mode),
    /// This leader begins now, after another one.
    TookOver,
    /// Whether nothing is delivered: a new leader first hears what is in flight.
    Holding(bool),
    /// What a connection has in flight from earlier leaders.
    Adopted(ConsumerId, Vec<Adopted>),
    /// The revisions that were in flight at a planned hand-over, one for each copy. They are not
    /// delivered for that long, unless all copies are adopted and fail before. Those that this
    /// leader has in flight itself stay as they are.
    Withheld(Vec<(u64, Duration)>),
    /// The node of a connection cannot be reached. Here the connection is closed, and its copies stay
    /// in flight for their time, unless another connection reports them, or they are gone.
    Detached(ConsumerId),
    /// No connection has these copies any more, that were in flight at a planned hand-over or of a
    /// detached connection, and that no connection has reported.
    Gone(Vec<GoneCopy>),
    /// A connection acknowledges a delivery of this leader or an earlier one.
    Acked(Box<Acked>),
    /// A connection gives a delivery of this leader or an earlier one back.
    Nacked(Box<Nacked>),
}

// An input is moved several times.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Input>() <= 56, "box what is rare in an input");

/// A copy of a task that a connection was given.
#[derive(Debug)]
pub struct CopyOf {
    /// The connection.
    pub consumer: ConsumerId,
    /// The revision.
    pub seq: u64,
    /// The task.
    pub id: Arc<str>,
}

/// A delivery that a connection has not answered.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Adopted {
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
pub struct Acked {
    /// The connection that sent the ack.
    pub consumer: ConsumerId,
    /// The delivery.
    pub subject: Subject,
    /// Where the reply goes, if there is one.
    pub confirm: Option<ReplyTo>,
}

/// A nack with the full name of a delivery. It is ignored unless the connection has that copy.
#[derive(Debug)]
pub struct Nacked {
    /// The connection that sent the nack.
    pub consumer: ConsumerId,
    /// The delivery. Without a route or a round it names none.
    pub named: Named,
    /// Its revision.
    pub seq: u64,
    /// The delay until the next round in milliseconds; at most `max_delay_days`.
    pub delay_ms: Option<u64>,
    /// Why.
    pub reason: Option<Arc<str>>,
    /// Whether the consumer has failed. See [`Request::Nack`](hyper_delay_protocol::Request::Nack).
    pub failed: bool,
}

/// A request for counts.
#[derive(Debug)]
pub struct CountsAsked {
    /// The counts on disk, to which the scheduler adds what only it knows. All tasks on routes that
    /// servers have made count as orphaned.
    pub stats: Stats,
    /// Those routes, with the number of their tasks.
    pub own: FxHashMap<OwnRoute, u64>,
    /// Of which routes.
    pub listed: Listed,
    /// Where the reply goes.
    pub reply_to: ReplyTo,
}

/// Tasks that were read from the disk, to which the scheduler adds what only it knows.
#[derive(Debug)]
pub struct SeenTasks {
    /// The sequence numbers of the tasks in the reply, in their order.
    pub seqs: Vec<u64>,
    /// The reply.
    pub reply: Reply,
    /// Where it goes.
    pub reply_to: ReplyTo,
}

/// A request.
#[derive(Debug)]
pub struct Ask {
    /// The line.
    pub line: Line,
    /// How much of its connection's room it takes until it is answered.
    pub weight: u32,
    /// What the connection may do, for requests whose route is not known before.
    pub grant: Option<Arc<Grant>>,
}

// A request is moved several times, and larger values are moved by calls of memcpy.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Ask>() <= 128, "box what is rare in a line");

/// Where the reply to a request goes.
#[derive(Debug)]
pub struct ReplyTo {
    /// The connection that sent the request.
    pub consumer: ConsumerId,
    /// The tag of the request.
    pub tag: Option<Arc<str>>,
    /// How much of its connection's room the request takes until it is answered.
    pub weight: u32,
}

/// What is to be done.
#[derive(Debug, Default)]
pub struct Effects {
    /// For the committer, in this order.
    pub jobs: Vec<Job>,
    /// For connections, in this order for each.
    pub messages: Vec<(ConsumerId, Message)>,
    /// The store cannot be read: the server ends.
    pub failed: Option<StoreError>,
}

/// An operation and what follows from it.
#[derive(Debug)]
pub struct Job {
    /// The operation.
    pub op: Op,
    /// Returned with the outcome.
    pub token: Token,
    /// The most pending tasks of the route, if the operation is a schedule.
    pub most_pending: PendingLimits,
}

impl Job {
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
pub struct Committed {
    /// The operation.
    pub op: Op,
    /// As it was given with the operation.
    pub token: Token,
    /// What has happened.
    pub outcome: Outcome,
}

/// What follows from an operation once it is on disk.
#[derive(Debug)]
pub enum Token {
    /// A connection is told.
    Reply(ReplyTo),
    /// The same for a schedule on the own route of a connection. A refusal can undo its registration.
    ScheduledOnOwn(ReplyTo),
    /// A retry is due at this moment. It counts if a round has failed.
    RetryAt {
        /// When the task is due again.
        due: Tick,
        /// Whether a round has failed.
        has_failed: bool,
    },
    /// A connection is told that the task may have been in flight, if it was found.
    Cancel(ReplyTo),
    /// Nothing beyond the change itself.
    None,
}

/// What a connection is told.
#[derive(Debug)]
pub enum Message {
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
    Quiet(u32),
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
        /// time left, and the scheduler hears of it before the round ends.
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
    Credit(Credit),
}

/// What becomes of credit that is lent. See [`Input::Lent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Credit {
    /// A task waits for the connection, which has no room. Sent once after each loan and each
    /// `Sated`.
    Wanted,
    /// Nothing waits for it any more.
    Sated,
    /// Recalled credit is given back. In the end all that is recalled is, and never more.
    Returned(u16),
}
