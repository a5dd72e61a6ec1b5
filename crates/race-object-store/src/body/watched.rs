//! A body that is hedged when it stalls.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use bytes::Bytes;
use futures_core::Stream;
use object_store::{Error, GetResult, GetResultPayload, ObjectStore, Result};
use race_core::{Timer, observe::Observer};

use super::{
    Body, Rest,
    continuation::Progress,
    first_byte::poll_byte,
    race::{Read, SharedStalls, StallRace, lock},
    stall::Woken,
};
use crate::{Delays, GenericHedgedStore, ReadClass};

/// Watches the body of an answer, if it is a stream. `rest` asks for the rest of it.
pub(crate) fn watch<S, T, D, O>(
    store: &GenericHedgedStore<S, T, D, O>,
    class: ReadClass,
    rest: Rest,
    answer: GetResult,
) -> GetResult
where
    S: ObjectStore,
    T: Timer + Clone + Unpin + Send + Sync + 'static,
    D: Delays<T>,
    O: Observer + Clone + Send + Sync + 'static,
{
    let payload = match answer.payload {
        GetResultPayload::Stream(body) => {
            let (store, rest) = (store.clone(), Arc::new(rest));
            let read = Arc::new(Read { store, class, rest });
            GetResultPayload::Stream(Box::pin(Watched {
                read,
                delivered: 0,
                state: State::Reading(body),
                wait: Wait::Unmeasured,
            }))
        }
        #[allow(
            unreachable_patterns,
            reason = "whether there are files depends on a feature of `object_store`"
        )]
        file => file,
    };
    GetResult { payload, ..answer }
}

struct Watched<S, T, D: Delays<T>, O> {
    read: Arc<Read<S, T, D, O>>,
    /// The number of bytes that the caller has.
    delivered: u64,
    state: State,
    wait: Wait<T, D>,
}

enum State {
    Reading(Body),
    Racing(StallRace),
    Ended,
}

/// Whether the waits for the body are measured.
enum Wait<T, D: Delays<T>> {
    /// There was none yet.
    Unmeasured,
    Measured {
        stalls: SharedStalls<T, D>,
        woken: Arc<Woken<T>>,
        /// That of `woken`.
        waker: Waker,
    },
    /// No continuation is possible any more.
    Over,
}

type Next = Option<Result<Bytes>>;

impl<S, T, D, O> Stream for Watched<S, T, D, O>
where
    S: ObjectStore,
    T: Timer + Clone + Unpin + Send + Sync + 'static,
    D: Delays<T>,
    O: Observer + Clone + Send + Sync + 'static,
{
    type Item = Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Next> {
        let this = self.get_mut();
        if this.is_over() {
            this.wait = Wait::Over;
        }
        if let Wait::Unmeasured = this.wait {
            let polled = this.poll_body(cx);
            if polled.is_ready() {
                return polled;
            }
            this.wait = Wait::measured(&this.read);
        }
        this.poll_waiting(cx)
    }
}

impl<T, D> Wait<T, D>
where
    T: Timer + Clone + Unpin + Send + Sync + 'static,
    D: Delays<T>,
{
    fn measured<S, O>(read: &Read<S, T, D, O>) -> Self
    where
        S: ObjectStore,
        O: Observer + Clone + Send + Sync + 'static,
    {
        let woken = Woken::new(read.store.timer.clone());
        Self::Measured {
            stalls: read.stalls(),
            waker: woken.clone().into(),
            woken,
        }
    }
}

impl<S, T, D, O> Watched<S, T, D, O>
where
    S: ObjectStore,
    T: Timer + Clone + Unpin + Send + Sync + 'static,
    D: Delays<T>,
    O: Observer + Clone + Send + Sync + 'static,
{
    /// Whether the body needs no watching any more: all its bytes are there, or no continuation may
    /// start. The end of a body is not hedged, because it may be an error, such as a wrong
    /// checksum.
    fn is_over(&self) -> bool {
        let State::Reading(_) = &self.state else {
            return false;
        };
        match &self.wait {
            _ if self.delivered >= self.read.rest.len() => true,
            Wait::Measured { stalls, .. } => !lock(stalls).can_happen(),
            Wait::Unmeasured | Wait::Over => false,
        }
    }

    fn poll_waiting(&mut self, reader: &mut Context<'_>) -> Poll<Next> {
        let Wait::Measured {
            stalls,
            woken,
            waker,
        } = &self.wait
        else {
            return self.poll_body(reader);
        };
        let (stalls, waker) = (stalls.clone(), waker.clone());
        let woken = woken.begin_poll(reader.waker());
        lock(&stalls).end_wait(woken);
        let cx = &mut Context::from_waker(&waker);
        // The body comes before the clock: a byte that is there is no stall, however late it is
        // read.
        let mut polled = self.poll_body(cx);
        if polled.is_pending() && self.has_stalled(&stalls, cx) {
            self.begin_race(&stalls);
            polled = self.poll_body(cx);
        }
        if polled.is_pending() {
            lock(&stalls).begin_wait();
        }
        polled
    }

    /// Whether the one body that is read has stalled. In a race, the race asks.
    fn has_stalled(&self, stalls: &SharedStalls<T, D>, cx: &mut Context<'_>) -> bool {
        match self.state {
            State::Reading(_) => lock(stalls).poll(cx) == Poll::Ready(true),
            State::Racing(_) | State::Ended => false,
        }
    }

    fn begin_race(&mut self, stalls: &SharedStalls<T, D>) {
        self.state = match mem::replace(&mut self.state, State::Ended) {
            State::Reading(body) => State::Racing(self.read.race(body, self.delivered, stalls)),
            state => state,
        };
    }

    /// Returns the next byte of the body, or of the first body of a race.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        let next = match &mut self.state {
            State::Ended => return Poll::Ready(None),
            State::Reading(body) => ready!(poll_byte(body.as_mut(), cx)),
            State::Racing(race) => match ready!(race.as_mut().poll(cx)) {
                Ok(Progress { chunk, body }) => {
                    self.state = State::Reading(body);
                    Ok(Some(chunk))
                }
                Err(ended) => {
                    self.state = State::Ended;
                    ended.map_or(Ok(None), Err)
                }
            },
        };
        Poll::Ready(self.deliver(next))
    }

    fn deliver(&mut self, next: Result<Option<Bytes>, Error>) -> Next {
        if let Wait::Measured { stalls, .. } = &self.wait {
            lock(stalls).byte();
        }
        match &next {
            Ok(Some(chunk)) => self.delivered += chunk.len() as u64,
            Ok(None) => self.state = State::Ended,
            // What follows an error is that of the body, and not hedged.
            Err(_) => self.wait = Wait::Over,
        }
        next.transpose()
    }
}
