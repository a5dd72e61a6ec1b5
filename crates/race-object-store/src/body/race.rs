//! The race of a body that has stalled: the body and its continuations.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use object_store::{Error, ObjectStore};
use race_core::{
    Hook, OnFailure, Race, RaceError, Timer, Verdict, Won,
    observe::Observer,
    policy::IntoPolicy,
    source::{Source, SourceTypes},
};

use super::{
    Body, Rest,
    continuation::Progress,
    first_byte::poll_byte,
    stall::{Limits, Stalls},
};
use crate::{Delays, GenericHedgedStore, ReadClass};

/// What the bodies of one read have in common.
pub(super) struct Read<S, T, D, O> {
    pub(super) store: GenericHedgedStore<S, T, D, O>,
    pub(super) class: ReadClass,
    pub(super) rest: Arc<Rest>,
}

/// Resolves to the body that has the next byte; else to the end of the body that has stalled, and
/// of all its continuations.
pub(super) type StallRace = Pin<Box<dyn Future<Output = Result<Progress, Ended>> + Send>>;

/// How a body ended: with an error, or too early.
pub(super) type Ended = Option<Error>;

type PolicyOf<D, T> = <<D as Delays<T>>::Delay as IntoPolicy<T>>::Policy;

/// The stalls of a body, for the stream that is read and for its race.
pub(super) type SharedStalls<T, D> = Arc<Mutex<Stalls<T, PolicyOf<D, T>>>>;

pub(super) fn lock<V>(shared: &Mutex<V>) -> MutexGuard<'_, V> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S, T, D, O> Read<S, T, D, O>
where
    S: ObjectStore,
    T: Timer + Clone + Unpin + Send + Sync + 'static,
    D: Delays<T>,
    O: Observer + Clone + Send + Sync + 'static,
{
    pub(super) fn stalls(&self) -> SharedStalls<T, D> {
        let (store, race) = (&self.store, &self.store.options.race);
        let limits = Limits {
            max_continuations: store.options.max_continuations(),
            min_gap: race.min_gap.unwrap_or_default(),
        };
        let (policy, _) = store.delays.delay(self.class).into_policy(&store.timer);
        let stalls = Stalls::new(store.timer.clone(), policy, limits);
        Arc::new(Mutex::new(stalls))
    }

    /// Races a body that has stalled after `delivered` bytes against its continuations.
    pub(super) fn race(
        self: &Arc<Self>,
        body: Body,
        delivered: u64,
        stalls: &SharedStalls<T, D>,
    ) -> StallRace {
        let (store, options) = (&self.store, &self.store.options);
        let (_, hooks) = store.delays.delay(self.class).into_policy(&store.timer);
        let max_attempts = lock(stalls).left().saturating_add(1);
        let bodies = Bodies {
            read: self.clone(),
            delivered,
            stalls: stalls.clone(),
            stalled: Some(body),
            is_due: true,
        };
        let race = Race::at(store.timer.clone())
            .from_source(AtOnce(hooks), bodies)
            .max_attempts(max_attempts)
            .max_in_flight(options.race.max_in_flight.unwrap_or(usize::MAX))
            .on_failure(OnFailure::Wait)
            .budget(options.budget.clone())
            .observer(store.observer.clone())
            // The GET of this body was charged and observed when it started.
            .resumed();
        #[cfg(feature = "tracing")]
        let race = race.poll_in_spans();
        let stalls = stalls.clone();
        let race = race.first_ok_by(move |lost| match lost {
            Lost::Stalled(_) => Verdict::NoMoreStarts,
            Lost::Continuation(verdict) => {
                if *verdict == Verdict::NoMoreStarts {
                    lock(&stalls).stop();
                }
                *verdict
            }
        });
        Box::pin(async move { end(race.await) })
    }
}

fn end(result: Result<Won<(), Progress>, RaceError<(), Lost>>) -> Result<Progress, Ended> {
    let lost = match result {
        Ok(won) => return Ok(won.output),
        Err(error) => error.into_errors(),
    };
    // The caller knows the body that has stalled, and nothing of its continuations.
    let ended = lost.into_iter().find_map(|lost| match lost {
        Lost::Stalled(ended) => Some(ended),
        Lost::Continuation(_) => None,
    });
    Err(ended.flatten())
}

