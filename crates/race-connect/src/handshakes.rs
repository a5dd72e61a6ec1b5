use std::{
    io, mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use race_core::Moment;

use crate::v3::{Endpoint, Endpoints, Handshake, Query, QueryFailed, Records};

/// The endpoints of an origin, and the handshakes that wait for its HTTPS records.
#[derive(Clone)]
pub(crate) struct SharedEndpoints(Arc<Mutex<State>>);

struct State {
    endpoints: Endpoints,
    /// The handshakes that wait, by their numbers.
    waiting: Vec<(u64, Waker)>,
    next_number: u64,
    /// No answer will come any more.
    has_ended: bool,
}

impl SharedEndpoints {
    pub(crate) fn new(endpoints: Endpoints) -> Self {
        Self(Arc::new(Mutex::new(State {
            endpoints,
            waiting: Vec::new(),
            next_number: 0,
            has_ended: false,
        })))
    }

    /// Calls a function with the endpoints, which stay locked meanwhile: it must not resolve, dial
    /// or wake.
    pub(crate) fn with<R>(&self, function: impl FnOnce(&mut Endpoints) -> R) -> R {
        function(&mut self.lock().endpoints)
    }

    /// Reports an answer, and wakes the handshakes.
    pub(crate) fn answered(
        &self,
        query: &Query,
        answer: Result<Records, QueryFailed>,
        now: Moment,
    ) {
        let waiting = {
            let mut state = self.lock();
            state.endpoints.answered(query, answer, now);
            mem::take(&mut state.waiting)
        };
        wake(waiting);
    }

    /// Refuses the handshakes that still wait, such as those in a task of their own.
    pub(crate) fn end(&self) {
        let waiting = {
            let mut state = self.lock();
            state.has_ended = true;
            mem::take(&mut state.waiting)
        };
        wake(waiting);
    }

    /// Waits until the handshake with an endpoint may begin.
    pub(crate) fn handshake<'a>(&'a self, endpoint: &'a Endpoint) -> Waiting<'a> {
        Waiting {
            endpoints: self,
            endpoint,
            number: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(waiting: Vec<(u64, Waker)>) {
    waiting.into_iter().for_each(|(_, waker)| waker.wake());
}

impl State {
    /// Registers a waker once for each handshake, however often that is polled.
    fn wait(&mut self, number: &mut Option<u64>, waker: &Waker) {
        let number = *number.get_or_insert_with(|| {
            self.next_number += 1;
            self.next_number
        });
        match self.waiting.iter_mut().find(|(it, _)| *it == number) {
            Some((_, registered)) => registered.clone_from(waker),
            None => self.waiting.push((number, waker.clone())),
        }
    }
}

/// A handshake that waits for the HTTPS records.
pub(crate) struct Waiting<'a> {
    endpoints: &'a SharedEndpoints,
    endpoint: &'a Endpoint,
    number: Option<u64>,
}

impl Future for Waiting<'_> {
    type Output = io::Result<Option<Arc<[u8]>>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let mut state = this.endpoints.lock();
        Poll::Ready(match state.endpoints.handshake(this.endpoint) {
            Handshake::Begin(ech) => Ok(ech),
            Handshake::Wait if state.has_ended => Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "the race ended before the HTTPS records arrived",
            )),
            Handshake::Wait => {
                state.wait(&mut this.number, cx.waker());
                return Poll::Pending;
            }
            Handshake::Refused => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the HTTPS records of the host do not allow a connection to this endpoint, or are \
                 unknown",
            )),
        })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.endpoints
                .lock()
                .waiting
                .retain(|(it, _)| *it != number);
        }
    }
}
