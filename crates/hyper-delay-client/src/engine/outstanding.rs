use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::{Outgoing, Sending};
use crate::RequestError;
use crate::wire::Tag;

/// The requests that have no answer yet, in the order in which they were made.
#[derive(Debug)]
pub(super) struct Outstanding {
    by_tag: BTreeMap<Tag, Waiting>,
    limit: Option<Duration>,
}

#[derive(Debug)]
struct Waiting {
    outgoing: Outgoing,
    /// `None` is never.
    deadline: Option<Instant>,
    /// Whether a server may have read it.
    sent: bool,
}

impl Waiting {
    fn send(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.outgoing.line);
        self.sent = true;
    }

    fn fail(self, error: RequestError) {
        // Whoever asked may have gone.
        let _ = self.outgoing.reply.send(Err(error));
    }
}

impl Outstanding {
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Self {
            by_tag: BTreeMap::new(),
            limit,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_tag.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_tag.is_empty()
    }

    /// Sends it, if there is something `out` to send it by.
    pub(super) fn add(&mut self, outgoing: Outgoing, now: Instant, out: Option<&mut Vec<u8>>) {
        let deadline = self.limit.and_then(|limit| now.checked_add(limit));
        let mut waiting = Waiting {
            outgoing,
            deadline,
            sent: false,
        };
        if let Some(out) = out {
            waiting.send(out);
        }
        self.by_tag.insert(waiting.outgoing.tag, waiting);
    }

    /// There is a reply. False if it is to none of these.
    pub(super) fn settle(&mut self, tag: Tag, reply: Result<&[u8], RequestError>) -> bool {
        let Some(waiting) = self.by_tag.remove(&tag) else {
            return false;
        };
        // Whoever asked may have gone.
        let _ = waiting.outgoing.reply.send(reply.map(<[u8]>::to_vec));
        true
    }

    /// The server wants it later: it waits for the next connection. False if it cannot.
    pub(super) fn postpone(&mut self, tag: Tag) -> bool {
        match self.by_tag.get_mut(&tag) {
            Some(waiting) if !matches!(waiting.outgoing.sending, Sending::On(_)) => {
                waiting.sent = false;
                true
            }
            _ => false,
        }
    }

    /// The connection is gone. What must not be sent again fails; what nobody waits for is dropped.
    pub(super) fn lost(&mut self) {
        let (kept, ended) =
            std::mem::take(&mut self.by_tag)
                .into_iter()
                .partition(|(_, waiting)| {
                    let may_be_sent = match waiting.outgoing.sending {
                        Sending::Again => true,
                        Sending::Once => !waiting.sent,
                        Sending::On(_) => false,
                    };
                    may_be_sent && !waiting.outgoing.reply.is_closed()
                });
        self.by_tag = kept;
        for (_, waiting) in ended {
            waiting.fail(RequestError::Disconnected);
        }
    }

    /// There is a connection again.
    pub(super) fn resume(&mut self, out: &mut Vec<u8>) {
        for waiting in self.by_tag.values_mut() {
            waiting.send(out);
        }
    }

    /// When the next one's time is up. As all have the same time, that is the first.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.by_tag.first_key_value()?.1.deadline
    }

    pub(super) fn expire(&mut self, now: Instant) {
        while let Some(first) = self.by_tag.first_entry() {
            match (first.get().deadline, self.limit) {
                (Some(deadline), Some(limit)) if deadline <= now => {
                    first.remove().fail(RequestError::TimedOut { limit });
                }
                _ => break,
            }
        }
    }

    /// No connection will come.
    pub(super) fn fail_all(&mut self) {
        for (_, waiting) in std::mem::take(&mut self.by_tag) {
            waiting.fail(RequestError::Closed);
        }
    }
}
