use std::sync::Arc;

use race_wheel::Tick;

use super::{
    ClientRequest, ConsumerId, CopyId, OperatorRequest, ReplyTo, SchedulerInput, SchedulerSettings,
    StatsRequest, TaskLookup,
};
use crate::authority::Authority;

/// An input that comes from the connections of a server, its configuration and its end.
///
/// It is for the scheduler of a single server, and for the forwarder of a node of a cluster. Each is
/// also a [`SchedulerInput`], where it is described.
#[derive(Debug)]
pub enum ServerInput {
    /// See [`SchedulerInput::Opened`].
    Opened(ConsumerId),
    /// See [`SchedulerInput::Closing`].
    Closing(ConsumerId),
    /// See [`SchedulerInput::Closed`].
    Closed(ConsumerId),
    /// See [`SchedulerInput::Requested`].
    Requested(ConsumerId, Vec<ClientRequest>),
    /// See [`SchedulerInput::Stats`].
    Stats(Box<StatsRequest>),
    /// See [`SchedulerInput::Future`].
    Future(ReplyTo),
    /// See [`SchedulerInput::TaskLookup`].
    TaskLookup(Box<TaskLookup>),
    /// See [`SchedulerInput::OperatorRequested`].
    OperatorRequested(Box<OperatorRequest>),
    /// See [`SchedulerInput::Unsent`].
    Unsent(CopyId),
    /// See [`SchedulerInput::Unwritten`].
    Unwritten {
        /// The copy.
        copy: CopyId,
        /// The number of its round.
        attempt: u32,
    },
    /// See [`SchedulerInput::Voided`].
    Voided {
        /// The copy.
        copy: CopyId,
        /// The number of its round.
        attempt: u32,
        /// The leadership.
        authority: Option<Arc<Authority>>,
    },
    /// See [`SchedulerInput::SentTooLate`].
    SentTooLate {
        /// The copy.
        copy: CopyId,
        /// The number of its round.
        attempt: u32,
        /// When the time to answer ends, as it was when the copy was queued.
        until: Tick,
    },
    /// See [`SchedulerInput::Undeliverable`].
    Undeliverable {
        /// The copy.
        copy: CopyId,
        /// The reason.
        reason: Arc<str>,
    },
    /// See [`SchedulerInput::ShuttingDown`].
    ShuttingDown,
    /// See [`SchedulerInput::Settings`].
    Settings(Box<SchedulerSettings>),
}

impl From<ServerInput> for SchedulerInput {
    fn from(input: ServerInput) -> Self {
        match input {
            ServerInput::Opened(consumer) => Self::Opened(consumer),
            ServerInput::Closing(consumer) => Self::Closing(consumer),
            ServerInput::Closed(consumer) => Self::Closed(consumer),
            ServerInput::Requested(consumer, requests) => Self::Requested(consumer, requests),
            ServerInput::Stats(request) => Self::Stats(request),
            ServerInput::Future(reply_to) => Self::Future(reply_to),
            ServerInput::TaskLookup(tasks) => Self::TaskLookup(tasks),
            ServerInput::OperatorRequested(operated) => Self::OperatorRequested(operated),
            ServerInput::Unsent(copy) => Self::Unsent(copy),
            ServerInput::Unwritten { copy, attempt } => Self::Unwritten { copy, attempt },
            ServerInput::Voided {
                copy,
                attempt,
                authority,
            } => Self::Voided {
                copy,
                attempt,
                authority,
            },
            ServerInput::SentTooLate {
                copy,
                attempt,
                until,
            } => Self::SentTooLate {
                copy,
                attempt,
                until,
            },
            ServerInput::Undeliverable { copy, reason } => Self::Undeliverable { copy, reason },
            ServerInput::ShuttingDown => Self::ShuttingDown,
            ServerInput::Settings(settings) => Self::Settings(settings),
        }
    }
}
