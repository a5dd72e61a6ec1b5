use std::{
    fmt,
    sync::{Mutex, PoisonError},
    task::{Context, Poll},
};

use race_core::observe::Clock;
use race_tower::{Backends, CloneRequests, Rules};
use tower_service::Service;

use crate::{Balance, ByRules, LayerRules, Leased, Monotonic, Targets, readiness::Readiness};

/// Equal services, such as one for each server, for a layer of `race-tower`: each attempt goes to
/// the one with the lowest latency times attempts in flight, and to another one than the earlier
/// attempts of its request.
///
/// A service that is not ready, or whose readiness fails, is passed over if another one is ready,
/// even if an earlier attempt went there. Clones share the statistics. A service that was made ready
/// and is not called is dropped with its `Balanced`, and with it what it holds, such as a permit.
///
/// An attempt whose service returns an error counts as a [failure](Balance::failure_penalty). An
/// answer such as an HTTP 503 is not an error of the service, and a server that gives it quickly
/// looks fast: set [`rules`](Self::rules) that call it a failure, and give the layer the same by
/// [`layer_rules`](Self::layer_rules).
///
/// ```
/// # use std::time::Duration;
/// # use race_balance::{Balance, Balanced, Slot};
/// # use race_core::Verdict;
/// # use race_tower::{FnRules, HedgeLayer};
/// # async fn echo(request: u32) -> Result<u32, std::io::Error> { Ok(request) }
/// # let connect = |_: &str| tower::service_fn(echo);
/// let hosts = ["one.example", "two.example", "three.example"];
/// let balance = Balance::new(hosts.map(|host| Slot::new(host, connect(host))));
/// let rules = FnRules::new(
///     |request: &u32| Some(*request),
///     |answer: &Result<u32, std::io::Error>| match answer {
///         Ok(503) | Err(_) => Verdict::Retryable,
///         Ok(_) => Verdict::Accept,
///     },
/// );
/// let balanced = Balanced::new(balance.clone()).rules(rules);
/// let layer = HedgeLayer::new(Duration::from_millis(50)).rules(balanced.layer_rules());
/// let service = layer.over(balanced);
///
/// // Later, when the hosts have changed:
/// balance.replace(["two.example", "four.example"].map(|host| Slot::new(host, connect(host))))?;
/// # fn is_service<S: tower::Service<u32>>(_: S) {}
/// # is_service(service);
/// # Ok::<(), race_balance::NoEndpoints>(())
/// ```
pub struct Balanced<K, S, C = Monotonic, R = CloneRequests> {
    balance: Balance<Slot<K, S>, C>,
    rules: R,
    /// For the first attempt of the next request.
    first: Option<BalancedService<K, S, C, R>>,
    /// Of the request that was called last.
    targets: Option<Targets<Slot<K, S>, C>>,
}

/// A service as an endpoint of a [`Balance`]. Slots with equal keys, such as the host, are equal.
///
/// The service is cloned for each attempt, under a lock, and need not be `Sync`.
pub struct Slot<K, S> {
    key: K,
    service: Mutex<S>,
}

/// One of the services of a [`Balanced`], for one attempt: the best one that is ready.
pub struct BalancedService<K, S, C = Monotonic, R = CloneRequests> {
    targets: Targets<Slot<K, S>, C>,
    rules: R,
    service: Readiness<Slot<K, S>, S>,
}

impl<K, S, C: Clock + Clone> Balanced<K, S, C> {
    /// Creates balanced services.
    #[must_use]
    pub fn new(balance: Balance<Slot<K, S>, C>) -> Self {
        Self {
            balance,
            rules: CloneRequests,
            first: None,
            targets: None,
        }
    }
}

impl<K, S, C, R> Balanced<K, S, C, R> {
    /// Sets how answers are judged. Default: [`CloneRequests`], by which each `Err` is a failure of
    /// its service, and each `Ok` is a success.
    ///
    /// What a verdict says about a service is listed at
    /// [`Lease::try_run_by`](crate::Lease::try_run_by).
    #[must_use]
    pub fn rules<R2>(self, rules: R2) -> Balanced<K, S, C, R2> {
        Balanced {
            balance: self.balance,
            rules,
            first: None,
            targets: self.targets,
        }
    }

