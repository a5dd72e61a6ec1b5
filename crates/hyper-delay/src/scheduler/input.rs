use std::sync::Arc;

use race_wheel::Tick;

use super::{Operated, Settings};
use crate::{
    access::Grant,
    ledger::{Op, Outcome, PendingLimits},
    protocol::{Accept, Line, Reply, Stats},
    store::StoreError,
};

/// A connection, by a number that is never used again.
pub(crate) type ConsumerId = u64;

/// What the scheduler is told.
#[derive(Debug)]
pub(crate) enum Input {
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
    /// A connection asked for tasks.
    Seen(Box<SeenTasks>),
    /// An operator asked for a change.
    Operated(Box<Operated>),
    /// Operations are on disk, in the order in which they were asked for.
    Committed(Vec<Committed>),
    /// A delivery was not sent, because its revision was gone by then.
    Unsent(CopyOf),
    /// A delivery was not sent, because its time to answer had passed when its turn came.
    SentTooLate {
        /// Which copy.
        copy: CopyOf,
        /// The number of its round.
        attempt: u32,
        /// When the time to answer ended, as it was when the copy was queued.
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
}

/// A copy of a task that a connection was given.
#[derive(Debug)]
pub(crate) struct CopyOf {
    /// The connection.
    pub consumer: ConsumerId,
    /// The revision.
    pub seq: u64,
    /// The task.
    pub id: Arc<str>,
}

/// A request for counts.
#[derive(Debug)]
pub(crate) struct CountsAsked {
    /// The counts on disk, to which the scheduler adds what only it knows.
    pub stats: Stats,
    /// The route asked for, if one was.
    pub route: Option<Arc<str>>,
    /// List only routes after this one.
    pub after: Option<Arc<str>>,
    /// Count only the routes of which this allows the administration. `None`: all.
    pub grant: Option<Arc<Grant>>,
    /// Where the reply goes.
    pub reply_to: ReplyTo,
}

/// Tasks that were read from the disk, to which the scheduler adds what only it knows.
#[derive(Debug)]
pub(crate) struct SeenTasks {
    /// The sequence numbers of the tasks in the reply, in their order.
    pub seqs: Vec<u64>,
    /// The reply.
    pub reply: Reply,
    /// Where it goes.
    pub reply_to: ReplyTo,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Ask {
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
pub(crate) struct ReplyTo {
    /// The connection that sent the request.
    pub consumer: ConsumerId,
    /// The tag of the request.
    pub tag: Option<Arc<str>>,
    /// How much of its connection's room the request takes until it is answered.
    pub weight: u32,
}

/// What is to be done.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// For the committer, in this order.
    pub jobs: Vec<Job>,
    /// For connections, in this order for each.
    pub messages: Vec<(ConsumerId, Message)>,
    /// The store cannot be read: the server ends.
    pub failed: Option<StoreError>,
}

/// An operation and what follows from it.
#[derive(Debug)]
pub(crate) struct Job {
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
}

/// An operation that is on disk.
#[derive(Debug)]
pub(crate) struct Committed {
    /// The operation.
    pub op: Op,
    /// As it was given with the operation.
    pub token: Token,
    /// What has happened.
    pub outcome: Outcome,
}

/// What follows from an operation once it is on disk.
#[derive(Debug)]
pub(crate) enum Token {
    /// A connection is told.
    Reply(ReplyTo),
    /// A retry is due at this moment.
    RetryAt(Tick),
    /// Nothing beyond the change itself.
    None,
}

/// What a connection is told.
#[derive(Debug)]
pub(crate) enum Message {
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
        /// The end of the round, from which on the copy is not sent.
        until: Tick,
        /// The compressions that the consumer accepts.
        accept: Accept,
    },
}
