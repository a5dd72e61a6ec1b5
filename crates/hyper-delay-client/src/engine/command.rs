use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::Inbox;
use crate::wire::Tag;
use crate::{ListenError, RequestError};

/// What the rest of the client asks of its task.
#[derive(Debug)]
pub(crate) enum Command {
    Request(Outgoing),
    Register(Registration),
    /// The listener of that registration is gone.
    Unregister {
        route: String,
        serial: Tag,
    },
    /// An ack or nack without a reply, of a delivery of that connection.
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
    /// Gets the line of the reply.
    pub(crate) reply: oneshot::Sender<Result<Vec<u8>, RequestError>>,
    /// Held until there is a reply.
    pub(crate) _room: Option<OwnedSemaphorePermit>,
}

/// On which connections a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// On each until there is a reply: to ask twice does what asking once does.
    Again,
    /// On one.
    Once,
    /// On this one: it answers a delivery of it.
    On(u64),
}

/// A route to be listened to.
#[derive(Debug)]
pub(crate) struct Registration {
    pub(crate) route: String,
    /// Names the registration, and tags its request.
    pub(crate) serial: Tag,
    pub(crate) line: Vec<u8>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) reply: oneshot::Sender<Result<(), ListenError>>,
}

/// What was open when the client was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unclosed {
    pub(crate) requests: usize,
    pub(crate) deliveries: usize,
}
