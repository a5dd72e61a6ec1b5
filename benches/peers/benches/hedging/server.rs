//! A server whose latencies are drawn from a shape.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use fastrand::Rng;
use tokio::time::{Instant, sleep};
use tower::Service;

use crate::{Never, SCALE, shapes::Shape};

/// Clones are the same server.
#[derive(Clone)]
pub(crate) struct Server(Arc<State>);

struct State {
    shape: &'static Shape,
    rng: Mutex<Rng>,
    sent: AtomicUsize,
    working: AtomicUsize,
    worked: Mutex<Duration>,
}

/// An attempt, until it is answered or dropped.
struct Attempt {
    server: Server,
    since: Instant,
}

impl Server {
    pub(crate) fn new(shape: &'static Shape) -> Self {
        Self(Arc::new(State {
            shape,
            rng: Mutex::new(Rng::with_seed(1)),
            sent: AtomicUsize::new(0),
            working: AtomicUsize::new(0),
            worked: Mutex::default(),
        }))
    }

    pub(crate) async fn answer(self) {
        let latency = self.draw();
        self.0.sent.fetch_add(1, Ordering::Relaxed);
        self.0.working.fetch_add(1, Ordering::Relaxed);
        let since = Instant::now();
        let server = self.clone();
        let _attempt = Attempt { server, since };
        sleep(latency).await;
    }

    fn draw(&self) -> Duration {
        let mut rng = self.0.rng.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.shape.draw(&mut rng) * SCALE
    }

    pub(crate) fn is_working(&self) -> bool {
        self.0.working.load(Ordering::Relaxed) > 0
    }

    /// Returns how many attempts were sent, and how long they were worked on.
    pub(crate) fn counts(&self) -> (usize, Duration) {
        let worked = self.0.worked.lock().unwrap_or_else(PoisonError::into_inner);
        (self.0.sent.load(Ordering::Relaxed), *worked)
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let state = &self.server.0;
        state.working.fetch_sub(1, Ordering::Relaxed);
        *state.worked.lock().unwrap_or_else(PoisonError::into_inner) += self.since.elapsed();
    }
}

impl Service<()> for Server {
    type Response = ();
    type Error = Never;
    type Future = Pin<Box<dyn Future<Output = Result<(), Never>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Never>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            server.answer().await;
            Ok(())
        })
    }
}