    /// Returns the same rules for the layer. By these a request waits for a pause that a service
    /// asks for ([`Verdict::NotBefore`](race_core::Verdict::NotBefore)) only if all others asked
    /// for one, too: for the shortest that remains.
    #[must_use]
    pub fn layer_rules(&self) -> LayerRules<R, Slot<K, S>, C>
    where
        R: Clone,
        C: Clone,
    {
        LayerRules::new(self.rules.clone(), self.balance.clone())
    }
}

impl<K, S, C, R> BalancedService<K, S, C, R> {
    fn new(targets: Targets<Slot<K, S>, C>, rules: R) -> Self {
        Self {
            targets,
            rules,
            service: Readiness::new(),
        }
    }
}

impl<K, S> Slot<K, S> {
    /// Makes an endpoint of a service.
    #[must_use]
    pub fn new(key: K, service: S) -> Self {
        let service = Mutex::new(service);
        Self { key, service }
    }

    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> &K {
        &self.key
    }

    fn service(&self) -> S
    where
        S: Clone,
    {
        let service = self.service.lock();
        service.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<K: PartialEq, S> PartialEq for Slot<K, S> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<K: Eq, S> Eq for Slot<K, S> {}

/// A clone has nothing that is ready.
impl<K, S, C: Clone, R: Clone> Clone for Balanced<K, S, C, R> {
    fn clone(&self) -> Self {
        Self {
            balance: self.balance.clone(),
            rules: self.rules.clone(),
            first: None,
            targets: self.targets.clone(),
        }
    }
}

impl<Req, K, S, C, R> Backends<Req> for Balanced<K, S, C, R>
where
    S: Service<Req> + Clone,
    C: Clock + Clone,
    R: Rules<Req, S::Response, S::Error> + Clone,
{
    type Service = BalancedService<K, S, C, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let current = self
            .first
            .take()
            .filter(|first| first.targets.are_current());
        let mut first = current
            .unwrap_or_else(|| BalancedService::new(self.balance.targets(), self.rules.clone()));
        let polled = first.poll_ready(cx);
        if !matches!(polled, Poll::Ready(Err(_))) {
            self.first = Some(first);
        }
        polled
    }

    fn take_ready(&mut self) -> Self::Service {
        let first = self.first.take().filter(|first| first.service.is_ready());
        let first = first.expect("`call` comes after `poll_ready` returned `Ready`");
        self.targets = Some(first.targets.clone());
        first
    }

    fn another(&mut self) -> Self::Service {
        let balance = &self.balance;
        let targets = self.targets.get_or_insert_with(|| balance.targets());
        BalancedService::new(targets.clone(), self.rules.clone())
    }
}

impl<Req, K, S, C, R> Service<Req> for BalancedService<K, S, C, R>
where
    S: Service<Req> + Clone,
    C: Clock + Clone,
    R: Rules<Req, S::Response, S::Error> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Leased<S::Future, Slot<K, S>, C, ByRules<R, Req>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let service = &mut self.service;
        self.targets
            .ordered(|order| service.poll_ready(cx, order, Slot::service))
    }

    /// Panics if the service is not ready.
    fn call(&mut self, request: Req) -> Self::Future {
        let ready = self.service.take();
        let (place, mut service) = ready.expect("`call` comes after `poll_ready` returned `Ready`");
        let lease = self.targets.begin(place);
        let by_rules = ByRules::new(self.rules.clone());
        lease.run_judged(by_rules, service.call(request))
    }
}

impl<K, S, C, R> fmt::Debug for Balanced<K, S, C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Balanced").finish_non_exhaustive()
    }
}

impl<K: fmt::Debug, S> fmt::Debug for Slot<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl<K, S, C, R> fmt::Debug for BalancedService<K, S, C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BalancedService").finish_non_exhaustive()
    }
}
