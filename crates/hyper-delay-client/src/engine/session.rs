use std::sync::Weak;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::output::Output;
use super::outstanding::Outstanding;
use super::routes::Routes;
use super::{Answer, Command, Handle, Outgoing, Sending, Unclosed};
use crate::settings::Settings;
use crate::wire::{Arrived, Head, Registered, Request, Tag, Unregistered};
use crate::{Code, End, ListenError, Refusal, RequestError, Unanswered};

/// The requests and routes of a client, over all its connections.
#[derive(Debug)]
pub(crate) struct Session {
    outstanding: Outstanding,
    routes: Routes,
    /// The number of the current connection, or of the last one.
    connection: u64,
    up: bool,
    /// The lines to write on this connection.
    out: Output,
    /// Deliveries of this connection without an answer.
    held: usize,
    closing: Option<Closing>,
    close_timeout: Duration,
    /// The number of lines that open a connection.
    opening: u64,
    /// Weak, so that the client ends after its last user handle is dropped.
    handle: Weak<Handle>,
}

#[derive(Debug)]
struct Closing {
    deadline: Option<Instant>,
    replies: Vec<oneshot::Sender<Unclosed>>,
}

impl Session {
    pub(crate) fn new(settings: &Settings, handle: Weak<Handle>) -> Self {
        Self {
            outstanding: Outstanding::new(settings.request_timeout),
            routes: Routes::default(),
            connection: 0,
            up: false,
            out: Output::default(),
            held: 0,
            closing: None,
            close_timeout: settings.close_timeout,
            opening: settings.opening_lines(),
            handle,
        }
    }

    /// Starts a connection: registers the routes and sends the requests without a reply.
    pub(super) fn resume(&mut self) {
        self.connection += 1;
        self.up = true;
        self.out = Output::opened(self.opening);
        self.routes.resume(&mut self.out);
        self.outstanding.resume(&mut self.out);
    }

    /// Ends a lost connection, with its deliveries.
    pub(super) fn lost(&mut self) {
        self.up = false;
        self.out = Output::default();
        self.held = 0;
        self.routes.lost();
        self.outstanding.lost();
    }

    pub(super) fn take(&mut self, command: Command, now: Instant) {
        match command {
            Command::Request(outgoing) => self.request(outgoing, now),
            Command::Register(registration) if self.closing.is_some() => {
                let (route, source) = (registration.route, RequestError::Closed);
                let error = ListenError::Register { route, source };
                let _ = registration.reply.send(Err(error));
            }
            Command::Register(registration) => {
                let out = if self.up { Some(&mut self.out) } else { None };
                self.routes.add(registration, out);
            }
            Command::Unregister { route, serial } => {
                if self.routes.remove(&route, serial) {
                    self.unregister(&route);
                }
            }
            Command::Answer { connection, line } => {
                if self.answers(connection) {
                    self.out.push(&line);
                }
            }
            Command::Close(reply) => self.close(reply, now),
        }
    }

    fn request(&mut self, outgoing: Outgoing, now: Instant) {
        let error = match outgoing.sending {
            Sending::On(connection) if self.answers(connection) => None,
            Sending::On(_) => Some(RequestError::Disconnected),
            _ if self.closing.is_some() => Some(RequestError::Closed),
            Sending::Next(connection) if !(self.up && connection == self.connection) => {
                Some(RequestError::Disconnected)
            }
            _ => None,
        };
        match error {
            Some(error) => {
                let _ = outgoing.reply.send(Err(error));
            }
            None => {
                let out = if self.up { Some(&mut self.out) } else { None };
                self.outstanding.add(outgoing, now, out);
            }
        }
    }

    /// Counts the answer to a delivery of `connection`. Returns false if that connection is gone:
    /// the server has taken the delivery back.
    fn answers(&mut self, connection: u64) -> bool {
        let current = self.up && connection == self.connection;
        if current {
            self.held = self.held.saturating_sub(1);
        }
        current
    }

    fn unregister(&mut self, route: &str) {
        if self.up {
            let request = Request {
                route_key: Some(route),
                ..Request::of("unregister")
            };
            self.out.push(&request.line());
        }
    }

    /// Handles a line. The connection continues whatever the line contains.
    pub(super) fn line(&mut self, line: &[u8]) {
        if let Err(error) = self.read(line) {
            // The line can have a payload.
            let bytes = line.len();
            tracing::warn!(%error, bytes, "ignored a line that cannot be read");
        }
    }

