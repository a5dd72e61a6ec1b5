use std::{
    io, mem,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use race_core::{AttemptHandle, Moment};

use super::{
    AddressHistory, Endpoint, Endpoints, Origin, Peer, Query, QueryFailed, QuicMemory, Records,
    Refused, Transport,
};
use crate::{Destination, Family, Next, destination::SharedEndpoints, plan::Plan};

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
    /// In the order of their starts.
    attempts: Vec<Attempt>,
    memories: Memories,
    /// Woken after an answer.
    waker: Option<Waker>,
}

struct Attempt {
    peer: Peer,
    family: Family,
    began: Moment,
    is_running: bool,
    has_progress: Arc<AtomicBool>,
    /// The time until its first progress.
    handshake: Option<Duration>,
}

impl<'a, A: Fn(Query) -> Asked<'a>> Search<'a, A> {
    pub(super) fn new(origin: Origin, endpoints: Endpoints, ask: A, memories: Memories) -> Self {
        Self {
            origin,
            endpoints: SharedEndpoints::new(endpoints),
            ask,
            asked: Vec::new(),
            errors: Vec::new(),
            attempts: Vec::new(),
            memories,
            waker: None,
        }
    }

    /// Sends the queries that are due. Whether there were any.
    fn ask(&mut self) -> bool {
        let mut endpoints = self.endpoints.lock();
        let before = self.asked.len();
        while let Some(query) = endpoints.endpoints.next_query() {
            let answer = (self.ask)(query.clone());
            self.asked.push((query, answer));
        }
        self.asked.len() > before
    }

    /// Takes the answers that are ready. Whether there were any.
    fn take_answers(&mut self, now: Moment, cx: &mut Context<'_>) -> bool {
        let mut answered = Vec::new();
        self.asked
            .retain_mut(|(query, answer)| match answer.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(records) => {
                    answered.push((query.clone(), records));
                    false
                }
            });
        let has_answers = !answered.is_empty();
        for (query, records) in answered {
            self.answer(&query, records, now);
        }
        has_answers
    }

    fn answer(&mut self, query: &Query, records: io::Result<Records>, now: Moment) {
        let records = records.map_err(|error| {
            let text = format!("{query}: {error}");
            self.errors.push(io::Error::new(error.kind(), text));
            QueryFailed
        });
        let mut endpoints = self.endpoints.lock();
        endpoints.endpoints.answered(query, records, now);
        let wakers = mem::take(&mut endpoints.wakers);
        drop(endpoints);
        wakers
            .into_iter()
            .chain(self.waker.take())
            .for_each(Waker::wake);
    }

    fn running(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|it| it.is_running)
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
        self.waker = waker.cloned();
        self.endpoints.lock().endpoints.next(now)
    }

    fn started(&mut self, endpoint: &Endpoint, now: Moment) {
        self.endpoints.lock().endpoints.started(endpoint);
        self.attempts.push(Attempt {
            peer: endpoint.peer(),
            family: endpoint.family(),
            began: now,
            is_running: true,
            has_progress: Arc::default(),
            handshake: None,
        });
    }

    fn finished(&mut self, endpoint: &Endpoint) {
        let peer = endpoint.peer();
        if let Some(attempt) = self.attempts.iter_mut().find(|it| it.peer == peer) {
            attempt.is_running = false;
        }
    }

    fn note_progress(&mut self, now: Moment) {
        for attempt in &mut self.attempts {
            if attempt.handshake.is_none() && attempt.has_progress.load(Ordering::Relaxed) {
                attempt.handshake = Some(now.since(attempt.began));
            }
        }
    }

    fn won(&mut self, endpoint: &Endpoint, now: Moment) {
        let peer = endpoint.peer();
        let Some(place) = self.attempts.iter().position(|it| it.peer == peer) else {
            return;
        };
        if let Some(history) = &self.memories.history {
            let attempt = &self.attempts[place];
            let handshake = attempt.handshake.unwrap_or(now.since(attempt.began));
            history.remember(peer.address.ip(), handshake);
        }
        // An attempt that began later has not had the same time.
        let mut before = self.attempts[..place].iter().filter(|it| it.is_running);
        match peer.transport {
            Transport::Quic => self.memories.quic.forget(),
            Transport::Tcp if before.any(|it| it.peer.transport == Transport::Quic) => {
                self.memories.quic.remember(now);
            }
            Transport::Tcp => {}
        }
    }

    fn peer(endpoint: &Endpoint) -> Peer {
        endpoint.peer()
    }

    fn family(endpoint: &Endpoint) -> Family {
        endpoint.family()
    }

    fn destination(&self, endpoint: Endpoint, attempt: AttemptHandle) -> Destination {
        let peer = endpoint.peer();
        let started = self.attempts.iter().rfind(|it| it.peer == peer);
        let has_progress = started.map_or_else(Arc::default, |it| Arc::clone(&it.has_progress));
        Destination::new(endpoint, self.origin.clone(), attempt)
            .with(self.endpoints.clone(), has_progress)
    }

    fn is_unanswered(&self, family: Family) -> bool {
        self.running().any(|it| it.family == family)
    }

    fn take_running(&mut self) -> Vec<Peer> {
        self.running().map(|it| it.peer).collect()
    }

    fn take_errors(&mut self) -> Vec<io::Error> {
        mem::take(&mut self.errors)
    }

    fn refused(&self) -> Option<Refused> {
        self.endpoints.lock().endpoints.refused()
    }
}
