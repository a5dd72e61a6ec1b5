use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::Inbox;
use crate::wire::Tag;
use crate::{ListenError, RequestError};

/// The commands for the client's task.
#[derive(Debug)]
pub(crate) enum Command {
    Request(Outgoing),
    Register(Registration),
    /// The listener of this registration was dropped.
    Unregister {
        route: String,
        serial: Tag,
    },
    /// An ack or nack without a reply, for a delivery of this connection.
    Answer {
        connection: u64,
        line: Vec<u8>,
    },
    /// Answered when the client is closed.
    Close(oneshot::Sender<Unclosed>),
}

/// A request with a reply.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) tag: Tag,
    pub(crate) line: Vec<u8>,
    pub(crate) sending: Sending,
    pub(crate) reply: oneshot::Sender<Result<Answer, RequestError>>,
    /// Held until the reply arrives.
    pub(crate) _room: Option<OwnedSemaphorePermit>,
}

/// The reply to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The connection on which it came.
    pub(crate) connection: u64,
    pub(crate) line: Vec<u8>,
}

/// The connections on which a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// Any, until there is a reply: a repetition changes nothing.
    Again,
    /// One.
    Once,
    /// This one: the request answers one of its deliveries.
    On(u64),
    /// This one: the request continues what the connection has begun.
    Next(u64),
}

/// The registration of a route.
#[derive(Debug)]
pub(crate) struct Registration {
    pub(crate) route: String,
    /// Names the registration and tags its request.
    pub(crate) serial: Tag,
    pub(crate) line: Vec<u8>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) reply: oneshot::Sender<Result<(), ListenError>>,
}

/// What was open when the client closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unclosed {
    pub(crate) requests: usize,
    pub(crate) deliveries: usize,
}