    fn read(&mut self, line: &[u8]) -> Result<(), serde_json::Error> {
        let head: Head<'_> = serde_json::from_slice(line)?;
        match (head.kind(), head.tag()) {
            ("delivery", _) => {
                let delivery = serde_json::from_slice::<Arrived<'_>>(line)?.delivery()?;
                // Without a handle there is no listener.
                if let Some(handle) = self.handle.upgrade() {
                    self.held += 1;
                    self.routes
                        .deliver(Unanswered::new(delivery, self.connection, handle));
                }
            }
            ("error", tag) => self.refused(tag, serde_json::from_slice(line)?),
            ("registered", Some(serial)) => {
                if !self
                    .routes
                    .registered(serial, &serde_json::from_slice::<Registered>(line)?)
                {
                    tracing::debug!("ignored the registration of a route without a listener");
                }
            }
            ("unregistered", _) => self.unregistered(serde_json::from_slice(line)?),
            (_, Some(tag)) => {
                let answer = Answer {
                    connection: self.connection,
                    line: line.to_vec(),
                };
                self.outstanding.settle(tag, Ok(answer));
            }
            (kind, None) => tracing::trace!(kind, "ignored a line"),
        }
        Ok(())
    }

    fn refused(&mut self, tag: Option<Tag>, refusal: Refusal) {
        // The server has no tag for a line that it could not read, but the line's number.
        let by_line = || self.outstanding.sent_as(refusal.line?);
        let Some(tag) = tag.or_else(by_line) else {
            // An answer to a delivery, for instance: only the log can say which.
            let (route, id) = (refusal.route.as_deref(), refusal.id.as_deref());
            tracing::warn!(route, id, %refusal, "the server refused a line");
            return;
        };
        // The server closes the connection when it has ended. The next one gets the request again.
        if refusal.code == Code::ShuttingDown
            && (self.outstanding.postpone(tag) || self.routes.is_asked(tag))
        {
            return;
        }
        if !self.routes.refused(tag, &refusal) {
            self.outstanding
                .settle(tag, Err(RequestError::Refused(refusal)));
        }
    }

    /// Fails the requests without a reply: the server refuses the token, and would refuse them.
    pub(super) fn forbidden(&mut self, refusal: &Refusal) {
        self.outstanding.refuse_all(refusal);
    }

    fn unregistered(&mut self, Unregistered { route_key, reason }: Unregistered) {
        match reason.as_str() {
            // The reply to our request. The route was removed before.
            "asked" => {}
            "replaced" => self.routes.unregistered(&route_key, End::Replaced),
            _ => self
                .routes
                .unregistered(&route_key, End::Unregistered { reason }),
        }
    }

    /// Ends the routes. Requests and deliveries may still be answered.
    fn close(&mut self, reply: oneshot::Sender<Unclosed>, now: Instant) {
        for route in self.routes.close() {
            self.unregister(&route);
        }
        let deadline = now.checked_add(self.close_timeout);
        let closing = self.closing.get_or_insert(Closing {
            deadline,
            replies: Vec::new(),
        });
        closing.replies.push(reply);
    }

    /// Ends the client after its last handle was dropped. Lines that are not written yet still are.
    pub(super) fn abandon(&mut self, now: Instant) {
        self.outstanding.fail_all();
        self.held = 0;
        let deadline = now.checked_add(self.close_timeout);
        self.closing.get_or_insert(Closing {
            deadline,
            replies: Vec::new(),
        });
    }

    /// Whether the client is closed and nothing is left to do.
    pub(super) fn finished(&self) -> bool {
        self.closing.is_some()
            && self.outstanding.is_empty()
            && self.held == 0
            && self.unwritten().is_empty()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let close = self.closing.as_ref().and_then(|closing| closing.deadline);
        [self.outstanding.deadline(), close]
            .into_iter()
            .flatten()
            .min()
    }

    /// Fails requests that have timed out. Returns true if the close has timed out, too.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        self.outstanding.expire(now);
        let close = self.closing.as_ref().and_then(|closing| closing.deadline);
        close.is_some_and(|deadline| deadline <= now)
    }

    /// Fails everything that still waits. Returns the callers of `close` and what was open.
    pub(super) fn end(&mut self) -> (Vec<oneshot::Sender<Unclosed>>, Unclosed) {
        let open = Unclosed {
            requests: self.outstanding.len(),
            deliveries: self.held,
        };
        self.outstanding.fail_all();
        self.routes.close();
        let replies = self
            .closing
            .take()
            .map_or_else(Vec::new, |closing| closing.replies);
        (replies, open)
    }

    pub(super) fn ping(&mut self) {
        self.out.push(&Request::of("ping").line());
    }

    pub(super) fn unwritten(&self) -> &[u8] {
        self.out.unwritten()
    }

    pub(super) fn wrote(&mut self, bytes: usize) {
        self.out.wrote(bytes);
    }
}
