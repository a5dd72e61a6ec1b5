use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use tower_service::Service;

use crate::{Backends, FirstReady};

/// Equal services, such as one for each server. Each attempt of a request goes to another one, and
/// each request begins with the next one.
///
/// If there are more attempts than services, they go round. A service that is not ready, or whose
/// readiness fails, is passed over if another one is ready. If all fail, so does the readiness; if
/// some fail and others are awaited, the errors are dropped. Clones share the turn.
///
/// ```
/// # use std::time::Duration;
/// # use race_tower::{HedgeLayer, Replicas};
/// # async fn echo(request: u32) -> Result<u32, std::io::Error> { Ok(request) }
/// # let connect = |_: &str| tower::service_fn(echo);
/// let replicas = Replicas::new(["one.example", "two.example"].map(connect));
/// let service = HedgeLayer::new(Duration::from_millis(50)).over(replicas);
/// ```
pub struct Replicas<S> {
    all: Arc<All<S>>,
    /// For the first attempt of the next request.
    first: Option<Replica<S>>,
    /// The position from which the next attempt tries the services.
    next: usize,
}

struct All<S> {
    /// In a lock, so that the services need not be `Sync`. It is held while one is cloned.
    services: Mutex<Vec<S>>,
    count: usize,
    turn: AtomicUsize,
}

/// One of the [`Replicas`]: the first that is ready, tried from a position on.
pub struct Replica<S> {
    all: Arc<All<S>>,
    from: usize,
    /// By position.
    service: FirstReady<usize, S>,
}

impl<S: Clone> Replicas<S> {
    /// Creates replicas.
    ///
    /// # Panics
    ///
    /// Panics if there is no service.
    #[must_use]
    pub fn new(services: impl IntoIterator<Item = S>) -> Self {
        let services: Vec<S> = services.into_iter().collect();
        let count = services.len();
        assert!(count > 0, "`Replicas::new` needs at least one service");
        let all = All {
            services: Mutex::new(services),
            count,
            turn: AtomicUsize::new(0),
        };
        Self {
            all: Arc::new(all),
            first: None,
            next: 0,
        }
    }
}

impl<S> Replicas<S> {
    fn replica(&self, from: usize) -> Replica<S> {
        Replica {
            all: self.all.clone(),
            from: from % self.all.count,
            service: FirstReady::new(),
        }
    }
}

impl<S: Clone> All<S> {
    fn service(&self, position: usize) -> S {
        let services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        services[position].clone()
    }
}

/// A clone has nothing that is ready.
impl<S> Clone for Replicas<S> {
    fn clone(&self) -> Self {
        Self {
            all: self.all.clone(),
            first: None,
            next: self.next,
        }
    }
}

impl<Req, S: Service<Req> + Clone> Backends<Req> for Replicas<S> {
    type Service = Replica<S>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        if self.first.is_none() {
            let turn = self.all.turn.fetch_add(1, Ordering::Relaxed);
            self.first = Some(self.replica(turn));
        }
        let first = self.first.as_mut().expect("it has just been set");
        first.poll_ready(cx)
    }

    fn take_ready(&mut self) -> Replica<S> {
        let first = self.first.take().filter(|first| first.service.is_ready());
        first.expect("`call` comes after `poll_ready` returned `Ready`")
    }

    fn another(&mut self) -> Replica<S> {
        self.replica(self.next)
    }

    fn starts(&mut self, service: &Replica<S>) {
        self.next = service.service.key().map_or(0, |position| position + 1);
    }
}

impl<Req, S: Service<Req> + Clone> Service<Req> for Replica<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let (all, from) = (&self.all, self.from);
        let mut turn = (0..all.count).map(|offset| (from + offset) % all.count);
        self.service.poll_ready(cx, |tried| {
            let position = turn.find(|position| !tried.contains(position))?;
            Some((position, all.service(position)))
        })
    }

    fn call(&mut self, request: Req) -> S::Future {
        let (_, mut service) = self.service.take();
        service.call(request)
    }
}

impl<S> fmt::Debug for Replicas<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replicas")
            .field("count", &self.all.count)
            .finish_non_exhaustive()
    }
}

impl<S> fmt::Debug for Replica<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica")
            .field("from", &self.from)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}
