use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use race_core::{Cause, Clock, Permit, RaceState};

use crate::{Balance, Lease, Leased, Monotonic, balance::Endpoints, endpoint::Endpoint};

/// Where losers run on, a hedge starts at an endpoint with at most a tenth of the attempts of the
/// first one. With a quarter, hedges made the median 1.3 times as long at a load of 0.9, and gained
/// no more: see "Room" in `benches/README.md`.
const ROOM: usize = 10;

/// The endpoints of the attempts of one race: each attempt goes to another one. Clones are the same
/// targets.
///
/// If there are more attempts than endpoints, they go round, but no attempt goes to the endpoint of
/// the one before, unless it is the only one.
pub struct Targets<E, C = Monotonic> {
    balance: Balance<E, C>,
    endpoints: Endpoints<E>,
    state: Arc<Mutex<State<E>>>,
}

struct State<E> {
    /// The endpoint of the first attempt.
    first: Option<Arc<Endpoint<E>>>,
    /// The endpoints of the attempts since the last time that all were used.
    used: Vec<Arc<Endpoint<E>>>,
    /// The endpoint of the next attempt, if the gate has chosen it.
    planned: Option<Arc<Endpoint<E>>>,
}

impl<E, C: Clock + Clone> Targets<E, C> {
    pub(crate) fn new(balance: Balance<E, C>, endpoints: Endpoints<E>) -> Self {
        let state = State {
            first: None,
            used: Vec::new(),
            planned: None,
        };
        Self {
            balance,
            endpoints,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Runs the next attempt at an endpoint. Its latency is learnt when the future resolves; if the
    /// future is dropped before, the attempt counts as cancelled.
    ///
    /// If losers run on, spawn the future that this returns, so that they count as in flight until
    /// they end.
    pub fn run<F: Future>(&self, attempt: impl FnOnce(E) -> F) -> Leased<F, E, C>
    where
        E: Clone,
    {
        let lease = self.pick();
        let attempt = attempt(lease.endpoint().clone());
        lease.run(attempt)
    }

    /// Like [`run`](Self::run), for attempts that can fail: an `Err` counts as an attempt that took
    /// [`failure_penalty`](Balance::failure_penalty), or longer if it did.
    pub fn try_run<F, T, X>(&self, attempt: impl FnOnce(E) -> F) -> Leased<F, E, C>
    where
        E: Clone,
        F: Future<Output = Result<T, X>>,
    {
        let lease = self.pick();
        let attempt = attempt(lease.endpoint().clone());
        lease.try_run(attempt)
    }

    /// Chooses the endpoint of the next attempt, which is in flight from now on. With
    /// [`run`](Self::run) and [`try_run`](Self::try_run) you need no lease.
    pub fn pick(&self) -> Lease<E, C> {
        let endpoint = self.with(|state| {
            let planned = state.planned.take();
            let endpoint = planned.unwrap_or_else(|| self.choose(state, &[]));
            state.begin(&endpoint, self.endpoints.len());
            endpoint
        });
        self.lease(endpoint)
    }

    /// Returns a gate for `Race::gate`, for losers that run on to their end: a hedge starts only at
    /// an endpoint with at most a tenth as many attempts in flight as that of the first attempt,
    /// rounded down. So it starts at an idle endpoint if the first has fewer than ten. If none of
    /// those that the attempt may go to has room, the gate is asked again after another delay. With
    /// a delay of zero the first refusal is final (see [`Permit::NotNow`]), and with one endpoint
    /// there is no hedge.
    ///
    /// Without it such hedges make a loaded service slower. If losers are cancelled it is not
    /// needed: they make room. A stricter rule, which needs to know all attempts in flight, hedges
    /// at idle servers only (LÆDGE: M. Primorac, K. Argyraki and E. Bugnion, *When to Hedge in
    /// Interactive Services*, NSDI 2021). This one counts the attempts of this balance: with many
    /// clients, of which each sees a part of them, it refuses less.
    pub fn gate(&self) -> impl FnMut(&RaceState<'_>) -> Permit + use<E, C> {
        let targets = self.clone();
        move |race| targets.permit(race.cause)
    }

    fn permit(&self, cause: Cause) -> Permit {
        self.with(|state| {
            if cause != Cause::Delay {
                state.planned = None;
                return Permit::Start;
            }
            let most = state.first.as_ref().map_or(0, |first| first.in_flight()) / ROOM;
            let avoided = match state.used.len() < self.endpoints.len() {
                true => &state.used[..],
                false => state.last(),
            };
            let has_room = |it: &Arc<Endpoint<E>>| it.in_flight() <= most && !avoided.contains(it);
            let now = self.balance.clock.read();
            let planned = self.balance.choose(&self.endpoints, has_room, now);
            state.planned = planned.cloned();
            match planned {
                Some(_) => Permit::Start,
                None => Permit::NotNow,
            }
        })
    }

    /// Chooses an endpoint: an unused one, else any but the last one, else the last one; none that
    /// was tried, if there are others.
    fn choose(&self, state: &State<E>, tried: &[Arc<Endpoint<E>>]) -> Arc<Endpoint<E>> {
        let now = self.balance.clock.read();
        let choose = |avoided: &[Arc<Endpoint<E>>]| {
            let is_free = |it: &Arc<Endpoint<E>>| !avoided.contains(it) && !tried.contains(it);
            self.balance.choose(&self.endpoints, is_free, now)
        };
        let chosen = choose(&state.used)
            .or_else(|| choose(state.last()))
            .or_else(|| choose(&[]));
        chosen.unwrap_or(&self.endpoints[0]).clone()
    }

    fn lease(&self, endpoint: Arc<Endpoint<E>>) -> Lease<E, C> {
        Lease::new(endpoint, self.balance.clock.clone(), self.balance.settings)
    }

    fn with<T>(&self, change: impl FnOnce(&mut State<E>) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// For [`Balanced`](crate::Balanced), whose services have to become ready before an attempt begins.
#[cfg(feature = "tower")]
impl<E, C: Clock + Clone> Targets<E, C> {
    /// Returns the endpoint to try after those that were tried; `None` if there are no others.
    pub(crate) fn preferred(&self, tried: &[Arc<Endpoint<E>>]) -> Option<Arc<Endpoint<E>>> {
        let preferred = self.with(|state| self.choose(state, tried));
        (!tried.contains(&preferred)).then_some(preferred)
    }

    /// Begins an attempt at an endpoint.
    pub(crate) fn begin(&self, endpoint: Arc<Endpoint<E>>) -> Lease<E, C> {
        self.with(|state| state.begin(&endpoint, self.endpoints.len()));
        self.lease(endpoint)
    }

    /// Returns whether the balance has the same endpoints still.
    pub(crate) fn are_current(&self) -> bool {
        Arc::ptr_eq(&self.endpoints, &self.balance.endpoints())
    }
}

impl<E> State<E> {
    /// Returns the endpoint of the last attempt, if there was one.
    fn last(&self) -> &[Arc<Endpoint<E>>] {
        &self.used[self.used.len().saturating_sub(1)..]
    }

    /// An attempt begins. If all endpoints were used before, they can be used again.
    fn begin(&mut self, endpoint: &Arc<Endpoint<E>>, endpoints: usize) {
        if self.used.len() >= endpoints {
            self.used.clear();
        }
        self.first.get_or_insert_with(|| endpoint.clone());
        self.used.push(endpoint.clone());
    }
}

impl<E, C: Clone> Clone for Targets<E, C> {
    fn clone(&self) -> Self {
        Self {
            balance: self.balance.clone(),
            endpoints: self.endpoints.clone(),
            state: self.state.clone(),
        }
    }
}

impl<E, C> fmt::Debug for Targets<E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Targets").finish_non_exhaustive()
    }
}
