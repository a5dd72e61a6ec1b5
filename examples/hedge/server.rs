//! A replica that is slow sometimes, and counts its requests.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    ops::AddAssign,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::{JoinHandle, JoinSet},
    time::sleep,
};

/// The latencies of a day.
#[derive(Clone, Copy)]
pub(crate) struct Day {
    pub(crate) name: &'static str,
    /// The factor of every latency.
    pub(crate) slower: u32,
}

/// The number of requests to a replica.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) requests: usize,
    /// Requests whose connection was closed before the answer.
    pub(crate) cancelled: usize,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.cancelled += other.cancelled;
    }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    runs: JoinHandle<io::Result<()>>,
    work: Arc<Work>,
}

impl Server {
    pub(crate) async fn start(day: Day, seed: u64) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let work = Arc::new(Work {
            day,
            random: Mutex::new(Rng::with_seed(seed)),
            requests: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
        });
        Ok(Self {
            address,
            stop,
            runs: tokio::spawn(run(listener, stopped, Arc::clone(&work))),
            work,
        })
    }

    /// Accepts no more connections, and waits until all are closed.
    pub(crate) async fn stop(self) -> io::Result<Counts> {
        drop(self.stop);
        self.runs.await??;
        Ok(Counts {
            requests: self.work.requests.load(Ordering::Relaxed),
            cancelled: self.work.cancelled.load(Ordering::Relaxed),
        })
    }
}

async fn run(
    listener: TcpListener,
    mut stopped: oneshot::Receiver<()>,
    work: Arc<Work>,
) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                connections.spawn(serve(accepted?.0, Arc::clone(&work)));
            }
            _ = &mut stopped => break,
        }
    }
    while connections.join_next().await.is_some() {}
    Ok(())
}

async fn serve(mut connection: TcpStream, work: Arc<Work>) -> io::Result<()> {
    loop {
        connection.read_u8().await?;
        work.requests.fetch_add(1, Ordering::Relaxed);
        tokio::select! {
            () = sleep(work.latency()) => connection.write_u8(b'!').await?,
            // A client sends one request at a time, so the connection was closed.
            _ = connection.read_u8() => {
                work.cancelled.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
        }
    }
}

struct Work {
    day: Day,
    random: Mutex<Rng>,
    requests: AtomicUsize,
    cancelled: AtomicUsize,
}

impl Work {
    fn latency(&self) -> Duration {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let times = if random.u8(..100) < 3 {
            random.u32(10..=30)
        } else {
            1
        };
        Duration::from_micros(random.u64(1_000..=4_000)) * times * self.day.slower
    }
}
