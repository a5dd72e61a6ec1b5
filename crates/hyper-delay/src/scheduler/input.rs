use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{Fate, Round, Settings};
use crate::{
    ledger::{Op, Outcome},
    protocol::{Line, Reply, Stats},
    store::StoreError,
};

/// A connection, by a number that is never used again.
pub type ConsumerId = u64;

/// What the scheduler is told.
#[derive(Debug)]
pub enum Input {
    /// There is a connection.
    Opened(ConsumerId),
    /// It is gone.
    Closed(ConsumerId),
    /// What it asks for.
    Asked(ConsumerId, Vec<Ask>),
    /// It asks for counts; those on disk are filled in.
    Stats {
        /// Which connection.
        consumer: ConsumerId,
        /// What is on disk.
        stats: Box<Stats>,
        /// The route asked for, if one was.
        route: Option<Arc<str>>,
        /// Only routes after this one.
        after: Option<Arc<str>>,
        /// To be given back with the reply.
        tag: Option<Arc<str>>,
        /// What the request weighs.
        weight: u32,
    },
    /// What is on disk now, in the order in which it was asked for.
    Committed(Vec<Committed>),
    /// A delivery was not sent: by the time it would have been, its revision was gone.
    Unsent {
        /// To which connection.
        consumer: ConsumerId,
        /// Which revision.
        seq: u64,
        /// Of which task.
        id: Arc<str>,
    },
    /// The configuration was reloaded.
    Settings(Box<Settings>),
    /// The server is about to end.
    Ending,
    /// A hedged round wants its next copy sent.
    Copy(Round),
    /// Every copy of a hedged round has failed, and there is nobody left to ask.
    Lost(Round),
}

/// A request.
#[derive(Debug)]
pub struct Ask {
    /// The line.
    pub line: Line,
    /// How much of its connection's room it takes until it is answered.
    pub weight: u32,
}

/// What is to be done.
#[derive(Debug, Default)]
pub struct Effects {
    /// For the committer, in this order.
    pub jobs: Vec<Job>,
    /// For connections, in this order for each.
    pub messages: Vec<(ConsumerId, Message)>,
    /// Hedged rounds that begin: the first copy is out.
    pub rounds: Vec<(Round, Duration)>,
    /// How copies of hedged rounds ended.
    pub fates: Vec<(Round, Fate)>,
    /// The store cannot be read. There is no going on.
    pub failed: Option<StoreError>,
}

/// An operation, and whom to tell.
#[derive(Debug)]
pub struct Job {
    /// What is to happen.
    pub op: Op,
    /// Given back with the outcome.
    pub token: Token,
}

/// An operation that is on disk.
#[derive(Debug)]
pub struct Committed {
    /// What was to happen.
    pub op: Op,
    /// Whom to tell.
    pub token: Token,
    /// What has happened.
    pub outcome: Outcome,
}

/// Whom an outcome concerns.
#[derive(Debug)]
pub enum Token {
    /// The connection that asked for it.
    Reply {
        /// Which.
        consumer: ConsumerId,
        /// To be given back with the reply.
        tag: Option<Arc<str>>,
        /// What the request weighs.
        weight: u32,
    },
    /// The scheduler itself; a retry is due at that moment.
    Own(Option<Tick>),
}

/// What a connection is told.
#[derive(Debug)]
pub enum Message {
    /// The answer to a request of that weight, or news of none.
    Reply {
        /// The answer.
        reply: Reply,
        /// The request's.
        tag: Option<Arc<str>>,
        /// The request's.
        weight: u32,
    },
    /// A request of that weight is done, and has no answer.
    Quiet(u32),
    /// A task.
    Deliver {
        /// Its revision: where its content is.
        seq: u64,
        /// Its route.
        route: Arc<str>,
        /// Its id.
        id: Arc<str>,
        /// The round.
        attempt: u32,
    },
}
