use std::{
    io, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use race_core::{AttemptHandle, Moment};

use super::{
    AddressHistory, Endpoint, Endpoints, Origin, Peer, Query, QueryFailed, QuicMemory, Records,
    Refused, Transport,
};
use crate::{
    Destination, Family, Next, attempts::Attempts, handshakes::SharedEndpoints, plan::Plan,
};

/// The answer to a query, on its way.
pub(super) type Asked<'a> = Pin<Box<dyn Future<Output = io::Result<Records>> + Send + 'a>>;

/// What the end of a race is remembered in.
pub(super) struct Memories {
    pub(super) quic: Arc<QuicMemory>,
    pub(super) history: Option<Arc<AddressHistory>>,
}

/// The queries for one origin, and the attempts to connect to it.
pub(super) struct Search<'a, A> {
    origin: Origin,
    endpoints: SharedEndpoints,
    ask: A,
    asked: Vec<(Query, Asked<'a>)>,
    errors: Vec<io::Error>,
    attempts: Attempts,
    memories: Memories,
    /// Woken after an answer.
    waker: Option<Waker>,
}

impl<'a, A: Fn(Query) -> Asked<'a>> Search<'a, A> {
    pub(super) fn new(origin: Origin, endpoints: Endpoints, ask: A, memories: Memories) -> Self {
        Self {
            origin,
            endpoints: SharedEndpoints::new(endpoints),
            ask,
            asked: Vec::new(),
            errors: Vec::new(),
            attempts: Attempts::default(),
            memories,
            waker: None,
        }
    }

    /// Sends the queries that are due. Whether there were any.
    fn ask(&mut self) -> bool {
        let before = self.asked.len();
        while let Some(query) = self.endpoints.with(Endpoints::next_query) {
            let answer = (self.ask)(query.clone());
            self.asked.push((query, answer));
        }
        self.asked.len() > before
    }

    /// Takes the answers that are ready. Whether there were any.
    fn take_answers(&mut self, now: Moment, cx: &mut Context<'_>) -> bool {
        let before = self.asked.len();
        let mut place = 0;
        while let Some((_, answer)) = self.asked.get_mut(place) {
            match answer.as_mut().poll(cx) {
                Poll::Pending => place += 1,
                Poll::Ready(records) => {
                    let (query, _) = self.asked.remove(place);
                    self.answer(&query, records, now);
                }
            }
        }
        self.asked.len() < before
    }

    fn answer(&mut self, query: &Query, records: io::Result<Records>, now: Moment) {
        let answer = of_kind(query, records).map_err(|error| {
            let text = format!("{query}: {error}");
            self.errors.push(io::Error::new(error.kind(), text));
            QueryFailed
        });
        self.endpoints.answered(query, answer, now);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// Records of another type are no answer: the query would stay open.
fn of_kind(query: &Query, records: io::Result<Records>) -> io::Result<Records> {
    let records = records?;
    match mem::discriminant(&records) == mem::discriminant(&query.kind.none()) {
        true => Ok(records),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the resolver answered with records of another type",
        )),
    }
}

impl<'a, A: Fn(Query) -> Asked<'a>> Plan for Search<'a, A> {
    type Candidate = Endpoint;

    fn poll(&mut self, now: Moment, cx: &mut Context<'_>) {
        // An answer can lead to further queries, at most to as many as there are names.
        self.ask();
        while self.take_answers(now, cx) && self.ask() {}
    }

    fn next(&mut self, now: Moment, waker: Option<&Waker>) -> Next<Endpoint> {
        if let Some(waker) = waker {
            self.waker = Some(waker.clone());
        }
        self.endpoints.with(|it| it.next(now))
    }

    fn started(&mut self, endpoint: &Endpoint, now: Moment) {
        self.endpoints.with(|it| it.started(endpoint));
        self.attempts.start(endpoint.peer(), endpoint.family(), now);
    }

    fn attempts(&mut self) -> &mut Attempts {
        &mut self.attempts
    }

    fn won(&mut self, endpoint: &Endpoint, now: Moment) {
        let peer = endpoint.peer();
        let handshake = self.attempts.handshake(peer, now);
        if let (Some(history), Some(handshake)) = (&self.memories.history, handshake) {
            history.remember(peer.address.ip(), handshake);
        }
        if peer.transport == Transport::Quic {
            self.memories.quic.forget();
        } else if self.attempts.teach_tcp(peer) {
            self.memories.quic.remember(now);
        }
    }

    fn peer(endpoint: &Endpoint) -> Peer {
        endpoint.peer()
    }

    fn family(endpoint: &Endpoint) -> Family {
        endpoint.family()
    }

    fn destination(&self, endpoint: Endpoint, attempt: AttemptHandle) -> Destination {
        let has_progress = self.attempts.progress_of(endpoint.peer());
        Destination::new(endpoint, self.origin.clone(), attempt, has_progress)
            .records(self.endpoints.clone())
    }

    fn take_errors(&mut self) -> Vec<io::Error> {
        mem::take(&mut self.errors)
    }

    fn refused(&self) -> Option<Refused> {
        self.endpoints.with(|it| it.refused())
    }
}

impl<A> Drop for Search<'_, A> {
    fn drop(&mut self) {
        self.endpoints.end();
    }
}
