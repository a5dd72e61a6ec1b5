use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use tower_service::Service;

use crate::Backends;

/// Equal services, such as one for each server. Each attempt of a request goes to another one, and
/// each request begins with the next one.
///
/// If there are more attempts than services, they go round. A service that is not ready, or whose
/// readiness fails, is passed over if another one is ready. Clones share the turn.
///
/// ```
/// # use std::time::Duration;
/// # use race_tower::{HedgeLayer, Replicas};
/// # let connect = |_: &str| tower::service_fn(|request: u32| async move { Ok::<_, std::io::Error>(request) });
/// let replicas = Replicas::new(["one.example", "two.example"].map(connect));
/// let service = HedgeLayer::new(Duration::from_millis(50)).over(replicas);
/// ```
pub struct Replicas<S> {
    all: Arc<All<S>>,
    /// The next one for `another`.
    next: usize,
    /// Those whose readiness is awaited, by position.
    polled: Vec<(usize, S)>,
    /// The first of `polled` is ready.
    is_ready: bool,
}

struct All<S> {
    /// In a lock, so that the services need not be `Sync`. It is held while one is cloned.
    services: Mutex<Vec<S>>,
    count: usize,
    turn: AtomicUsize,
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
            next: 0,
            polled: Vec::new(),
            is_ready: false,
        }
    }
}

impl<S: Clone> All<S> {
    fn service(&self, position: usize) -> S {
        let services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        services[position % self.count].clone()
    }
}

/// A clone has nothing that is ready.
impl<S> Clone for Replicas<S> {
    fn clone(&self) -> Self {
        Self {
            all: self.all.clone(),
            next: self.next,
            polled: Vec::new(),
            is_ready: false,
        }
    }
}

impl<Req, S: Service<Req> + Clone> Backends<Req> for Replicas<S> {
    type Service = S;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        if self.is_ready {
            return Poll::Ready(Ok(()));
        }
        let mut failed = None;
        // Those that have been polled before, then others.
        let mut place = 0;
        let first = match self.polled.first() {
            Some((first, _)) => *first,
            None => self.all.turn.fetch_add(1, Ordering::Relaxed) % self.all.count,
        };
        for offset in 0..self.all.count {
            let position = (first + offset) % self.all.count;
            if self.polled.get(place).is_none_or(|(it, _)| *it != position) {
                let service = self.all.service(position);
                self.polled.insert(place, (position, service));
            }
            match self.polled[place].1.poll_ready(cx) {
                Poll::Ready(Ok(())) => {
                    let ready = self.polled.swap_remove(place);
                    self.polled.clear();
                    self.polled.push(ready);
                    self.is_ready = true;
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Err(error)) => {
                    self.polled.remove(place);
                    failed = Some(error);
                }
                Poll::Pending => place += 1,
            }
        }
        match failed {
            Some(error) if self.polled.is_empty() => Poll::Ready(Err(error)),
            _ => Poll::Pending,
        }
    }

    fn take_ready(&mut self) -> S {
        assert!(self.is_ready, "called before `poll_ready` returned `Ready`");
        self.is_ready = false;
        let (position, service) = self.polled.remove(0);
        self.next = position + 1;
        service
    }

    fn another(&mut self) -> S {
        let service = self.all.service(self.next);
        self.next += 1;
        service
    }
}

impl<S> fmt::Debug for Replicas<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replicas")
            .field("count", &self.all.count)
            .finish_non_exhaustive()
    }
}