/// Why an attempt has no byte.
enum Lost {
    Stalled(Ended),
    Continuation(Verdict),
}

impl fmt::Debug for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stalled(ended) => f.debug_tuple("Stalled").field(ended).finish(),
            Self::Continuation(verdict) => f.debug_tuple("Continuation").field(verdict).finish(),
        }
    }
}

/// Starts what the source gives without a delay: the source waits for the stall.
struct AtOnce<H>(H);

impl<T, H: Hook> IntoPolicy<T> for AtOnce<H> {
    type Policy = Duration;
    type Hooks = H;

    fn into_policy(self, _: &T) -> (Duration, H) {
        (Duration::ZERO, self.0)
    }
}

/// Gives the body that has stalled, and a continuation for each stall.
struct Bodies<S, T, D: Delays<T>, O> {
    read: Arc<Read<S, T, D, O>>,
    delivered: u64,
    stalls: SharedStalls<T, D>,
    /// `None` once it has started.
    stalled: Option<Body>,
    /// The first continuation, for the stall that began the race, has not been drawn.
    is_due: bool,
}

enum Candidate {
    Stalled(Body),
    Continuation,
}

type Attempt = Pin<Box<dyn Future<Output = Result<Progress, Lost>> + Send>>;

impl<S, T, D: Delays<T>, O> SourceTypes for Bodies<S, T, D, O> {
    type Candidate = Candidate;
    type Arg = ();
    type Attempt = Attempt;
}

impl<S, T, D, O> Source for Bodies<S, T, D, O>
where
    S: ObjectStore,
    T: Timer + Clone + Unpin + Send + Sync + 'static,
    D: Delays<T>,
    O: Observer + Clone + Send + Sync + 'static,
{
    type Output = Result<Progress, Lost>;

    fn poll_candidate(&mut self, cx: &mut Context<'_>) -> Poll<Option<Candidate>> {
        if let Some(body) = self.stalled.take() {
            return Poll::Ready(Some(Candidate::Stalled(body)));
        }
        let has_stalled = self.is_due || ready!(lock(&self.stalls).poll(cx));
        self.is_due = false;
        Poll::Ready(has_stalled.then_some(Candidate::Continuation))
    }

    fn attempt(&mut self, candidate: Candidate) -> ((), Attempt) {
        let attempt: Attempt = match candidate {
            Candidate::Stalled(body) => Box::pin(next_byte(body)),
            Candidate::Continuation => {
                lock(&self.stalls).start();
                Box::pin(continuation(self.read.clone(), self.delivered))
            }
        };
        ((), attempt)
    }
}

async fn next_byte(mut body: Body) -> Result<Progress, Lost> {
    let next: Result<Option<Bytes>, Error> = poll_fn(|cx| poll_byte(body.as_mut(), cx)).await;
    match next {
        Ok(Some(chunk)) => Ok(Progress { chunk, body }),
        Ok(None) => Err(Lost::Stalled(None)),
        Err(error) => Err(Lost::Stalled(Some(error))),
    }
}

/// Requests the rest, within the time that a read of this store may take.
async fn continuation<S, T, D, O>(
    read: Arc<Read<S, T, D, O>>,
    delivered: u64,
) -> Result<Progress, Lost>
where
    S: ObjectStore,
    T: Timer + Clone + Unpin,
{
    let Read { store, rest, .. } = &*read;
    let options = &store.options;
    let request = rest.clone();
    let request = request.request(store.inner.clone(), options.classify.clone(), delivered);
    let limits = [options.race.attempt_timeout, options.race.deadline];
    let result = match limits.into_iter().flatten().min() {
        None => request.await,
        Some(limit) => {
            let race = Race::at(store.timer.clone()).of(Duration::MAX, [request]);
            let won = race.attempt_timeout(limit).first().await;
            won.map_or(Err(Verdict::Retryable), |won| won.output)
        }
    };
    result.map_err(Lost::Continuation)
}
