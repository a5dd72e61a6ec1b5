use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use race_core::Clock;
use race_tower::{Backends, FirstReady};
use tower_service::Service;

use crate::{Balance, Leased, Monotonic, Targets, endpoint::Endpoint};

/// Equal services, such as one for each server, for a layer of `race-tower`: each attempt goes to
/// the one of two with the lower latency times attempts in flight, and to another one than the
/// earlier attempts of its request.
///
/// A service that is not ready, or whose readiness fails, is passed over if another one is ready,
/// even if an earlier attempt went there. Clones share the statistics.
///
/// An attempt whose service returns an error counts as a [failure](Balance::failure_penalty). An
/// answer such as an HTTP 503 is not an error of the service, and a server that gives it quickly
/// looks fast: turn such answers into errors in the services.
///
/// ```
/// # use std::time::Duration;
/// # use race_balance::{Balance, Balanced, Slot};
/// # use race_tower::HedgeLayer;
/// # async fn echo(request: u32) -> Result<u32, std::io::Error> { Ok(request) }
/// # let connect = |_: &str| tower::service_fn(echo);
/// let hosts = ["one.example", "two.example", "three.example"];
/// let balance = Balance::new(hosts.map(|host| Slot::new(host, connect(host))));
/// let balanced = Balanced::new(balance.clone());
/// let service = HedgeLayer::new(Duration::from_millis(50)).over(balanced);
///
/// // Later, when the hosts have changed:
/// balance.replace(["two.example", "four.example"].map(|host| Slot::new(host, connect(host))))?;
/// # Ok::<(), race_balance::NoEndpoints>(())
/// ```
pub struct Balanced<K, S, C = Monotonic> {
    balance: Balance<Slot<K, S>, C>,
    /// For the first attempt of the next request.
    first: Option<BalancedService<K, S, C>>,
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
pub struct BalancedService<K, S, C = Monotonic> {
    targets: Targets<Slot<K, S>, C>,
    service: FirstReady<Arc<Endpoint<Slot<K, S>>>, S>,
}

impl<K, S, C: Clock + Clone> Balanced<K, S, C> {
    /// Creates balanced services.
    #[must_use]
    pub fn new(balance: Balance<Slot<K, S>, C>) -> Self {
        Self {
            balance,
            first: None,
            targets: None,
        }
    }
}

impl<K, S, C> BalancedService<K, S, C> {
    fn new(targets: Targets<Slot<K, S>, C>) -> Self {
        Self {
            targets,
            service: FirstReady::new(),
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
}

impl<K: PartialEq, S> PartialEq for Slot<K, S> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<K: Eq, S> Eq for Slot<K, S> {}

/// A clone has nothing that is ready.
impl<K, S, C: Clone> Clone for Balanced<K, S, C> {
    fn clone(&self) -> Self {
        Self {
            balance: self.balance.clone(),
            first: None,
            targets: self.targets.clone(),
        }
    }
}

impl<Req, K, S, C> Backends<Req> for Balanced<K, S, C>
where
    S: Service<Req> + Clone,
    C: Clock + Clone,
{
    type Service = BalancedService<K, S, C>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let current = self
            .first
            .take()
            .filter(|first| first.targets.are_current());
        let mut first = current.unwrap_or_else(|| BalancedService::new(self.balance.targets()));
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
        BalancedService::new(targets.clone())
    }
}

impl<Req, K, S, C> Service<Req> for BalancedService<K, S, C>
where
    S: Service<Req> + Clone,
    C: Clock + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Leased<S::Future, Slot<K, S>, C>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let targets = &self.targets;
        self.service.poll_ready(cx, |tried| {
            let endpoint = targets.preferred(tried)?;
            let service = endpoint.value.service.lock();
            let service = service.unwrap_or_else(PoisonError::into_inner).clone();
            Some((endpoint, service))
        })
    }

    /// Panics if the service is not ready.
    fn call(&mut self, request: Req) -> Self::Future {
        let (endpoint, mut service) = self.service.take();
        let lease = self.targets.begin(endpoint);
        lease.try_run(service.call(request))
    }
}

impl<K, S, C> fmt::Debug for Balanced<K, S, C> {
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

impl<K, S, C> fmt::Debug for BalancedService<K, S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BalancedService").finish_non_exhaustive()
    }
}
