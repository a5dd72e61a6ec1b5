use std::sync::Arc;

use race_wheel::Tick;
use rustc_hash::FxHashMap;

use crate::{
    authority::Authority,
    scheduler::{
        ConsumerId, CopyId, OperatorRequest, RouteSelection, SchedulerSettings, UnsentReason,
    },
};
use hyper_delay_protocol::{Accept, Reply, Stats, TaskRequest, access::Grant, own_route::OwnRoute};

/// An event of the connections of a server, or of a node of a cluster.
#[derive(Debug)]
pub enum FrontInput {
    /// A connection is open.
    Opened(ConsumerId),
    /// A connection is about to close and takes no further deliveries. Those it has can still be on
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
    Operated(ReplyTo, Box<OperatorRequest>),
    /// A delivery was not sent.
    NotSent(CopyId, UnsentReason),
    /// A delivery was not sent, because the leadership that it is of has ended. The next one can have
    /// sent a copy with the same number.
    Revoked {
        /// The copy.
        copy: CopyId,
        /// The number of its round.
        attempt: u32,
        /// The leadership.
        authority: Arc<Authority>,
    },
    /// The server is about to end.
    ShuttingDown,
    /// The configuration was reloaded.
    Settings(Box<SchedulerSettings>),
}

impl FrontInput {
    /// Returns whether it has a schedule with a delay. The delay counts from a time at which the
    /// input has arrived, so the time of an earlier input is too early for it.
    #[must_use]
    pub fn has_delay(&self) -> bool {
        let Self::Requested(_, requests) = self else {
            return false;
        };
        let mut requests = requests.iter();
        requests.any(|request| match &request.request {
            TaskRequest::Schedule(schedule) => schedule.due.delay_ms().is_some(),
            _ => false,
        })
    }
}

// An input is moved several times.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(
    size_of::<FrontInput>() <= 64,
    "box what is rare in an input"
);

/// A request.
#[derive(Debug)]
pub struct ClientRequest {
    /// The tag, which the reply carries, too.
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

/// A request for counts.
#[derive(Debug)]
pub struct StatsRequest {
    /// The counts on disk, to which schedulers add what only they know. All tasks on routes that
    /// servers have made count as orphaned.
    pub stats: Stats,
    /// Those routes, with the number of their tasks.
    pub own: FxHashMap<OwnRoute, u64>,
    /// The selected routes.
    pub selection: RouteSelection,
    /// The destination of the reply.
    pub reply_to: ReplyTo,
}

/// Tasks that were read from the disk, to which schedulers add what only they know.
#[derive(Debug)]
pub struct TaskLookup {
    /// The sequence numbers of the tasks in the reply, in their order.
    pub seqs: Vec<u64>,
    /// The reply.
    pub reply: Reply,
    /// The destination of the reply.
    pub reply_to: ReplyTo,
}

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

impl ReplyTo {
    /// Returns the message to the connection that the request is done, with the reply if it has one.
    #[must_use]
    pub fn message(self, reply: Option<Reply>) -> (ConsumerId, ConsumerMessage) {
        let Self {
            consumer,
            tag,
            weight,
        } = self;
        let message = match reply {
            Some(reply) => ConsumerMessage::Reply { reply, tag, weight },
            None => ConsumerMessage::Done(weight),
        };
        (consumer, message)
    }
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
        /// When the round was due, in Unix milliseconds.
        due: u64,
        /// The number of the round.
        attempt: u32,
        /// The end of the round.
        until: Tick,
        /// From then on nothing of it is written that is not yet.
        write_by: Tick,
        /// The compressions that the consumer accepts.
        accept: Accept,
        /// It may be written while this holds. `None`: always.
        authority: Option<Arc<Authority>>,
    },
}

impl ConsumerMessage {
    /// Returns the message of news without a request.
    #[must_use]
    pub const fn news(reply: Reply) -> Self {
        Self::Reply {
            reply,
            tag: None,
            weight: 0,
        }
    }
}
