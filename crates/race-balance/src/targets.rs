use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use race_core::{
    Verdict,
    observe::{Cause, Clock},
    policy::{Permit, RaceState},
};

#[cfg(feature = "tower")]
use crate::order::Order;
use crate::{
    Balance, ErrBy, Lease, Leased, Monotonic, OkOnly,
    balance::Endpoints,
    endpoint::{Endpoint, Place},
};

/// Where losers run on, a hedge starts at an endpoint with at most a tenth of the attempts of the
/// first one. With a quarter, hedges made the median 1.3 times as long at a load of 0.9, and gained
/// no more: see "Room" in `benches/README.md`.
const ROOM: usize = 10;

/// The endpoints of the attempts of one race: each attempt goes to another one. Clones are the same
/// targets.
///
/// If there are more attempts than endpoints, they go round, but no attempt goes to the endpoint of
/// the one before, unless it is the only one.
///
/// Endpoints that are [ejected](Balance::ejection), or that asked for a pause, are left out, also if
/// attempts have to go round for that. If none is left, an attempt goes to an ejected one, and if
/// all asked for a pause, to that whose pause ends first.
pub struct Targets<E, C = Monotonic> {
    balance: Balance<E, C>,
    endpoints: Endpoints<E>,
    state: Arc<Mutex<State<E>>>,
}

struct State<E> {
    /// The endpoint of the first attempt.
    first: Option<Arc<Endpoint<E>>>,
    /// The endpoints of the attempts of this round.
    used: Vec<Arc<Endpoint<E>>>,
    /// The endpoint of the next attempt, if the gate has chosen it.
    planned: Option<Place<E>>,
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

    /// Like [`run`](Self::run), for attempts that can fail: an `Err` counts as a failure of the
    /// endpoint. See [`Lease::try_run`].
    pub fn try_run<F, T, X>(&self, attempt: impl FnOnce(E) -> F) -> Leased<F, E, C, OkOnly>
    where
        E: Clone,
        F: Future<Output = Result<T, X>>,
    {
        let lease = self.pick();
        let attempt = attempt(lease.endpoint().clone());
        lease.try_run(attempt)
    }

    /// Like [`try_run`](Self::try_run), and `classify` decides what an `Err` says about the
    /// endpoint. See [`Lease::try_run_by`], and [`Balance::judge`] for the race.
    pub fn try_run_by<F, T, X, J>(
        &self,
        classify: J,
        attempt: impl FnOnce(E) -> F,
    ) -> Leased<F, E, C, ErrBy<J>>
    where
        E: Clone,
        F: Future<Output = Result<T, X>>,
        J: Fn(&X) -> Verdict,
    {
        let lease = self.pick();
        let attempt = attempt(lease.endpoint().clone());
        lease.try_run_by(classify, attempt)
    }

    /// Chooses the endpoint of the next attempt, which is in flight from now on. With
    /// [`run`](Self::run), [`try_run`](Self::try_run) and [`try_run_by`](Self::try_run_by) you need
    /// no lease.
    pub fn pick(&self) -> Lease<E, C> {
        let place = self.with(|state| {
            let planned = state.planned.take();
            let place = planned.unwrap_or_else(|| self.choose(state));
            state.begin(place.endpoint());
            place
        });
        self.lease(place)
    }

    /// Returns a gate for `Race::gate`, for losers that run on to their end: a hedge starts only at
    /// an endpoint with at most a tenth as many attempts in flight as that of the first attempt,
    /// rounded down. So it starts at an idle endpoint if the first has fewer than ten. If none of
    /// those that the attempt may go to has room, the gate is asked again after another delay, or
    /// after the minimum gap if the delay is zero. If both are zero, the first refusal is final (see
    /// [`Permit::NotNow`]). With one endpoint there is no hedge.
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
            let has_room = |it: &Endpoint<E>| it.in_flight() <= most;
            // What an earlier question has planned is given back first.
            state.planned = None;
            let now = self.balance.clock.read();
            let order = self.balance.order(&self.endpoints, &state.used, now);
            state.planned = order.with_room(has_room).next().map(|(_, place)| place);
            match state.planned {
                Some(_) => Permit::Start,
                None => Permit::NotNow,
            }
        })
    }

    fn choose(&self, state: &State<E>) -> Place<E> {
        let now = self.balance.clock.read();
        let mut order = self.balance.order(&self.endpoints, &state.used, now);
        let (_, place) = order.next().expect("a balance has at least one endpoint");
        place
    }

    fn lease(&self, place: Place<E>) -> Lease<E, C> {
        let balance = &self.balance;
        Lease::new(
            place,
            balance.clock.clone(),
            balance.settings,
            balance.label,
        )
    }

    fn with<T>(&self, change: impl FnOnce(&mut State<E>) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// For [`Balanced`](crate::Balanced), whose services have to become ready before an attempt begins.
#[cfg(feature = "tower")]
impl<E, C: Clock + Clone> Targets<E, C> {
    /// Calls a function with the order in which the next attempt tries endpoints.
    pub(crate) fn ordered<T>(&self, with: impl FnOnce(Order<'_, E>) -> T) -> T {
        let now = self.balance.clock.read();
        let used = self.with(|state| state.used.clone());
        with(self.balance.order(&self.endpoints, &used, now))
    }

    /// Begins an attempt at an endpoint.
    pub(crate) fn begin(&self, place: Place<E>) -> Lease<E, C> {
        self.with(|state| state.begin(place.endpoint()));
        self.lease(place)
    }

    /// Returns whether the balance has the same endpoints still.
    pub(crate) fn are_current(&self) -> bool {
        Arc::ptr_eq(&self.endpoints, &self.balance.endpoints())
    }
}

impl<E> State<E> {
    /// An attempt begins. If it goes where an earlier one went, a new round begins.
    fn begin(&mut self, endpoint: &Arc<Endpoint<E>>) {
        if self.used.contains(endpoint) {
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
