//! An HTTP/1.1 server whose first request loses: it is not answered in full while its connection is
//! open.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Notify, mpsc},
    task::{JoinHandle, JoinSet},
};

/// The object, as every request but the first gets it.
pub(crate) const WINNER: &str = "the quick brown fox on the other";
pub(crate) const LENGTH: usize = WINNER.len();

const E_TAG: &str = "ETag: \"one\"\r\n";

/// Stops when it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    runs: JoinHandle<()>,
    shared: Arc<Shared>,
    closed: mpsc::UnboundedReceiver<io::Result<usize>>,
}

struct Shared {
    requests: AtomicUsize,
    latest: Mutex<String>,
    /// The header of the ETag, if there is one.
    e_tag: &'static str,
    /// What the loser gets at once, and what is sent when its connection is closed.
    loser: (String, String),
    closed: mpsc::UnboundedSender<io::Result<usize>>,
    resume: Notify,
}

impl Server {
    /// The first request gets `begin` at once, and `rest` after the client closed its connection.
    pub(crate) async fn start(begin: &str, rest: &str) -> Self {
        Self::start_with(begin, rest, "").await
    }

    /// The first request gets a part of the object, with an ETag, and no more. The others get what
    /// they ask for.
    pub(crate) async fn stalling_after(bytes: usize) -> Self {
        let begin = headers(&(0..LENGTH), E_TAG) + &WINNER[..bytes];
        Self::start_with(&begin, "", E_TAG).await
    }

    async fn start_with(begin: &str, rest: &str, e_tag: &'static str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (send, closed) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            requests: AtomicUsize::new(0),
            latest: Mutex::default(),
            e_tag,
            loser: (begin.into(), rest.into()),
            closed: send,
            resume: Notify::new(),
        });
        let runs = tokio::spawn(accept(listener, shared.clone()));
        Self {
            address,
            runs,
            shared,
            closed,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of requests so far.
    pub(crate) fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// The latest request, in lower case.
    pub(crate) fn latest(&self) -> String {
        self.shared.latest.lock().unwrap().to_lowercase()
    }

    /// Waits until the client has closed the connection of the loser, and the rest of its answer
    /// was sent.
    pub(crate) async fn loser_closed(&mut self) {
        match self.closed.recv().await.unwrap() {
            Ok(read) => assert_eq!(read, 0, "the client sent more"),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
        }
    }

    /// Sends the second half of the winner's body, which is held back until then.
    pub(crate) fn resume(&self) {
        self.shared.resume.notify_one();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.runs.abort();
    }
}

/// Returns the answer to a GET of `range` with another body than that of the winner.
pub(crate) fn answer_of_the_loser(range: Range<usize>) -> String {
    headers(&range, "") + &"#".repeat(range.len())
}

fn headers(range: &Range<usize>, e_tag: &str) -> String {
    let length = range.len();
    if length == LENGTH {
        return format!("HTTP/1.1 200 OK\r\n{e_tag}Content-Length: {length}\r\n\r\n");
    }
    let (first, last) = (range.start, range.end - 1);
    format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {first}-{last}/{LENGTH}\r\n\
         {e_tag}Content-Length: {length}\r\n\r\n"
    )
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.spawn(serve(stream, shared.clone()));
    }
}

/// Serves one connection of one request.
async fn serve(mut stream: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    let request = read_request(&mut stream).await?;
    shared.latest.lock().unwrap().clone_from(&request);
    if shared.requests.fetch_add(1, Ordering::SeqCst) == 0 {
        return lose(stream, &shared).await;
    }
    let range = range_of(&request).unwrap_or(0..LENGTH);
    stream
        .write_all(headers(&range, shared.e_tag).as_bytes())
        .await?;
    if !request.starts_with("HEAD") {
        let (half, rest) = WINNER[range.clone()].split_at(range.len() / 2);
        stream.write_all(half.as_bytes()).await?;
        shared.resume.notified().await;
        stream.write_all(rest.as_bytes()).await?;
    }
    // The client decides when it ends.
    stream.read(&mut [0]).await.map(drop)
}

async fn lose(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let (begin, rest) = &shared.loser;
    stream.write_all(begin.as_bytes()).await?;
    let closed = stream.read(&mut [0]).await;
    let _unread = stream.write_all(rest.as_bytes()).await;
    let _test_is_over = shared.closed.send(closed);
    Ok(())
}

/// Reads a request without a body.
async fn read_request(stream: &mut TcpStream) -> io::Result<String> {
    let mut request = vec![];
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8(request).unwrap())
}

/// Parses `Range: bytes=FIRST-LAST`.
fn range_of(request: &str) -> Option<Range<usize>> {
    let (_, range) = request.split_once("bytes=")?;
    let (first, last) = range.lines().next()?.split_once('-')?;
    Some(first.parse().ok()?..last.parse::<usize>().ok()? + 1)
}
