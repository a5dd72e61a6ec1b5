use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::output::Output;
use super::{Answer, Outgoing, Sending};
use crate::wire::Tag;
use crate::{Refusal, RequestError};

/// The requests without a reply, in the order in which they were made.
#[derive(Debug)]
pub(super) struct Outstanding {
    by_tag: BTreeMap<Tag, Waiting>,
    limit: Option<Duration>,
}

#[derive(Debug)]
struct Waiting {
    outgoing: Outgoing,
    /// `None`: never.
    deadline: Option<Instant>,
    /// The number of its line on the connection, once a server may have read it.
    line: Option<u64>,
}

impl Waiting {
    fn send(&mut self, out: &mut Output) {
        self.line = Some(out.push(&self.outgoing.line));
    }

    fn fail(self, error: RequestError) {
        // The caller may have stopped waiting.
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

    /// Adds a request, and sends it if there is a connection.
    pub(super) fn add(&mut self, outgoing: Outgoing, now: Instant, out: Option<&mut Output>) {
        let deadline = self.limit.and_then(|limit| now.checked_add(limit));
        let mut waiting = Waiting {
            outgoing,
            deadline,
            line: None,
        };
        if let Some(out) = out {
            waiting.send(out);
        }
        self.by_tag.insert(waiting.outgoing.tag, waiting);
    }

    /// The request that was sent as this line of the connection.
    pub(super) fn sent_as(&self, line: u64) -> Option<Tag> {
        let mut all = self.by_tag.iter();
        all.find_map(|(tag, waiting)| (waiting.line == Some(line)).then_some(*tag))
    }

    /// Ends a request with its reply. Returns false if no request has this tag.
    pub(super) fn settle(&mut self, tag: Tag, reply: Result<Answer, RequestError>) -> bool {
        let Some(waiting) = self.by_tag.remove(&tag) else {
            return false;
        };
        // The caller may have stopped waiting.
        let _ = waiting.outgoing.reply.send(reply);
        true
    }

    /// Keeps a request for the next connection. Returns false if it must not be sent there.
    pub(super) fn postpone(&mut self, tag: Tag) -> bool {
        match self.by_tag.get_mut(&tag) {
            Some(waiting) if matches!(waiting.outgoing.sending, Sending::Again | Sending::Once) => {
                waiting.line = None;
                true
            }
            _ => false,
        }
    }

    /// Ends the requests that must not be sent on another connection, and those without a caller.
    pub(super) fn lost(&mut self) {
        let (kept, ended) =
            std::mem::take(&mut self.by_tag)
                .into_iter()
                .partition(|(_, waiting)| {
                    let may_be_sent = match waiting.outgoing.sending {
                        Sending::Again => true,
                        Sending::Once => waiting.line.is_none(),
                        Sending::On(_) | Sending::Next(_) => false,
                    };
                    may_be_sent && !waiting.outgoing.reply.is_closed()
                });
        self.by_tag = kept;
        for waiting in self.by_tag.values_mut() {
            waiting.line = None;
        }
        for (_, waiting) in ended {
            waiting.fail(RequestError::Disconnected);
        }
    }

    /// Sends every request on a new connection.
    pub(super) fn resume(&mut self, out: &mut Output) {
        for waiting in self.by_tag.values_mut() {
            waiting.send(out);
        }
    }

    /// The next deadline: that of the first request, as all have the same timeout.
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

    /// Ends every request with this refusal.
    pub(super) fn refuse_all(&mut self, refusal: &Refusal) {
        for (_, waiting) in std::mem::take(&mut self.by_tag) {
            waiting.fail(RequestError::Refused(refusal.clone()));
        }
    }

    /// Ends every request: the client is closed.
    pub(super) fn fail_all(&mut self) {
        for (_, waiting) in std::mem::take(&mut self.by_tag) {
            waiting.fail(RequestError::Closed);
        }
    }
}
