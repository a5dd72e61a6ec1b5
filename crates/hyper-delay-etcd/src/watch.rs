use std::fmt;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use crate::{
    Error, KeyValue, Keys,
    transport::{Token, Transport},
};

/// What happened to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It was written.
    Put(KeyValue),
    /// It was deleted. The value is empty.
    Delete(KeyValue),
}

impl Event {
    /// The key, with its value if it was written.
    #[must_use]
    pub const fn kv(&self) -> &KeyValue {
        match self {
            Self::Put(kv) | Self::Delete(kv) => kv,
        }
    }
}

/// The events of watched keys, in the order of their revisions.
pub struct Watch {
    requests: mpsc::Sender<Request>,
    responses: Streaming<Response>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Watch {
    pub(crate) async fn begin(
        transport: &Transport,
        keys: Keys,
        token: Option<&Token>,
    ) -> Result<Self, Error> {
        // One request begins the watch, and another one asks for progress.
        let (requests, receiver) = mpsc::channel(2);
        let create = RequestKind::Create(Create {
            key: keys.start,
            range_end: keys.end,
            fragment: true,
        });
        let create = Request { kind: Some(create) };
        requests.try_send(create).expect("the channel has room");
        let messages = ReceiverStream::new(receiver);
        let path = "/etcdserverpb.Watch/Watch";
        let responses = transport.streaming(path, messages, token).await?;
        let mut watch = Self {
            requests,
            responses,
        };
        watch.response().await?;
        Ok(watch)
    }

    /// Waits for the next events. The answer to [`request_progress`](Self::request_progress) has
    /// none. Those of one transaction come in several answers if they are too large for one.
    ///
    /// A member that hangs, or whose machine is gone, sends nothing and closes nothing: then this
    /// never returns. To notice it, call [`request_progress`](Self::request_progress) after some
    /// time without events, and end the watch if no answer comes.
    ///
    /// # Errors
    ///
    /// If the watch has ended, or the connection is lost.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, no event is lost.
    pub async fn next(&mut self) -> Result<Vec<Event>, Error> {
        let events = self.response().await?.events.into_iter();
        Ok(events.filter_map(WireEvent::event).collect())
    }

    /// Asks for a response, even if nothing happens.
    ///
    /// # Errors
    ///
    /// If the connection is lost.
    pub async fn request_progress(&mut self) -> Result<(), Error> {
        let kind = Some(RequestKind::Progress(Progress {}));
        let sent = self.requests.send(Request { kind }).await;
        sent.map_err(|_| closed())
    }

    async fn response(&mut self) -> Result<Response, Error> {
        match self.responses.message().await? {
            Some(response) if response.canceled => {
                Err(Error::WatchEnded(match response.compact_revision {
                    0 => response.cancel_reason,
                    kept => format!("it is behind revision {kept}, which is the oldest kept"),
                }))
            }
            Some(response) => Ok(response),
            None => Err(closed()),
        }
    }
}

fn closed() -> Error {
    Status::unavailable("the connection was closed").into()
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Request {
    #[prost(oneof = "RequestKind", tags = "1, 3")]
    kind: Option<RequestKind>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
enum RequestKind {
    #[prost(message, tag = "1")]
    Create(Create),
    #[prost(message, tag = "3")]
    Progress(Progress),
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Create {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    range_end: Bytes,
    /// Responses that are too large for one message come in several.
    #[prost(bool, tag = "8")]
    fragment: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
struct Progress {}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Response {
    #[prost(bool, tag = "4")]
    canceled: bool,
    /// If the watch is behind: the oldest revision that etcd keeps.
    #[prost(uint64, tag = "5")]
    compact_revision: u64,
    #[prost(string, tag = "6")]
    cancel_reason: String,
    #[prost(message, repeated, tag = "11")]
    events: Vec<WireEvent>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct WireEvent {
    #[prost(enumeration = "EventType", tag = "1")]
    r#type: i32,
    #[prost(message, optional, tag = "2")]
    kv: Option<KeyValue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
enum EventType {
    Put = 0,
    Delete = 1,
}

impl WireEvent {
    fn event(self) -> Option<Event> {
        let event = match self.r#type() {
            EventType::Put => Event::Put,
            EventType::Delete => Event::Delete,
        };
        self.kv.map(event)
    }
}
