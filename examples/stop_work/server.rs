//! A server that works on one request at a time. The handlers put their work into a queue.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use fastrand::Rng;
use http_body_util::Empty;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    time::sleep,
};

/// What becomes of the work when the connection of its request is closed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Losers {
    GoOn,
    Stop,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    times: Arc<Times>,
}

/// In microseconds.
#[derive(Default)]
struct Times {
    worked: AtomicU64,
    /// After the connection was closed.
    in_vain: AtomicU64,
}

/// The work for one request.
struct Job {
    takes: Duration,
    /// It is closed when its receiver is dropped: with the future of the handler, which hyper drops
    /// when the connection is closed.
    done: oneshot::Sender<()>,
}

impl Server {
    /// Starts one of the servers. The number decides which requests are slow at it.
    pub(crate) async fn start(number: u64, losers: Losers) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (queue, jobs) = mpsc::channel(100);
        let times = Arc::new(Times::default());
        tokio::spawn(work(jobs, losers, times.clone()));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let queue = queue.clone();
                let handler = service_fn(move |request| handle(request, number, queue.clone()));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), handler));
            }
        });
        Ok(Self { address, times })
    }

    pub(crate) fn worked(&self) -> Duration {
        Duration::from_micros(self.times.worked.load(Ordering::Relaxed))
    }

    /// Returns how long it worked on requests whose connections were closed.
    pub(crate) fn in_vain(&self) -> Duration {
        Duration::from_micros(self.times.in_vain.load(Ordering::Relaxed))
    }
}

async fn handle(
    request: Request<Incoming>,
    server: u64,
    queue: mpsc::Sender<Job>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let number: u64 = request.uri().path()[1..].parse().unwrap_or(0);
    let takes = match Rng::with_seed(2 * number + server).u8(..10) {
        0 => Duration::from_millis(100),
        _ => Duration::from_millis(2),
    };
    let (done, is_done) = oneshot::channel();
    // If this future is dropped here or below, `done` is closed.
    let queued = queue.send(Job { takes, done }).await;
    let mut response = Response::new(Empty::new());
    if queued.is_err() || is_done.await.is_err() {
        *response.status_mut() = hyper::StatusCode::SERVICE_UNAVAILABLE;
    }
    Ok(response)
}

/// Works on the jobs, one after the other.
async fn work(mut jobs: mpsc::Receiver<Job>, losers: Losers, times: Arc<Times>) {
    while let Some(mut job) = jobs.recv().await {
        if losers == Losers::Stop && job.done.is_closed() {
            continue;
        }
        let began = Instant::now();
        let mut end = std::pin::pin!(sleep(job.takes));
        let in_vain = tokio::select! {
            () = &mut end => Duration::ZERO,
            () = job.done.closed() => {
                let closed = Instant::now();
                if losers == Losers::GoOn {
                    end.await;
                }
                closed.elapsed()
            }
        };
        let add = |sum: &AtomicU64, time: Duration| {
            sum.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
        };
        add(&times.worked, began.elapsed());
        add(&times.in_vain, in_vain);
        // The client may be gone.
        let _sent = job.done.send(());
    }
}
