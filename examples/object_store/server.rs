//! A server of one object, as S3 speaks: `GET` with `Range`, and a slow tail.

use std::{
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr},
    ops::Range,
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use http_body_util::Full;
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_RANGE, ETAG, RANGE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
    time::sleep,
};

/// A `GET` takes this long, in milliseconds.
const USUALLY: Range<u64> = 5..15;
/// This many of a hundred take longer, by this many milliseconds.
const SLOW_PERCENT: u8 = 3;
const SLOWER: Range<u64> = 200..1_000;

/// Stops when it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    runs: JoinHandle<()>,
    work: Arc<Work>,
}

impl Server {
    /// The path of the object.
    pub(crate) const OBJECT: &str = "bucket/object";
    /// Its length in bytes.
    pub(crate) const SIZE: u64 = 1024 * 1024;

    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let work = Arc::new(Work {
            random: Mutex::new(Rng::with_seed(1)),
            gets: AtomicUsize::new(0),
            slower: AtomicU64::new(0),
        });
        let runs = tokio::spawn(run(listener, work.clone()));
        Ok(Self {
            address,
            runs,
            work,
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of requests so far.
    pub(crate) fn gets(&self) -> usize {
        self.work.gets.load(Ordering::Relaxed)
    }

    /// Delays every request by this much more.
    pub(crate) fn delay_all(&self, by: Duration) {
        let millis = by.as_millis() as u64;
        self.work.slower.store(millis, Ordering::Relaxed);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.runs.abort();
    }
}

async fn run(listener: TcpListener, work: Arc<Work>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                let work = work.clone();
                let serve = service_fn(move |request| answer(request, work.clone()));
                // It ends, and the request is dropped, when the client closes the connection.
                connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), serve));
            }
            Some(_closed) = connections.join_next() => {}
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    work: Arc<Work>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    work.gets.fetch_add(1, Ordering::Relaxed);
    sleep(work.latency()).await;
    let mut response = Response::new(Full::default());
    if request.uri().path().trim_start_matches('/') != Server::OBJECT {
        *response.status_mut() = StatusCode::NOT_FOUND;
        return Ok(response);
    }
    let whole = 0..Server::SIZE;
    let range = range_of(request.headers()).unwrap_or(whole.clone());
    if range != whole {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let text = format!("bytes {}-{}/{}", range.start, range.end - 1, whole.end);
        let value = text.parse().expect("digits make a header value");
        response.headers_mut().insert(CONTENT_RANGE, value);
    }
    let tag = "\"1\"".parse().expect("a tag makes a header value");
    response.headers_mut().insert(ETAG, tag);
    *response.body_mut() = Full::new(content(range));
    Ok(response)
}

/// Parses `bytes=FIRST-LAST`. Anything else asks for the whole object.
fn range_of(headers: &HeaderMap) -> Option<Range<u64>> {
    let text = headers.get(RANGE)?.to_str().ok()?;
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let range = first.parse().ok()?..last.parse::<u64>().ok()?.checked_add(1)?;
    (range.start < range.end && range.end <= Server::SIZE).then_some(range)
}

static OBJECT: LazyLock<Bytes> =
    LazyLock::new(|| (0..Server::SIZE).map(|at| (at / 1024) as u8).collect());

/// Returns a range of the object.
pub(crate) fn content(range: Range<u64>) -> Bytes {
    OBJECT.slice(range.start as usize..range.end as usize)
}

struct Work {
    random: Mutex<Rng>,
    gets: AtomicUsize,
    /// In milliseconds.
    slower: AtomicU64,
}

impl Work {
    fn latency(&self) -> Duration {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let mut millis = random.u64(USUALLY) + self.slower.load(Ordering::Relaxed);
        if random.u8(..100) < SLOW_PERCENT {
            millis += random.u64(SLOWER);
        }
        Duration::from_millis(millis)
    }
}
